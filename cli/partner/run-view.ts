// How a run is shown while it runs: on a terminal a progress line under whole lines of visible text, elsewhere plain
// lines, or one line of JSON an event (spec: bounded-claude 1).

import type { RunOutput } from '../../client/index.ts';
import { clean } from '../print.ts';

export interface RunView {
  /** A note to the person: what is being done. */
  note(text: string): void;
  output(output: RunOutput): void;
  /** Holds all that is printed back, as long as a question stands on the terminal. */
  hold(): void;
  release(): void;
  /** Prints what is left and takes the progress line away. `made`: a plan was made of the text. */
  close(made?: boolean): void;
}

export interface Screen {
  /** Visible text, results. */
  out(text: string): void;
  /** Progress and notes. */
  err(text: string): void;
  /** Columns of the terminal. */
  columns(): number;
  now(): number;
}

type Status = Extract<RunOutput, { type: 'status' }>;

/** `0:42`, `12:03`. */
export function clock(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1_000));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}

/** Phase, elapsed, characters, age of the last event; `sinceMs`: since it was told; `seen`: characters shown. */
export function progressText(status: Status, attempt: number, sinceMs: number, seen = 0): string {
  const { phase, elapsed_ms, last_event_age_ms } = status;
  const told = status.visible_characters;
  const visible_characters = told === undefined && seen === 0 ? undefined : Math.max(told ?? 0, seen);
  const parts = [attempt > 1 ? `attempt ${attempt}, ${phase}` : phase];
  if (elapsed_ms !== undefined) parts.push(clock(elapsed_ms + sinceMs));
  if (visible_characters !== undefined) parts.push(`${visible_characters} characters`);
  if (last_event_age_ms !== undefined) parts.push(`last event ${clock(last_event_age_ms + sinceMs)} ago`);
  return parts.join(' · ');
}

/** What a line says about an output that is neither text nor status; undefined: nothing. */
export function noteOf(output: RunOutput): string | undefined {
  switch (output.type) {
    case 'attempt_failed':
      return `attempt ${output.attempt} ended: ${output.failure_kind}. ${output.failure_detail}`;
    case 'waiting':
      return `going on in ${clock(output.wait_ms)}`;
    case 'warning':
      return `warning: ${output.text}`;
    case 'text':
    case 'status':
    case 'checkpoint':
      return undefined;
    // Both are told at the run's end, with how to go on.
    case 'error':
    case 'done':
      return undefined;
  }
}

/** The visible text, told as what is new of it; an answer that begins again is marked. */
export class VisibleText {
  #shown = '';
  #attempt = 0;
  #characters = 0;

