// Reads what a person (or a pipe) types, line by line: continued lines, pasted blocks, Ctrl-C.

import readline from 'node:readline';
import type { Readable, Writable } from 'node:stream';

export interface LineOptions {
  input: Readable;
  output: Writable;
  /** A person types: prompts, history, pasted blocks as one text. */
  interactive: boolean;
  onInterrupt(): void;
}

// Lines of one paste arrive together; a person is never that fast.
const pasteMilliseconds = 30;

export class Lines {
  readonly #reader: readline.Interface;
  readonly #output: Writable;
  readonly #interactive: boolean;
  readonly #ready: string[] = [];
  #begun: string[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #waiting: ((line: string | undefined) => void) | undefined;
  #ended = false;

  constructor(options: LineOptions) {
    this.#interactive = options.interactive;
    this.#output = options.output;
    this.#reader = readline.createInterface({
      input: options.input,
      ...(options.interactive ? { output: options.output, terminal: true, historySize: 200 } : { terminal: false }),
      crlfDelay: Infinity,
    });
    this.#reader.on('line', (line) => this.#take(line));
    this.#reader.on('SIGINT', () => options.onInterrupt());
    this.#reader.on('close', () => {
      this.#flush();
      this.#ended = true;
      this.#waiting?.(this.#ready.shift());
    });
  }

  /** The next text; undefined at the end of the input. A line that ends with a backslash goes on with the next one. */
  next(prompt: string): Promise<string | undefined> {
    const ready = this.#ready.shift();
    if (ready !== undefined || this.#ended) return Promise.resolve(ready);
    if (this.#interactive) {
      this.#reader.setPrompt(prompt);
      this.#reader.prompt();
    }
    return new Promise((resolve) => {
      this.#waiting = (line) => {
        this.#waiting = undefined;
        resolve(line);
      };
    });
  }

  /** Takes the prompt away, so that something can be printed in its place. */
  hide(): void {
    if (this.#interactive && this.#waiting) this.#output.write('\r\u001b[K');
  }

  /** Shows the prompt again after something was printed over it. */
  again(): void {
    if (this.#interactive && this.#waiting) this.#reader.prompt(true);
  }

  /** Forgets what is typed so far on this line. */
  clear(): void {
    this.#begun = [];
    if (this.#interactive) this.#reader.write(null, { ctrl: true, name: 'e' });
    if (this.#interactive) this.#reader.write(null, { ctrl: true, name: 'u' });
  }

  close(): void {
    this.#reader.close();
  }

  #take(line: string): void {
    clearTimeout(this.#timer);
    const goesOn = line.endsWith('\\');
    this.#begun.push(goesOn ? line.slice(0, -1) : line);
    if (goesOn) {
      if (this.#interactive && this.#waiting) {
        this.#reader.setPrompt('… ');
        this.#reader.prompt();
      }
    } else if (this.#interactive) {
      this.#timer = setTimeout(() => this.#flush(), pasteMilliseconds);
    } else {
      this.#flush();
    }
  }

  #flush(): void {
    clearTimeout(this.#timer);
    if (this.#begun.length === 0) return;
    const text = this.#begun.join('\n');
    this.#begun = [];
    if (this.#waiting) this.#waiting(text);
    else this.#ready.push(text);
  }
}
