// What a run is: where, as whom, within which limits, at what cost.

import type { RunDetails } from '../../../client/index.ts';
import { Time } from '../base/time.tsx';
import { counted } from '../plan/words.ts';
import { DemoBadge, Fact, WorkflowFact } from './pieces.tsx';
import { costWords, hostWords, limitClock, money, roleWords } from './words.ts';

const limitWords: Record<string, string> = {
  wall_timeout_seconds: 'wall limit',
  idle_timeout_seconds: 'idle limit',
  upstream_idle_seconds: 'limit of events without content',
  max_input_chars: 'packet size',
  max_visible_chars: 'visible text',
  resume_attempts: 'automatic resumes',
  budget_usd: 'budget',
};

export function RunFacts({ run }: { run: RunDetails }) {
  return (
    <aside className="card run-facts" aria-label="Facts">
      <dl className="fact-list">
        <Fact name="Repository">
          {run.repo} on {run.machine}
        </Fact>
        <Fact name="Host, role">
          {hostWords(run.host)}, {roleWords(run.role)}
        </Fact>
        <Fact name="Model">
          {run.demo && <DemoBadge />} {run.model ?? 'not known yet'}
          {run.effort && `, effort ${run.effort}`}
        </Fact>
        <Fact name="Cost">
          {costWords(run)}, at most {money(run.budget_usd)}
        </Fact>
        <Fact name="Limits">
          {limitClock(run, 'wall_timeout_seconds')} an attempt, {limitClock(run, 'idle_timeout_seconds')} without an
          event, {counted(run.limits['resume_attempts'] ?? 0, 'automatic resume')}
        </Fact>
        {run.lowered_limits.length > 0 && (
          <Fact name="Lowered">{run.lowered_limits.map((name) => limitWords[name] ?? name).join(', ')}</Fact>
        )}
        {run.allow_unverified && <Fact name="Identity">may be unverified</Fact>}
        <Fact name="Plan">
          <code>{run.output}</code>
        </Fact>
        <Fact name="Asked by">
          {run.created_by}, <Time at={run.created_at} />
        </Fact>
        {run.ended_at && (
          <Fact name="Ended">
            <Time at={run.ended_at} />
          </Fact>
        )}
        {run.workflow_url && <WorkflowFact url={run.workflow_url} />}
      </dl>
    </aside>
  );
}
