// One attempt of a bounded run under supervision: limits, ladder, verdict (spec: bounded-claude 4).

import { stat } from 'node:fs/promises';
import { createEventReader, type EventReader, type Fact } from '../domain/bounded/events.ts';
import { characters } from '../domain/text.ts';
import { Checkpoint, EventLog } from './attempt-files.ts';
import { commandLine } from './command-line.ts';
import { startGuard, type GuardEnd, type GuardLease } from './guard-client.ts';
import { keepOutcome, limitCauses, outcomeOf, readerOptions, retryAfter, type EndCause } from './outcome.ts';
import { causeOf, recoverAttempt } from './recover.ts';
import { nobodys } from './sweep.ts';
import type { AbortCause, AttemptHooks, AttemptOutcome, AttemptPhase, AttemptPlan } from './types.ts';
import { VisibleFeed } from './visible-feed.ts';

const tickMs = 100;
const tellMs = 250;

/** Causes after which the session may be resumed: SIGINT first lets the CLI keep its partial answer. */
const resumable: ReadonlySet<EndCause['kind']> = new Set([
  'wall_timeout',
  'idle_timeout',
  'upstream_idle',
  'cancelled',
  'interrupted',
]);

/**
 * Starts guard and CLI, reads the events, keeps the limits, ends and reaps the group, judges, and writes events.jsonl
 * and checkpoint.md as it goes. Every end of the CLI is an outcome; an abort before the start starts nothing. What was
 * started before is recovered, not started again. The hooks must not throw.
 * @throws Error the run's directory is missing
 */
export async function superviseAttempt(plan: AttemptPlan, hooks: AttemptHooks): Promise<AttemptOutcome> {
  if (!(await isFolder(plan.runDir))) throw new Error(`The run's directory ${plan.runDir} does not exist.`);
  const { prompt: _, environment: __, ...known } = plan;
  const stored = await recoverAttempt(known);
  if (stored) return stored;
  const supervision = new Supervision(plan, hooks);
  const outcome = await supervision.run();
  // What was handed back is judged by the successor.
  if (!supervision.handedBack) await keepOutcome(plan.runDir, outcome);
  return outcome;
}

const isFolder = async (folder: string): Promise<boolean> =>
  stat(folder).then(
    (found) => found.isDirectory(),
    () => false,
  );

class Supervision {
  handedBack = false;
  readonly #plan: AttemptPlan;
  readonly #hooks: AttemptHooks;
  readonly #reader: EventReader;
  readonly #log: EventLog;
  readonly #feed: VisibleFeed;
  readonly #warnings: string[] = [];
  #lease: GuardLease | undefined;
  #cause: EndCause | undefined;
  #phase: AttemptPhase = 'starting';
  #startedAt = performance.now();
  #eventAt = this.#startedAt;
  #contentAt = this.#startedAt;
  #resultAt: number | undefined;
  #toldAt = 0;
  #bytes = 0;
  #retryAfterMs: number | undefined;

  constructor(plan: AttemptPlan, hooks: AttemptHooks) {
    const warn = (warning: string): void => void this.#warnings.push(warning);
    this.#plan = plan;
    this.#hooks = hooks;
    this.#reader = createEventReader(readerOptions(plan));
    this.#log = new EventLog(plan.runDir, warn);
    this.#feed = new VisibleFeed(() => this.#reader.visibleText(), hooks.onText, new Checkpoint(plan.runDir, warn));
  }

  async run(): Promise<AttemptOutcome> {
    const { signal } = this.#hooks;
    if (signal.aborted) {
      const cause = abortCause(signal);
      this.handedBack = cause.kind === 'worker_lost';
      return this.#notStarted(cause);
    }
    const { runDir, attempt, workDir, cli, environment, prompt } = this.#plan;
    const start = {
      do: 'start',
      runDir,
      attempt,
      workDir,
      command: cli.path,
      args: commandLine(this.#plan),
      environment,
      prompt,
    } as const;
    this.#lease = startGuard(start, this.#plan.installation ?? nobodys, {
      onStarted: () => this.#started(),
      onData: (chunk) => this.#read(chunk),
      onTeeLost: (code) => this.#warnings.push(`The raw output could not be stored (${code}).`),
    });
    let handBack: (end: 'handed_back') => void = () => undefined;
    const handedBack = new Promise<'handed_back'>((resolve) => (handBack = resolve));
    const abort = (): void => {
      const cause = abortCause(signal);
      if (cause.kind === 'worker_lost') handBack('handed_back');
      else this.#end(cause);
    };
    signal.addEventListener('abort', abort);
    const ticker = setInterval(() => this.#tick(), tickMs);
    try {
      const end = await Promise.race([this.#lease.done, handedBack]);
      return end === 'handed_back' ? await this.#handBack() : await this.#finish(end);
    } finally {
      clearInterval(ticker);
      signal.removeEventListener('abort', abort);
    }
  }

  #started(): void {
    this.#startedAt = this.#eventAt = this.#contentAt = performance.now();
  }

  #read(chunk: Buffer): void {
    this.#bytes += chunk.length;
    this.#reader.push(chunk, (fact) => this.#take(fact));
    this.#log.flush();
  }

