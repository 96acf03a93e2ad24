// A project's bounded runs, newest first.

import { Link, useSearchParams } from 'wouter';
import type { Run } from '../../../client/index.ts';
import { Columns } from '../base/columns.tsx';
import { Plus } from '../base/icons.tsx';
import { Empty } from '../base/notice.tsx';
import { Options } from '../base/options.tsx';
import { useProject } from '../data/project.ts';
import { paths } from '../paths.ts';
import { Paged } from '../plan/pieces.tsx';
import { View } from '../shell/view.tsx';
import { useRunRights, useRuns } from './data.ts';
import { DemoBadge, FailureBadge, StatusBadge, WhereCells } from './pieces.tsx';
import { statuses, statusWords, type Status } from './words.ts';

export function RunList() {
  const project = useProject();
  const { start } = useRunRights();
  const [search, setSearch] = useSearchParams();
  const status = statuses.find((each) => each === search.get('status'));
  const choose = (next: string): void => setSearch(next === '' ? {} : { status: next }, { replace: true });
  const actions = (
    <>
      <select aria-label="Status" value={status ?? ''} onChange={(event) => choose(event.target.value)}>
        <option value="">All statuses</option>
        <Options of={statuses} words={(each) => statusWords[each]} />
      </select>
      <Link className="button button-plain" href={paths.validations(project.key)}>
        Validation
      </Link>
      {start && <NewRunLink project={project.key} />}
    </>
  );
  return (
    <View title="Runs" actions={actions}>
      <Pages status={status} mayStart={start} />
    </View>
  );
}

const NewRunLink = ({ project }: { project: string }) => (
  <Link className="button button-primary" href={paths.newRun(project)}>
    <Plus />
    New run
  </Link>
);

function Pages({ status, mayStart }: { status: Status | undefined; mayStart: boolean }) {
  const query = useRuns();
  const project = useProject();
  return (
    <Paged of={query} what="runs">
      {(all) => {
        const rows = status ? all.filter((row) => row.status === status) : all;
        return (
          <>
            {rows.length > 0 && <Table rows={rows} project={project.key} />}
            {rows.length === 0 && status && all.length > 0 && (
              <Empty title={`${query.hasNextPage ? `Of the newest ${all.length}, no` : 'No'} run has that status`}>
                <p>Choose another status to see the others.</p>
              </Empty>
            )}
            {all.length === 0 && <None mayStart={mayStart} project={project.key} />}
          </>
        );
      }}
    </Paged>
  );
}

function Table({ rows, project }: { rows: readonly Run[]; project: string }) {
  return (
    <div className="card runs">
      <table>
        <Columns names={['Run', 'Status', 'Repository', 'Host, role', 'Cost', 'Started']} />
        <tbody>
          {rows.map((row) => (
            <Row key={row.id} row={row} project={project} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Row({ row, project }: { row: Run; project: string }) {
  return (
    <tr>
      <td className="runs-name">
        <Link href={paths.run(project, row.id)}>{row.run_id}</Link>
      </td>
      <td className="runs-status">
        <span className="row">
          <StatusBadge run={row} />
          {row.status === 'running' && <span className="small muted">{row.phase}</span>}
          {row.failure_kind && row.status !== 'cancelled' && <FailureBadge kind={row.failure_kind} />}
          {row.demo && <DemoBadge />}
        </span>
      </td>
      <WhereCells row={row} />
    </tr>
  );
}

function None({ mayStart, project }: { mayStart: boolean; project: string }) {
  return (
    <Empty title="No run yet">
      <p>
        A run gives one packet of evidence to Claude, without tools and within hard limits. What comes of it is a valid
        plan, or nothing.
      </p>
      {mayStart ? (
        <NewRunLink project={project} />
      ) : (
        <p>Your role may watch runs. Ask an engineer of this project to start one.</p>
      )}
    </Empty>
  );
}
