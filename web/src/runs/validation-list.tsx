// Re-validations of the bounded runner: claims, schedules with their next times, and a new one.

import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link } from 'wouter';
import type { Revalidation, RevalidationSchedule } from '../../../client/index.ts';
import { Button } from '../base/button.tsx';
import { Columns } from '../base/columns.tsx';
import { Empty, Notice } from '../base/notice.tsx';
import { Time } from '../base/time.tsx';
import { useRest } from '../data/client.tsx';
import { keys } from '../data/keys.ts';
import { useProject } from '../data/project.ts';
import { paths } from '../paths.ts';
import { Reading } from '../plan/pieces.tsx';
import { View } from '../shell/view.tsx';
import { useRunRights } from './data.ts';
import { BackToRuns, DemoBadge, WhereCells } from './pieces.tsx';
import { NewValidation } from './validation-form.tsx';
import { ClaimBadge, toInspect, useSchedules, useValidations } from './validation-pieces.tsx';
import { hostWords, roleWords } from './words.ts';

export function ValidationList() {
  const project = useProject();
  const validations = useValidations();
  const schedules = useSchedules();
  const { start } = useRunRights();
  return (
    <View title="Validation" above={<BackToRuns />}>
      <p className="muted">
        Three near-limit runs show whether the runner, with this CLI and this identity, gives valid plans and recovers
        one in its session. The claim is bound to their hashes.
      </p>
      {start && <NewValidation />}
      <section className="run-part" aria-label="Claims">
        <h2>Claims</h2>
        <Reading of={validations} what="re-validations">
          {({ items }) => (items.length === 0 ? <None /> : <Table rows={items} project={project.key} />)}
        </Reading>
      </section>
      <section className="run-part" aria-label="Schedules">
        <h2>Schedules</h2>
        <Reading of={schedules} what="schedules">
          {({ items }) =>
            items.length === 0 ? (
              <p className="muted">None. A new re-validation may be given one.</p>
            ) : (
              <ul className="plain-list card">
                {items.map((one) => (
                  <Schedule key={one.id} schedule={one} mayChange={start} />
                ))}
              </ul>
            )
          }
        </Reading>
      </section>
    </View>
  );
}

const None = () => (
  <Empty title="No re-validation yet">
    <p>Start one above: its report says whether a release claim holds.</p>
  </Empty>
);

function Table({ rows, project }: { rows: readonly Revalidation[]; project: string }) {
  return (
    <div className="card runs">
      <table>
        <Columns names={['Re-validation', 'Claim', 'Repository', 'Host, role', 'Cost', 'Asked']} />
        <tbody>
          {rows.map((row) => (
            <tr key={row.validation_id}>
              <td className="runs-name">
                <Link href={paths.validation(project, row.validation_id)}>{row.validation_id}</Link>
              </td>
              <td className="runs-status">
                <span className="row">
                  <ClaimBadge claim={row.claim} />
                  {row.ended_at === null && <span className="small muted">{row.phase}</span>}
                  {toInspect(row) > 0 && <span className="small">{toInspect(row)} to inspect</span>}
                  {row.demo && <DemoBadge />}
                </span>
              </td>
              <WhereCells row={row} />
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

type Change = 'pause' | 'resume' | 'trigger' | 'delete';

function Schedule({ schedule, mayChange }: { schedule: RevalidationSchedule; mayChange: boolean }) {
  const rest = useRest();
  const queries = useQueryClient();
  const change = useMutation({
    async mutationFn(what: Change): Promise<void> {
      const { id } = schedule;
      if (what === 'trigger') await rest.triggerRevalidationSchedule(id);
      else if (what === 'delete') await rest.deleteRevalidationSchedule(id);
      else await rest.updateRevalidationSchedule(id, { paused: what === 'pause' });
    },
    onSettled: () => queries.invalidateQueries({ queryKey: keys.allValidations }),
  });
  const { paused, next_times, in_effect } = schedule;
  return (
    <li className="attempt">
      <p className="row">
        <code>{schedule.cron}</code>
        <span className="small muted">UTC</span>
        <strong>{schedule.repo}</strong>
        <span>
          {hostWords(schedule.host)}, {roleWords(schedule.role)}
        </span>
        {paused && <span className="badge">Paused</span>}
        {!in_effect && <span className="small muted">on its way to Temporal</span>}
        {schedule.demo && <DemoBadge />}
      </p>
      {!paused && (
        <p className="small">
          Next:{' '}
          {next_times.slice(0, 3).map((time, index) => (
            <span key={time}>
              {index > 0 && ', '}
              <Time at={time} />
            </span>
          ))}
        </p>
      )}
      {schedule.note && <p className="small muted">{schedule.note}</p>}
      {mayChange && (
        <div className="row">
          <Button small busy={change.isPending} onClick={() => change.mutate('trigger')}>
            Run now
          </Button>
          <Button small busy={change.isPending} onClick={() => change.mutate(paused ? 'resume' : 'pause')}>
            {paused ? 'Resume' : 'Pause'}
          </Button>
          <Button small look="danger" busy={change.isPending} onClick={() => change.mutate('delete')}>
            Delete schedule
          </Button>
        </div>
      )}
      {change.error && <Notice tone="error">{change.error.message}</Notice>}
    </li>
  );
}