  #take(fact: Fact): void {
    const now = performance.now();
    switch (fact.kind) {
      case 'event':
        this.#eventAt = now;
        if (fact.content) this.#contentAt = now;
        this.#log.add(fact.envelope, new Date());
        this.#retryAfterMs = retryAfter(fact, Date.now()) ?? this.#retryAfterMs;
        return this.#enter(phaseAfter(fact, this.#phase));
      case 'text':
        return this.#feed.changed();
      case 'finding':
        return this.#end({ kind: fact.failure_kind, detail: fact.detail });
      case 'result':
        this.#resultAt ??= now;
        return this.#enter('settling');
      case 'note':
        return;
    }
  }

  #enter(phase: AttemptPhase): void {
    if (phase === this.#phase || this.#phase === 'ending') return;
    this.#phase = phase;
    this.#tell();
  }

  #tell(): void {
    const now = performance.now();
    this.#toldAt = now;
    this.#hooks.onChange({
      phase: this.#phase,
      elapsedMs: Math.round(now - this.#startedAt),
      visibleCharacters: characters(this.#reader.visibleText()),
      lastEventAgeMs: Math.round(now - this.#eventAt),
    });
  }

  #tick(): void {
    const now = performance.now();
    const { limits } = this.#plan;
    if (now - this.#toldAt >= tellMs) this.#tell();
    if (this.#cause) return;
    if (this.#resultAt !== undefined) {
      if (now - this.#resultAt > limits.settleMs)
        this.#end({ kind: 'lingered', detail: 'The CLI did not exit after its result.' });
    } else if (now - this.#startedAt > limits.wallMs) this.#end(limitCauses.wall_timeout(limits));
    else if (now - this.#eventAt > limits.idleMs) this.#end(limitCauses.idle_timeout(limits));
    else if (now - this.#contentAt > limits.upstreamIdleMs) this.#end(limitCauses.upstream_idle(limits));
  }

  /** The first cause counts; it is recorded before the first signal. */
  #end(cause: EndCause): void {
    if (this.#cause) return;
    this.#cause = cause;
    this.#enter('ending');
    this.#lease?.end(cause, resumable.has(cause.kind));
  }

  async #finish(end: GuardEnd): Promise<AttemptOutcome> {
    if (end.is === 'lost') return this.#recover();
    if (end.is === 'failed') return this.#notStarted(this.#cause ?? { kind: 'claude_error', detail: end.message });
    // What did not arrive here is on disk.
    if (this.#bytes < end.exit.bytes && end.exit.stored === end.exit.bytes) return this.#recover();
    this.#reader.end((fact) => this.#take(fact));
    // The guard's record decides: what was the first, and whether it came before the exit.
    const { cause: recorded } = end.exit;
    const cause = recorded === null ? undefined : causeOf(end.exit, lost(recorded.detail));
    const left = end.exit.left.length > 0 ? [`The kernel did not let go of process ${end.exit.left.join(', ')}.`] : [];
    return this.#close(end.exit, cause, left);
  }

  async #close(
    ended: Parameters<typeof outcomeOf>[1]['ended'],
    cause: EndCause | undefined,
    left: string[],
  ): Promise<AttemptOutcome> {
    this.#log.close();
    const warnings = [...this.#warnings, ...left];
    const known = this.#retryAfterMs === undefined ? {} : { retryAfterMs: this.#retryAfterMs };
    const outcome = await outcomeOf(this.#reader, { ended, cause, warnings, ...known });
    await this.#feed.close(outcome.text);
    outcome.warnings = [...new Set([...outcome.warnings, ...this.#warnings])];
    return outcome;
  }

  /** Nothing ran, so nothing was paid. */
  #notStarted(cause: EndCause): Promise<AttemptOutcome> {
    return this.#close({ code: null, signal: null, stderr_tail: '', duration_ms: 0 }, cause, []);
  }

  /** The guard went without a word: what it stored decides, as for a successor. */
  async #recover(): Promise<AttemptOutcome> {
    this.#log.close();
    await this.#feed.abandon();
    const { prompt: _, environment: __, ...known } = this.#plan;
    const cause = this.#cause ?? lost('The guard of the CLI was lost.');
    return (await recoverAttempt(known, cause)) ?? this.#notStarted(cause);
  }

  async #handBack(): Promise<AttemptOutcome> {
    this.handedBack = true;
    this.#lease?.release();
    const durationMs = Math.round(performance.now() - this.#startedAt);
    const ended = { code: null, signal: null, stderr_tail: '', duration_ms: durationMs };
    return this.#close(ended, lost('The worker handed the run back.'), []);
  }
}

const lost = (detail: string): EndCause => ({ kind: 'worker_lost', detail });

function abortCause(signal: AbortSignal): EndCause {
  const reason = signal.reason as AbortCause;
  if (reason === 'cancel') return { kind: 'cancelled', detail: 'The run was cancelled.' };
  if (reason === 'interrupt') return { kind: 'interrupted', detail: 'The attempt was ended on purpose.' };
  return lost('The worker handed the run back.');
}

function phaseAfter({ envelope }: Extract<Fact, { kind: 'event' }>, before: AttemptPhase): AttemptPhase {
  if (before === 'settling') return before;
  if (envelope['subtype'] === 'api_retry') return 'retrying';
  if (envelope['delta'] === 'text_delta') return 'writing';
  if (envelope['delta'] === 'thinking_delta' || envelope['subtype'] === 'thinking_tokens') return 'thinking';
  return before === 'starting' ? 'waiting' : before;
}
