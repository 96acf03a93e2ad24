// Prints a turn as it happens: text as it streams, a line for each tool call and each result, notices.

import { emptyView, fold, openText, type Output, type TurnView } from '../client/index.ts';
import { isObject } from '../client/socket.ts';
import { clean, cleanLine, plural, type Style } from './print.ts';

const isVoid = '─── the unfinished answer above is void; here is the new one ───';
const notKept = '─── the unfinished answer above was not kept ───';
export const answeredNothing = '(the model answered nothing; send again or ask differently)';
// From this attempt on it may go on for minutes.
const longAttempt = 4;

export interface PrinterOptions {
  /** What the model says. */
  write(text: string): void;
  /** All else: calls, results, notices; by default like the text. */
  tell?(text: string): void;
  style: Style;
  /** Text goes out as it streams; otherwise only once it can't be voided any more. */
  live: boolean;
}

/**
 * Takes a session's outputs in order. A person always sees which text stands: what a failed attempt streamed is marked
 * as void before the new attempt's text begins. All text is cleaned for the terminal.
 */
export class TurnPrinter {
  readonly #options: PrinterOptions;
  #view: TurnView = emptyView;
  #column = 0;
  /** Some of the turn was shown from the transcript, and is not in the view. */
  #partly = false;
  #mayStop = false;

  constructor(options: PrinterOptions) {
    this.#options = options;
  }

  get view(): TurnView {
    return this.#view;
  }

  print(output: Output): void {
    const before = this.#view;
    const after = fold(before, output);
    if (after === before) return;
    this.#view = after;
    if (before.turn !== after.turn) this.#partly = this.#mayStop = false;
    const wasOpen = before.turn === after.turn ? openText(before) : '';
    if (output.type === 'text') this.#text(wasOpen, openText(after));
    else this.#control(output, wasOpen, before);
  }

  /** After a reload: what is open will come whole. Messages that were shown from the transcript are counted as seen. */
  reloaded(session: string, turn: string, last: number, messages: readonly number[]): void {
    const known = this.#view.turn === turn ? this.#view.messages : [];
    this.fresh();
    const all = [...new Set([...known, ...messages])];
    this.#view = { ...emptyView, session, turn, status: 'running', last, messages: all };
    this.#partly = true;
  }

  /** A line of its own, whatever was printed before. */
  line(text: string): void {
    const { tell } = this.#options;
    if (tell) return tell(`${text}\n`);
    this.result(text);
  }

  /** The same, among what the model says. */
  result(text: string): void {
    this.fresh();
    this.#write(`${text}\n`);
  }

