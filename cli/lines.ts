// Reads what a person (or a pipe) types: messages of one or more lines, pasted blocks, answers to questions, Ctrl-C.

import readline from 'node:readline';
import { Writable, type Readable } from 'node:stream';

export interface LineOptions {
  input: Readable;
  output: Writable;
  /** A person types: prompts, history, pasted blocks as one text. */
  interactive: boolean;
  onInterrupt(): void;
}

// Lines of one paste arrive together, also on a terminal that does not mark pastes; a person is never that fast.
const pasteMilliseconds = 30;
// Nobody reads a question and answers it faster: what is typed within this time was meant for something else.
const restMilliseconds = 300;

const markPastes = '\u001b[?2004h';
const markNoPastes = '\u001b[?2004l';
const more = '… ';

interface Waiting {
  prompt: string;
  /** An answer to a question: never taken from what was typed before it. */
  answer: boolean;
  resolve(text: string | undefined): void;
}

/**
 * A message may be typed ahead, while something else is printed; an answer may not: what was typed or pasted before the
 * question is kept as the draft of the next message, which the person sees before it is sent.
 */
export class Lines {
  readonly #reader: readline.Interface;
  readonly #screen: Screen | undefined;
  readonly #output: Writable;
  readonly #marksPastes: boolean;
  /** Whole messages that nobody has asked for yet. */
  readonly #ready: string[] = [];
  /** Lines of the message that is being typed, all but the one in the editor. */
  #begun: string[] = [];
  #draft: string[] = [];
  #pasting = false;
  #typedAt = -Infinity;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #waiting: Waiting | undefined;
  #ended = false;