  /** What is to be printed for this output. */
  take({ attempt, text, replace }: Extract<RunOutput, { type: 'text' }>): string {
    const again =
      this.#shown !== '' && (attempt !== this.#attempt || (replace === true && !text.startsWith(this.#shown)));
    const mark = again ? `${this.#shown.endsWith('\n') ? '' : '\n'}---- the answer begins again ----\n` : '';
    const fresh = replace && !again ? text.slice(this.#shown.length) : text;
    this.#shown = again ? text : replace ? text : this.#shown + text;
    this.#attempt = attempt;
    this.#characters = again || replace ? length(this.#shown) : this.#characters + length(text);
    return clean(mark + fresh);
  }

  /** The answer so far, without those that it began again. */
  get answer(): string {
    return clean(this.#shown);
  }

  /** Code points of the attempt's text so far. */
  charactersOf(attempt: number): number {
    return attempt === this.#attempt ? this.#characters : 0;
  }

}

const length = (text: string): number => Array.from(text).length;

/**
 * Plain lines: a line for each new phase and every half minute; at the end the text, with the results where a plan was
 * made of it and else with the notes.
 */
export class PlainView implements RunView {
  readonly #screen: Screen;
  readonly #text = new VisibleText();
  #phase = '';
  #closed = false;
  #toldAt = -Infinity;

  constructor(screen: Screen) {
    this.#screen = screen;
  }

  note(text: string): void {
    this.#screen.err(`${clean(text)}\n`);
  }

  output(output: RunOutput): void {
    if (output.type === 'text') return void this.#text.take(output);
    if (output.type === 'status') return this.#status(output);
    const note = noteOf(output);
    if (note !== undefined) this.note(note);
  }

  #status(status: Status): void {
    const now = this.#screen.now();
    const phase = `${status.attempt} ${status.phase}`;
    if (phase === this.#phase && now - this.#toldAt < 30_000) return;
    [this.#phase, this.#toldAt] = [phase, now];
    this.note(progressText(status, status.attempt, 0, this.#text.charactersOf(status.attempt)));
  }

  hold(): void {}
  release(): void {}

  close(made = false): void {
    const { answer } = this.#text;
    if (this.#closed || answer === '') return;
    this.#closed = true;
    const text = answer.endsWith('\n') ? answer : `${answer}\n`;
    if (made) this.#screen.out(text);
    else this.#screen.err(text);
  }
}

/** One line of JSON an event; notes go to the other stream. */
export class JsonView implements RunView {
  readonly #screen: Screen;

  constructor(screen: Screen) {
    this.#screen = screen;
  }

  note(text: string): void {
    this.#screen.err(`${clean(text)}\n`);
  }

  output({ subscription: _subscription, ...output }: RunOutput): void {
    this.#screen.out(`${JSON.stringify(output)}\n`);
  }

  hold(): void {}
  release(): void {}
  close(): void {}
}

const wipe = '\r\u001b[K';

/** Whole lines of text and notes; under them the progress line, which goes on by itself between two events. */
export class TerminalView implements RunView {
  readonly #screen: Screen;
  readonly #demo: boolean;
  readonly #text = new VisibleText();
  readonly #timer: NodeJS.Timeout;
  #begun = '';
  #status: { output: Status; at: number } | undefined;
  #held: string[] | undefined;
  #closed = false;

  constructor(screen: Screen, demo: boolean) {
    this.#screen = screen;
    this.#demo = demo;
    this.#timer = setInterval(() => this.#draw(), 1_000);
    this.#timer.unref();
  }

  note(text: string): void {
    this.#print(`${clean(text)}\n`);
  }

  output(output: RunOutput): void {
    if (output.type === 'status') {
      this.#status = { output, at: this.#screen.now() };
      return this.#draw();
    }
    if (output.type !== 'text') {
      const note = noteOf(output);
      return note === undefined ? undefined : this.note(note);
    }
    const text = this.#begun + this.#text.take(output);
    const end = text.lastIndexOf('\n') + 1;
    this.#begun = text.slice(end);
    if (end > 0) this.#print(text.slice(0, end));
    else this.#draw();
  }

  hold(): void {
    this.#held ??= [];
    this.#screen.err(wipe);
  }

  release(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const text of held) this.#print(text);
    this.#draw();
  }

  close(): void {
    if (this.#closed) return;
    if (this.#held) this.release();
    if (this.#begun !== '') this.#print(`${this.#begun}\n`);
    this.#closed = true;
    clearInterval(this.#timer);
    this.#screen.err(wipe);
  }

  #print(text: string): void {
    if (this.#held) return void this.#held.push(text);
    this.#screen.err(wipe);
    this.#screen.out(text);
    this.#draw();
  }

  #draw(): void {
    if (this.#held || this.#closed || !this.#status) return;
    const { output, at } = this.#status;
    const since = output.elapsed_ms === undefined ? 0 : this.#screen.now() - at;
    const seen = this.#text.charactersOf(output.attempt);
    const line = (this.#demo ? 'DEMO · ' : '') + clean(progressText(output, output.attempt, since, seen));
    this.#screen.err(
      `${wipe}${Array.from(line)
        .slice(0, Math.max(10, this.#screen.columns() - 1))
        .join('')}`,
    );
  }
}
