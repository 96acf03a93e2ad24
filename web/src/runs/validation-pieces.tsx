// Small pieces that the views of re-validations show, and what they read.

import { useQuery } from '@tanstack/react-query';
import type { Revalidation } from '../../../client/index.ts';
import { classes } from '../base/classes.ts';
import { useRest } from '../data/client.tsx';
import { keys } from '../data/keys.ts';
import { useProject } from '../data/project.ts';

type Claim = Revalidation['claim'];

/** While one goes on; its phases are told by no event. */
const goesOnMs = 2_000;
/** A claim becomes stale without an event, too. */
const claimsMs = 30_000;

const everyMs = (items: readonly Revalidation[] | undefined): number =>
  items?.some(({ ended_at }) => ended_at === null) ? goesOnMs : claimsMs;

export function useValidations() {
  const rest = useRest();
  const { key: project } = useProject();
  return useQuery({
    queryKey: keys.validations(project),
    queryFn: () => rest.revalidations({ project, limit: 50 }),
    refetchInterval: ({ state }) => everyMs(state.data?.items),
  });
}

export function useValidation(id: string) {
  const rest = useRest();
  return useQuery({
    queryKey: keys.validation(id),
    queryFn: () => rest.revalidation(id),
    refetchInterval: ({ state }) => everyMs(state.data && [state.data]),
  });
}

export function useSchedules() {
  const rest = useRest();
  const { key: project } = useProject();
  return useQuery({
    queryKey: keys.validationSchedules(project),
    queryFn: () => rest.revalidationSchedules({ project }),
    refetchInterval: ({ state }) => (state.data?.items.some((one) => !one.in_effect) ? goesOnMs : claimsMs),
  });
}

export const claimWords: Record<Claim, string> = {
  holds: 'Holds',
  fails: 'Fails',
  pending: 'Pending',
  stale: 'Stale',
};

const claimTones: Record<Claim, string | false> = {
  holds: 'badge-good',
  fails: 'badge-bad',
  pending: 'badge-accent',
  stale: 'badge-warn',
};

export const ClaimBadge = ({ claim }: { claim: Claim }) => (
  <span className={classes('badge', claimTones[claim])}>{claimWords[claim]}</span>
);

export const toInspect = ({ failures }: Pick<Revalidation, 'failures'>): number =>
  failures.filter(({ inspected_by }) => inspected_by === null).length;

export const purposeWords: Record<Revalidation['attempts'][number]['purpose'], string> = {
  fresh: 'Fresh plan',
  interrupted: 'Ended on purpose',
  recovery: 'Recovered in its session',
};

export const outcomeWords: Record<Revalidation['attempts'][number]['outcome'], string> = {
  valid: 'Valid plan',
  interrupted: 'Interrupted',
  failed: 'No plan',
  running: 'Running',
};
