// One run: what it does now or how it ended, its text or plan, attempts, artifacts, what it was asked.

import { useMutation } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { Redirect } from 'wouter';
import type { RunDetails } from '../../../client/index.ts';
import { failureSentences } from '../../../domain/bounded/failures.ts';
import { Button } from '../base/button.tsx';
import { Stop } from '../base/icons.tsx';
import { Markdown } from '../base/markdown.tsx';
import { Notice } from '../base/notice.tsx';
import { useRealtime } from '../data/client.tsx';
import { useProject } from '../data/project.ts';
import { paths } from '../paths.ts';
import { Reading } from '../plan/pieces.tsx';
import { View } from '../shell/view.tsx';
import { Artifacts } from './artifacts.tsx';
import { Attempts } from './attempts.tsx';
import { useLiveRun, useRun, useRunRights } from './data.ts';
import { RunFacts } from './facts.tsx';
import type { LiveRun } from './live-run.ts';
import { BackToRuns, FailureBadge, StatusBadge } from './pieces.tsx';
import { Progress, TextSoFar } from './progress.tsx';
import { GoOn } from './resume.tsx';
import { isOpen, statusWords } from './words.ts';

export function RunView({ id }: { id: string }) {
  const project = useProject();
  const query = useRun(id);
  const run = query.data;
  if (run && (run.project !== project.key || run.id !== id)) {
    return <Redirect to={paths.run(run.project, run.id)} replace />;
  }
  return (
    <View
      title={run ? `Run ${run.run_id}` : 'Run'}
      above={<BackToRuns />}
      actions={run && <StatusBadge run={run} />}
    >
      <Reading of={query} what="the run">
        {(read) => <Content run={read} />}
      </Reading>
    </View>
  );
}

function Content({ run }: { run: RunDetails }) {
  const live = useLiveRun(run.id);
  const goesOn = isOpen(run);
  const [wasOpen] = useState(goesOn);
  return (
    <div className="run">
      <div className="run-main">
        {live.closed && <Notice tone="warning">{closedWords[live.closed] ?? noLongerLive}</Notice>}
        {goesOn ? (
          <Now run={run} live={live} fresh={!wasOpen} />
        ) : (
          <Outcome run={run} fresh={wasOpen || live.done !== undefined} />
        )}
        <Text run={run} live={live} goesOn={goesOn} />
        {run.attempt_list.length > 0 && <Attempts run={run} />}
        {run.attempt_list.length > 0 && <Artifacts run={run} />}
        <details className="disclosure card">
          <summary>Packet, {run.packet_chars.toLocaleString()} characters</summary>
          <pre className="packet-text" tabIndex={0} aria-label="The packet's text">
            {run.packet}
          </pre>
        </details>
      </div>
      <RunFacts run={run} />
      <Announcer run={run} live={live} />
    </div>
  );
}

const noLongerLive = 'The run is no longer shown live. Reload the page.';
const closedWords: Record<string, string> = {
  forbidden: 'You may no longer read this run. What is shown is as it was.',
  not_found: 'You may no longer read this run. What is shown is as it was.',
};

/** Fresh: it takes another section's place before the reader's eyes, and the focus that was on a button there. */
function useFocus(fresh: boolean) {
  const place = useRef<HTMLElement>(null);
  useEffect(() => {
    if (fresh && document.activeElement === document.body) place.current?.focus();
  }, [fresh]);
  return place;
}

function Now({ run, live, fresh }: { run: RunDetails; live: LiveRun; fresh: boolean }) {
  const place = useFocus(fresh);
  const realtime = useRealtime();
  const { cancel } = useRunRights();
  const stop = useMutation({ mutationFn: () => realtime.cancelRun(run.id) });
  const stopping = run.cancel_requested || stop.isPending || stop.isSuccess;
  return (
    <section className="card run-now" aria-label="Progress" ref={place} tabIndex={-1}>
      <Progress run={run} live={live} />
      {cancel && (
        <Button look="primary" icon={<Stop />} disabled={stopping} onClick={() => stop.mutate()}>
          {stopping ? 'Stopping …' : 'Stop'}
        </Button>
      )}
      {stop.error && <Notice tone="error">{stop.error.message}</Notice>}
    </section>
  );
}

function Outcome({ run, fresh }: { run: RunDetails; fresh: boolean }) {
  const place = useFocus(fresh);
  return (
    <section className={`card run-outcome run-${run.status}`} aria-label="Outcome" ref={place} tabIndex={-1}>
      <h2>{statusWords[run.status]}</h2>
      <OutcomeWords run={run} />
      <GoOn run={run} />
    </section>
  );
}

function OutcomeWords({ run }: { run: RunDetails }) {
  const { status, failure_kind, failure_detail, problems = [] } = run;
  if (status === 'succeeded') {
    return (
      <p>
        The plan is valid and complete. It is kept as <code>{run.output}</code> in the repository on {run.machine}.
      </p>
    );
  }
  if (status === 'cancelled' && problems.length === 0) return <p>Stopped on request. No plan was written.</p>;
  return (
    <>
      {status === 'rejected' && <p>Nothing was paid and nothing written. Mend this and start a new run:</p>}
      {failure_kind && status === 'failed' && (
        <p>
          <FailureBadge kind={failure_kind} /> {failureSentences[failure_kind]} No plan was written.
        </p>
      )}
      {failure_detail && problems.length === 0 && <p className="run-detail">{failure_detail}</p>}
      {problems.length > 0 && (
        <ul className="run-problems">
          {problems.map((problem) => (
            <li key={problem}>{problem}</li>
          ))}
        </ul>
      )}
    </>
  );
}

function Text({ run, live, goesOn }: { run: RunDetails; live: LiveRun; goesOn: boolean }) {
  if (goesOn) return live.text === '' ? null : <TextSoFar text={live.text} />;
  const text = run.attempt_list.at(-1)?.checkpoint ?? '';
  if (text === '') return null;
  const title = run.status === 'succeeded' ? 'Plan' : 'What the last attempt said';
  return (
    <section className="run-part" aria-label={title}>
      <h2>{title}</h2>
      <div className="card run-text">
        <Markdown text={text} />
      </div>
    </section>
  );
}

/** Says to a screen reader each new phase, and the end. */
function Announcer({ run, live }: { run: RunDetails; live: LiveRun }) {
  const phase = live.status?.told.phase ?? run.phase;
  const kind = run.status === 'failed' && run.failure_kind ? `: ${run.failure_kind}` : '';
  return (
    <p className="visually-hidden" aria-live="polite">
      {isOpen(run) ? `The run: ${phase}.` : `The run has ended: ${statusWords[run.status]}${kind}.`}
    </p>
  );
}
