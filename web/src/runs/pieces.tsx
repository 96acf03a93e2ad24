// Small pieces that several views of runs show.

import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { Run } from '../../../client/index.ts';
import { classes } from '../base/classes.ts';
import { ArrowLeft, External } from '../base/icons.tsx';
import { useProject } from '../data/project.ts';
import { paths } from '../paths.ts';
import { useNow } from './data.ts';
import { ageWords, costWords, hostWords, roleWords, statusTones, statusWords, type FailureKind } from './words.ts';

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

export const WorkflowFact = ({ url }: { url: string }) => (
  <Fact name="Workflow">
    <a href={url} target="_blank" rel="noopener noreferrer" className="outward">
      in the Temporal UI
      <External />
      <span className="visually-hidden">, in a new tab</span>
    </a>
  </Fact>
);

type Row = Pick<Run, 'repo' | 'host' | 'role' | 'created_at'> & Parameters<typeof costWords>[0];

/** The last cells of a table's row: repository; host and role; cost; age. */
export const WhereCells = ({ row }: { row: Row }) => (
  <>
    <td>{row.repo}</td>
    <td>
      {hostWords(row.host)}, {roleWords(row.role)}
    </td>
    <td className="runs-number">{costWords(row)}</td>
    <td className="runs-number">
      <Age at={row.created_at} />
    </td>
  </>
);

export function BackToRuns() {
  const { key } = useProject();
  return (
    <Link className="back" href={paths.runs(key)} aria-label="All runs" title="All runs">
      <ArrowLeft />
    </Link>
  );
}
