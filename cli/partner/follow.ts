// Watches a run to its end, whatever happens to the connection or to the stack; the run needs nobody who watches.

import { connect, createRest, type Feed, type RunDetails, type RunOutput } from '../../client/index.ts';
import { problemText } from '../print.ts';
import { isHeld } from '../stack/detached.ts';
import { askChoice } from './interrupts.ts';
import type { Base } from './reach.ts';
import type { RunView } from './run-view.ts';

/** left: the command goes, the run stays. */
export type Followed = { left: true; exitCode: number } | { left: false; run: RunDetails; rejected: boolean };

const pollMs = 5_000;
/** A connection that is away for so long is worth a word, and a look whether the stack is still there. */
const awayMs = 5_000;

export interface FollowOptions {
  /** The run's own id. */
  run: string;
  view: RunView;
  /** The output number to go on after; 0: from the first. */
  from: number;
  /** The stack is gone: starts it again. */
  revive(): Promise<Base>;
}

export class Follow {
  readonly #options: FollowOptions;
  readonly #end = Promise.withResolvers<Followed>();
  readonly #question = new AbortController();
  #base: Base;
  #last: number;
  #asking = false;
  #ended = false;

  constructor(base: Base, options: FollowOptions) {
    this.#base = base;
    this.#options = options;
    this.#last = options.from;
  }

  /** Errors: the client's, where the API ends the watch for good. */
  async run(): Promise<Followed> {
    let made = false;
    try {
      for (;;) {
        const end = await this.#watch();
        made = end !== 'gone' && !end.left && end.run.status === 'succeeded';
        if (end !== 'gone') return end;
        this.#options.view.note('The stack has ended; it is started again, and the run goes on.');
        this.#base = await this.#options.revive();
      }
    } finally {
      this.#ended = true;
      this.#question.abort();
      this.#options.view.close(made);
    }
  }

  /** Ctrl-C at a terminal asks; a second one, and any other interruption, leaves. */
  interrupt(what: 'ask' | 'leave', exitCode: number): void {
    if (what === 'leave' || this.#asking) this.#leave(exitCode);
    else void this.#ask(exitCode).catch((error: unknown) => this.#options.view.note(problemText(error)));
  }

  async #ask(exitCode: number): Promise<void> {
    const { view, run } = this.#options;
    this.#asking = true;
    view.hold();
    try {
      const choice = await askChoice(this.#question.signal);
      if (choice === 'leave') return this.#leave(exitCode);
      if (choice === 'go on' || this.#ended) return;
      view.note('stopping the run ...');
      await createRest(this.#base).cancelRun(run);
    } finally {
      this.#asking = false;
      view.release();
    }
  }

  #leave(exitCode: number): void {
    this.#end.resolve({ left: true, exitCode });
  }

  /** gone: nothing runs any more that could answer. */
  async #watch(): Promise<Followed | 'gone'> {
    const { view, run } = this.#options;
    const { address, token, dataDir } = this.#base;
    const rest = createRest({ address, token });
    const over = Promise.withResolvers<Followed | 'gone'>();
    let awaySince: number | undefined;
    let told = false;
    const finish = async (rejected: boolean): Promise<void> =>
      over.resolve({ left: false, run: await rest.run(run), rejected });
    const realtime = connect({
      address,
      token,
      onState: (state) => {
        if (state === 'open') awaySince = undefined;
        else awaySince ??= performance.now();
        if (state === 'open') told = false;
      },
    });
    const feed: Feed<unknown> = realtime.watchRun(
      run,
      {
        onOutput: (output: RunOutput) => {
          this.#last = output.output;
          view.output(output);
          if (output.type === 'done') finish(output.status === 'rejected').catch(over.reject);
        },
        onClosed: (reason) =>
          over.reject(new Error(`The API ended the watch (${reason}). The run goes on: partner status`)),
      },
      { from_output: this.#last },
    );
    const poll = async (): Promise<void> => {
      if (awaySince === undefined) {
        const details = await rest.run(run);
        // Its last outputs are told first, where they still come.
        const rejected = details.problems !== undefined;
        const end = (): void => over.resolve({ left: false, run: details, rejected });
        if (details.ended_at !== undefined) setTimeout(end, 1_000);
        return;
      }
      if (performance.now() - awaySince < awayMs) return;
      if (dataDir !== undefined && !isHeld(dataDir)) return over.resolve('gone');
      if (!told) view.note('The connection is lost; trying again. The run needs nobody who watches.');
      told = true;
    };
    const timer = setInterval(() => poll().catch(() => undefined), pollMs);
    try {
      return await Promise.race([over.promise, this.#end.promise]);
    } finally {
      clearInterval(timer);
      feed.close();
      realtime.close();
    }
  }
}
