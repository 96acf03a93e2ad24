// A run's attempts: each has its own directory and its share of the cost.

import type { RunAttempt, RunDetails } from '../../../client/index.ts';
import { failureSentences } from '../../../domain/bounded/failures.ts';
import { classes } from '../base/classes.ts';
import { Time } from '../base/time.tsx';
import { FailureBadge } from './pieces.tsx';
import { costWords, roleWords } from './words.ts';

export function Attempts({ run }: { run: RunDetails }) {
  return (
    <section className="run-part" aria-label="Attempts">
      <h2>Attempts</h2>
      <ol className="plain-list card attempts">
        {run.attempt_list.map((attempt) => (
          <Attempt key={attempt.attempt} attempt={attempt} />
        ))}
      </ol>
    </section>
  );
}

const statusWords = { running: 'Running', succeeded: 'Valid plan', failed: 'No plan' } as const;
const statusTones = { running: 'badge-accent', succeeded: 'badge-good', failed: false } as const;

function Attempt({ attempt }: { attempt: RunAttempt }) {
  const { status, failure_kind, failure_detail, warnings, approval } = attempt;
  return (
    <li className="attempt">
      <p className="row">
        <strong>Attempt {attempt.attempt}</strong>
        <span className={classes('badge', statusTones[status])}>{statusWords[status]}</span>
        {failure_kind && <FailureBadge kind={failure_kind} />}
        <span className="small muted">
          {costWords(attempt)}, <Time at={attempt.started_at} />
        </span>
      </p>
      {failure_kind && <p className="small run-detail">{failure_detail || failureSentences[failure_kind]}</p>}
      <p className="small muted">
        {roleWords(attempt.role)}, {attempt.model}, effort {attempt.effort}
        {!attempt.verified && ', unverified'};{' '}
        {attempt.session_kind === 'fresh' ? 'a new session' : 'the same session resumed'};{' '}
        <code>.partner/runs/{attempt.directory}</code>
      </p>
      {approval && <p className="small">Another role was approved: {approval}</p>}
      {warnings.map((warning) => (
        <p className="small muted" key={warning}>
          {warning}
        </p>
      ))}
    </li>
  );
}