  /** Ends a begun line. */
  fresh(): void {
    if (this.#column > 0) this.#write('\n');
  }

  #text(before: string, after: string): void {
    if (!this.#options.live || before === after) return;
    if (after.startsWith(before)) {
      if (before === '') this.fresh();
      this.#write(clean(after.slice(before.length)));
    } else {
      this.#void(before);
      this.#write(clean(after));
    }
  }

  #control(output: Exclude<Output, { type: 'text' }>, wasOpen: string, before: TurnView): void {
    const { style } = this.#options;
    if (output.type === 'retrying') {
      if (output.attempt < before.attempt) return;
      if (this.#options.live) this.#void(wasOpen);
      const why = cleanLine(output.reason, 160).replaceAll('_', ' ');
      this.line(style.yellow(`… ${why}; trying again (attempt ${output.attempt})`));
      if (this.#options.live && output.attempt >= longAttempt && !this.#mayStop) {
        this.#mayStop = true;
        this.line(style.dim('Ctrl-C stops the turn'));
      }
      return;
    }
    if (output.type === 'message' || output.type === 'tool_call') {
      if (!this.#options.live && wasOpen !== '') this.#write(clean(wasOpen));
      this.fresh();
    }
    if (output.type === 'compacted') this.line(style.dim(compactedLine(output.up_to)));
    if (output.type === 'tool_call') this.line(callLine(output.tool, output.input, style));
    if (output.type === 'tool_result') this.line(resultLine(output.tool, output.text, output.is_error, style));
    if (output.type === 'error') this.line(style.red(`✗ ${clean(output.text)}`));
    if (output.type === 'done') {
      if (this.#options.live && wasOpen.trim() !== '') this.line(style.dim(notKept));
      const notice = endNotice(output.text) ?? (this.#nothing() ? answeredNothing : undefined);
      if (notice) this.line(style.yellow(notice));
    }
  }

  /** The last answer has no text, and made no call. */
  #nothing(): boolean {
    const { reason, parts } = this.#view;
    const last = parts.at(-1);
    return reason === 'end_turn' && !this.#partly && (last?.type !== 'text' || isBlank(last.text));
  }

  #void(text: string): void {
    if (isBlank(text)) return;
    this.line(this.#options.style.dim(isVoid));
  }

  #write(text: string): void {
    if (text === '') return;
    this.#column = text.endsWith('\n') ? 0 : 1;
    this.#options.write(text);
  }
}

function isBlank(text: string): boolean {
  return text.trim() === '';
}

/** The transcript itself stays as it is. */
function compactedLine(upTo: number): string {
  return `… the planner summarized the conversation up to message ${upTo}, and goes on from the summary`;
}

export function callLine(tool: string, input: unknown, style: Style): string {
  return `${style.cyan(`→ ${cleanLine(tool, 60)}`)} ${style.dim(shortInput(input))}`.trimEnd();
}

/** For example `✓ list_items: 12 items`. */
export function resultLine(tool: string, text: string, isError: boolean, style: Style): string {
  const name = cleanLine(tool, 60);
  if (isError) return `  ${style.red(`✗ ${name}:`)} ${cleanLine(text, 300)}`;
  return `  ${style.green('✓')} ${name}: ${resultSummary(text)}`;
}

/** How many results, which changeset, which item; else the first words. */
export function resultSummary(text: string): string {
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch {
    return cleanLine(text, 120);
  }
  if (Array.isArray(content)) return plural(content.length, 'result');
  if (!isObject(content)) return cleanLine(text, 120);
  if (typeof content.changeset === 'string') {
    const { operations } = content;
    const count = Array.isArray(operations) ? operations.length : Number(operations);
    const extent = count ? ` with ${plural(count, 'operation')}` : '';
    return `proposed changeset ${cleanLine(content.changeset, 60)}${extent}`;
  }
  if (typeof content.key === 'string') return cleanLine(`${content.key} ${String(content.title ?? '')}`, 120);
  const list = Object.entries(content).find(([, value]) => Array.isArray(value));
  if (list && Array.isArray(list[1])) {
    const noun = list[0].replace(/ies$/, 'ys').replace(/s$/, '');
    return `${plural(list[1].length, noun)}${content.next === undefined ? '' : ', more follow'}`;
  }
  return cleanLine(text, 120);
}

/** Why a turn ended, where that needs saying. */
export function endNotice(reason: string): string | undefined {
  switch (reason) {
    case 'end_turn':
    case 'error':
      return undefined;
    case 'cancelled':
      return '(cancelled)';
    case 'max_rounds':
      return '(stopped: the most rounds that a turn may take were taken; send again to go on)';
    case 'max_tokens':
      return '(cut: the answer reached the most tokens that it may have; send "go on" for the rest)';
    case 'refusal':
      return '(the model refused to answer)';
    default:
      return `(ended: ${cleanLine(reason, 40)})`;
  }
}

function shortInput(input: unknown): string {
  if (isObject(input)) {
    const entries = Object.entries(input);
    if (entries.length === 0) return '';
    const shown = entries.map(([name, value]) => `${name}: ${shortValue(value)}`);
    return cleanLine(shown.join(', '), 120);
  }
  return cleanLine(typeof input === 'string' ? input : JSON.stringify(input) ?? '', 120);
}

function shortValue(value: unknown): string {
  if (Array.isArray(value)) return `[${value.length}]`;
  if (typeof value === 'string') return cleanLine(value, 40);
  return isObject(value) ? '{…}' : String(value);
}
