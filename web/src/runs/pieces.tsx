// Small pieces that several views of runs show.

import type { ReactNode } from 'react';
import type { Run } from '../../../client/index.ts';
import { classes } from '../base/classes.ts';
import { useNow } from './data.ts';
import { ageWords, statusTones, statusWords, type FailureKind } from './words.ts';

export const StatusBadge = ({ run }: { run: Pick<Run, 'status' | 'cancel_requested'> }) => {
  const stopping = run.status === 'running' && run.cancel_requested;
  return (
    <span className={classes('badge', statusTones[run.status])}>{stopping ? 'Stopping' : statusWords[run.status]}</span>
  );
};

export const FailureBadge = ({ kind }: { kind: FailureKind }) => <code className="failure-kind">{kind}</code>;

export const DemoBadge = () => (
  <span className="badge badge-demo" title="A scripted CLI answers by rule: no model is asked, nothing is paid.">
    Demo
  </span>
);

const exact = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });

export function Age({ at }: { at: string }) {
  const now = useNow(30_000);
  return (
    <time dateTime={at} title={exact.format(new Date(at))}>
      {ageWords(now - Date.parse(at))}
    </time>
  );
}

export function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="fact">
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
