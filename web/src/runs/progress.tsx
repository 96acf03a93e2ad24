// A run that goes on: phase, clocks beside their limits, the visible text as it comes.

import type { RunDetails } from '../../../client/index.ts';
import { failureSentences } from '../../../domain/bounded/failures.ts';
import { IconButton } from '../base/button.tsx';
import { ArrowDown } from '../base/icons.tsx';
import { Markdown } from '../base/markdown.tsx';
import { useFollowing } from '../chat/scroll.ts';
import { useNow } from './data.ts';
import { clocksOf, type LiveRun } from './live-run.ts';
import { Fact, FailureBadge } from './pieces.tsx';
import { clock, limitClock } from './words.ts';

export function Progress({ run, live }: { run: RunDetails; live: LiveRun }) {
  const now = useNow(1_000);
  const clocks = clocksOf(live, now);
  const phase = live.status?.told.phase ?? run.phase;
  const attempt = Math.max(live.attempt, run.attempts);
  const failed = live.failed.at(-1);
  return (
    <div className="run-progress">
      <p className="run-phase">
        <span className="pulse" aria-hidden="true" />
        <strong>{phase}</strong>
        {attempt > 1 && <span className="muted">attempt {attempt}</span>}
      </p>
      {clocks && (
        <dl className="run-clocks">
          <Fact name="Elapsed">
            {clock(clocks.elapsed)} <span className="muted">of {limitClock(run, 'wall_timeout_seconds')}</span>
          </Fact>
          <Fact name="Last event">
            {clock(clocks.sinceEvent)} ago{' '}
            <span className="muted">of {limitClock(run, 'idle_timeout_seconds')}</span>
          </Fact>
          <Fact name="Visible">{clocks.characters.toLocaleString()} characters</Fact>
        </dl>
      )}
      {failed && (
        <p className="small">
          Attempt {failed.attempt} ended: <FailureBadge kind={failed.failure_kind} />{' '}
          {failed.failure_detail || failureSentences[failed.failure_kind]}
        </p>
      )}
      {live.nextAt !== undefined && <p className="small">Goes on in {clock(live.nextAt - now)}.</p>}
      {!failed && run.failure_kind && (
        <p className="small">
          <FailureBadge kind={run.failure_kind} /> {failureSentences[run.failure_kind]}
        </p>
      )}
      {live.warnings.map((warning) => (
        <p className="small muted" key={warning}>
          {warning}
        </p>
      ))}
    </div>
  );
}

/** Follows its end, unless the reader scrolls up. */
export function TextSoFar({ text }: { text: string }) {
  const { box, content, following, follow } = useFollowing<HTMLDivElement>();
  return (
    <section className="run-part" aria-label="Visible text so far">
      <h2>Visible text so far</h2>
      <div className="run-stream-place">
        <div className="card run-text run-stream" ref={box} tabIndex={0} role="group" aria-label="Text" aria-busy>
          <div ref={content}>
            <Markdown text={text} streaming />
          </div>
        </div>
        {!following && (
          <IconButton className="to-newest" look="plain" label="To the newest" icon={<ArrowDown />} onClick={follow} />
        )}
      </div>
    </section>
  );
}