  constructor(options: LineOptions) {
    this.#output = options.output;
    this.#screen = options.interactive ? new Screen(options.output) : undefined;
    this.#marksPastes = options.interactive && process.env['TERM'] !== 'dumb';
    this.#reader = readline.createInterface({
      input: options.input,
      ...(this.#screen ? { output: this.#screen, terminal: true, historySize: 200 } : { terminal: false }),
      crlfDelay: Infinity,
    });
    if (this.#marksPastes) this.#output.write(markPastes);
    if (options.interactive) options.input.on('keypress', (_, key?: { name?: string }) => this.#key(key?.name));
    this.#reader.on('line', (line) => this.#take(line));
    this.#reader.on('SIGINT', () => options.onInterrupt());
    this.#reader.on('close', () => this.#close());
  }

  /** The next message; undefined at the end of the input. A line that ends with a backslash goes on in the next. */
  next(prompt: string): Promise<string | undefined> {
    if (this.#timer !== undefined) this.#afterPause();
    if (this.#ended || !this.#screen) return this.#ready.length > 0 || this.#ended ? this.#shift() : this.#wait(prompt);
    if (this.#draft.length > 0 || this.#begun.length > 0) return this.#offerDraft(prompt);
    const [ready] = this.#ready;
    if (ready === undefined) return this.#wait(prompt);
    this.#output.write(`${prompt}${ready.replaceAll('\n', `\n${more}`)}\n`);
    return this.#shift();
  }

  /** An answer that was begun after the question was shown. Call `rest` first. */
  answer(question: string): Promise<string | undefined> {
    if (!this.#screen) return this.next(question);
    this.setAside();
    return this.#ended ? Promise.resolve(undefined) : this.#wait(question, { answer: true });
  }

  /** Waits until nobody types or pastes. */
  async rest(): Promise<void> {
    while (!this.#ended && (this.#pasting || Date.now() - this.#typedAt < restMilliseconds)) {
      await new Promise((resolve) => setTimeout(resolve, pasteMilliseconds));
    }
  }

  /** Makes all that was typed so far, and `text`, the draft of the next message. True when there was something. */
  setAside(text?: string): boolean {
    this.#stopTimer();
    const typed = this.#screen ? this.#emptyEditor() : '';
    const lines = [...this.#ready.splice(0), ...this.#begun.splice(0), ...(text === undefined ? [] : [text])];
    if (typed !== '') lines.push(typed);
    this.#draft.push(...lines.flatMap((each) => each.split('\n')));
    return lines.length > 0;
  }

  /** Takes the prompt away, so that something can be printed in its place. */
  hide(): void {
    if (!this.#screen || !this.#waiting) return;
    const typed = this.#emptyEditor();
    this.#output.write('\r\u001b[K');
    this.#screen.shown = false;
    this.#reader.write(typed);
  }

  /** Shows the prompt again after something was printed over it. */
  again(): void {
    if (this.#waiting && !this.#ended) this.#show();
  }

  /** Forgets what is typed so far. */
  clear(): void {
    this.#stopTimer();
    this.#begun = [];
    this.#pasting = false;
    this.#emptyEditor();
  }

  close(): void {
    this.#reader.close();
  }

  #shift(): Promise<string | undefined> {
    return Promise.resolve(this.#ready.shift());
  }

  #wait(prompt: string, { answer = false, editor = '' } = {}): Promise<string | undefined> {
    return new Promise((resolve) => {
      this.#waiting = { prompt, answer, resolve };
      this.#show(editor);
    });
  }

  /** Its last line can be changed; Ctrl-C forgets it. */
  #offerDraft(prompt: string): Promise<string | undefined> {
    this.setAside();
    this.#begun = this.#draft.splice(0);
    const editor = this.#begun.pop() ?? '';
    this.#output.write(this.#begun.map((line, index) => `${index === 0 ? prompt : more}${line}\n`).join(''));
    return this.#wait(prompt, { editor });
  }

  /** The prompt with what stands in the editor, on a line of its own. */
  #show(before = ''): void {
    if (!this.#screen || !this.#waiting) return;
    const typed = before + this.#emptyEditor();
    this.#screen.shown = true;
    this.#prompt();
    if (typed !== '') this.#reader.write(typed);
  }

  #prompt(): void {
    this.#reader.setPrompt(this.#begun.length > 0 ? more : this.#waiting?.prompt ?? '');
    this.#reader.prompt();
  }

  /** Returns what stood in it. */
  #emptyEditor(): string {
    if (!this.#screen || this.#ended) return '';
    const typed = this.#reader.line;
    this.#reader.write(null, { ctrl: true, name: 'e' });
    this.#reader.write(null, { ctrl: true, name: 'u' });
    return typed;
  }

  #key(name: string | undefined): void {
    this.#typedAt = Date.now();
    if (name === 'paste-start') this.#pasting = true;
    if (name === 'paste-end') this.#pasting = false;
  }

  #take(line: string): void {
    this.#stopTimer();
    const goesOn = line.endsWith('\\') || this.#pasting;
    this.#begun.push(line.endsWith('\\') ? line.slice(0, -1) : line);
    if (!this.#screen) {
      if (!goesOn) this.#finish();
    } else if (goesOn) {
      if (this.#waiting) this.#prompt();
    } else {
      this.#timer = setTimeout(() => this.#afterPause(), pasteMilliseconds);
    }
  }

  /** The last line of a paste that does not end with a line feed is part of it: it waits in the editor. */
  #afterPause(): void {
    this.#stopTimer();
    if (this.#reader.line === '') this.#finish();
    else if (this.#waiting) this.#show();
  }

  #stopTimer(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #finish(): void {
    if (this.#begun.length === 0) return;
    const text = this.#begun.join('\n');
    this.#begun = [];
    if (this.#waiting) this.#resolve(text);
    else this.#ready.push(text);
  }

  #resolve(text: string | undefined): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (this.#screen) this.#screen.shown = false;
    waiting?.resolve(text);
  }

  #close(): void {
    this.#stopTimer();
    this.#ended = true;
    this.#screen?.release();
    if (this.#marksPastes) this.#output.write(markNoPastes);
    if (this.#waiting?.answer) return this.#resolve(undefined);
    this.#finish();
    if (this.#waiting) this.#resolve(this.#ready.shift());
  }
}

/** The terminal as the editor sees it: nothing that it draws is shown while no prompt is. */
class Screen extends Writable {
  shown = false;
  readonly #output: Writable & { columns?: number };
  readonly #onResize = (): void => void this.emit('resize');

  constructor(output: Writable) {
    super({ decodeStrings: false });
    this.#output = output;
    output.on('resize', this.#onResize);
  }

  get columns(): number | undefined {
    return this.#output.columns;
  }

  override _write(chunk: string | Buffer, _: BufferEncoding, done: () => void): void {
    if (this.shown) this.#output.write(chunk);
    done();
  }

  release(): void {
    this.#output.off('resize', this.#onResize);
  }
}
