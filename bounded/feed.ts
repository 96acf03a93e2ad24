// Visible text and clocks of a supervised attempt on their way to watchers: one flush path, under the attempt's fence.

import type { AttemptState, TextChange } from '../claude/index.ts';
import type { RunOutputBody } from '../domain/run-output.ts';
import { lockAttempt } from '../store/attempts.ts';
import { transaction, type Database, type Tx } from '../store/database.ts';
import { lockRun, RunLost, tell } from '../store/runs.ts';

const intervalMs = 100;
const retryMs = 1_000;
/** Clocks are told at each new phase, otherwise as seldom. */
const clockMs = 1_000;

export class RunFeed {
  readonly #database: Database;
  readonly #target: { run: string; attempt: number; fence: number };
  readonly #onLost: () => void;
  #whole = '';
  #pending = '';
  #replace = false;
  #state: AttemptState | undefined;
  #toldPhase = '';
  #toldAt = 0;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();
  #closed = false;

  /** `onLost` is called when the run has ended or the attempt is another's: nothing more is written. */
  constructor(database: Database, target: { run: string; attempt: number; fence: number }, onLost: () => void) {
    this.#database = database;
    this.#target = target;
    this.#onLost = onLost;
  }

  text(change: TextChange): void {
    if ('append' in change) {
      this.#whole += change.append;
      this.#pending += change.append;
    } else {
      this.#whole = change.replace;
      this.#pending = '';
      this.#replace = true;
    }
    this.#schedule(intervalMs);
  }

  state(state: AttemptState): void {
    this.#state = state;
    if (state.phase !== this.#toldPhase || performance.now() - this.#toldAt >= clockMs) this.#schedule(intervalMs);
  }

  /** Writes what is left. Should that fail: the checkpoint that follows holds all of it. */
  async close(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#writing;
    if (!this.#closed) await this.#flush();
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  #schedule(wait: number): void {
    if (this.#closed) return;
    this.#timer ??= setTimeout(() => {
      this.#writing = this.#flush();
    }, wait);
  }

  async #flush(): Promise<void> {
    const bodies: RunOutputBody[] = [];
    const length = this.#pending.length;
    const replace = this.#replace;
    if (replace) bodies.push({ type: 'text', text: this.#whole, replace: true });
    else if (length > 0) bodies.push({ type: 'text', text: this.#pending });
    const state = this.#state;
    if (state) bodies.push(statusOf(state));
    if (bodies.length === 0) return void (this.#timer = undefined);
    try {
      await transaction(this.#database, (tx) => this.#write(tx, bodies, state?.phase));
      this.#pending = replace ? '' : this.#pending.slice(length);
      this.#replace = false;
      if (this.#state === state) this.#state = undefined;
      if (state) this.#toldPhase = state.phase;
      if (state) this.#toldAt = performance.now();
      this.#timer = undefined;
      if (this.#pending !== '' || this.#state) this.#schedule(intervalMs);
    } catch (error) {
      this.#timer = undefined;
      if (error instanceof RunLost) {
        this.#closed = true;
        return this.#onLost();
      }
      // It may have been committed before the connection broke: saying all again is right either way.
      this.#replace = this.#whole !== '';
      this.#schedule(retryMs);
    }
  }

  async #write(tx: Tx, bodies: RunOutputBody[], phase: string | undefined): Promise<void> {
    const { run, attempt, fence } = this.#target;
    const row = await lockRun(tx, run);
    if (row.status !== 'running') throw new RunLost();
    await lockAttempt(tx, run, attempt, fence);
    for (const body of bodies) tell(tx, row, body, attempt);
    await tx.query('UPDATE bounded_runs SET progress_at = now(), phase = coalesce($2, phase) WHERE id = $1', [
      run,
      phase ?? null,
    ]);
  }
}

function statusOf(state: AttemptState): RunOutputBody {
  return {
    type: 'status',
    phase: state.phase,
    elapsed_ms: state.elapsedMs,
    visible_characters: state.visibleCharacters,
    last_event_age_ms: state.lastEventAgeMs,
  };
}
