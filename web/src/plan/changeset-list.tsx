// A project's changesets, newest first.

import { useInfiniteQuery } from '@tanstack/react-query';
import { Link, useSearchParams } from 'wouter';
import type { ChangesetSummary } from '../../../client/index.ts';
import { classes } from '../base/classes.ts';
import { Empty } from '../base/notice.tsx';
import { Options } from '../base/options.tsx';
import { Time } from '../base/time.tsx';
import { useRest } from '../data/client.tsx';
import { keys } from '../data/keys.ts';
import { useProject } from '../data/project.ts';
import { paths } from '../paths.ts';
import { View } from '../shell/view.tsx';
import { Paged } from './pieces.tsx';
import { actorWords, counted, statusWords } from './words.ts';

type Status = ChangesetSummary['status'];

const statuses = ['proposed', 'applied', 'rejected'] as const satisfies readonly Status[];

export const statusTones: Record<Status, string | false> = {
  proposed: 'badge-warn',
  applied: 'badge-good',
  rejected: false,
};

export function ChangesetList() {
  const [search, setSearch] = useSearchParams();
  const status = statuses.find((each) => each === search.get('status'));
  const choose = (next: string): void => setSearch(next === '' ? {} : { status: next }, { replace: true });
  const filter = (
    <select aria-label="Status" value={status ?? ''} onChange={(event) => choose(event.target.value)}>
      <option value="">All statuses</option>
      <Options of={statuses} words={(each) => statusWords[each]} />
    </select>
  );
  return (
    <View title="Changesets" actions={filter}>
      <Pages status={status} />
    </View>
  );
}

function Pages({ status }: { status: Status | undefined }) {
  const rest = useRest();
  const project = useProject();
  const query = useInfiniteQuery({
    queryKey: keys.changesets(project.key, { status, paged: true }),
    queryFn: ({ pageParam }) => rest.changesets(project.key, { status, after: pageParam }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next,
  });
  return (
    <Paged of={query} what="changesets">
      {(rows) =>
        rows.length === 0 ? (
          <None status={status} project={project.key} />
        ) : (
          <ul className="plain-list changesets card">
            {rows.map((row) => (
              <Row key={row.id} row={row} project={project.key} />
            ))}
          </ul>
        )
      }
    </Paged>
  );
}

function Row({ row, project }: { row: ChangesetSummary; project: string }) {
  const extent =
    row.status === 'applied'
      ? `${row.approved} of ${counted(row.operations, 'operation')} applied`
      : counted(row.operations, 'operation');
  return (
    <li className="changeset-row">
      <Link href={paths.changeset(project, row.id)}>{row.title}</Link>
      <span className="muted small">
        {extent} · proposed by {actorWords(row.proposed_by)}, <Time at={row.created_at} />
      </span>
      <StatusBadge status={row.status} />
    </li>
  );
}

export const StatusBadge = ({ status }: { status: Status }) => (
  <span className={classes('badge', statusTones[status])}>{statusWords[status]}</span>
);

function None({ status, project }: { status: Status | undefined; project: string }) {
  if (status) {
    return (
      <Empty title={`No changeset is ${status}`}>
        <p>Choose another status to see the others.</p>
      </Empty>
    );
  }
  return (
    <Empty title="No changeset yet">
      <p>
        The planner changes the plan by proposing changesets. Tell it in the{' '}
        <Link href={paths.chat(project)}>chat</Link> what you want to reach; its proposals are reviewed here.
      </p>
    </Empty>
  );
}
