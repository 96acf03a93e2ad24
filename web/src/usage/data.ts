// What the views of usage and settings read.

import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import type { CredentialPlace } from '../../../client/index.ts';
import { useRest } from '../data/client.tsx';
import { keys } from '../data/keys.ts';
import { useProject } from '../data/project.ts';
import { firstDay, type By } from './words.ts';

export function useUsage(by: By, days: number) {
  const rest = useRest();
  const { key } = useProject();
  const query = { by, from: firstDay(days, Date.now()), limit: by === 'day' ? days : 50 };
  return useInfiniteQuery({
    queryKey: [...keys.usage(key), query],
    queryFn: ({ pageParam }) => {
      const to = new Date().toISOString().slice(0, 10);
      return rest.usage(key, { ...query, to, after: pageParam });
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next,
  });
}

export function useProjectView() {
  const rest = useRest();
  const { key } = useProject();
  return useQuery({ queryKey: keys.project(key), queryFn: () => rest.project(key) });
}

export function useOrganizationView() {
  const rest = useRest();
  const { organization } = useProject();
  return useQuery({ queryKey: ['organization', organization], queryFn: () => rest.organization(organization) });
}

export function useCredentials(place: CredentialPlace) {
  const rest = useRest();
  return useQuery({
    queryKey: keys.credentials(place),
    queryFn: async () => (await rest.credentials(place)).items,
  });
}
