// Visible text on its way out: redacted over the joined text, so that a secret split over two deltas is caught
// (spec: bounded-claude 7).

import { redact, settledLength } from '../domain/secrets/index.ts';
import type { Checkpoint } from './attempt-files.ts';
import type { TextChange } from './types.ts';

const flushMs = 150;
const checkpointMs = 1_000;

/** Takes the whole visible text as it stands; shows what is settled of it, and keeps the checkpoint up to date. */
export class VisibleFeed {
  readonly #read: () => string;
  readonly #show: (change: TextChange) => void;
  readonly #checkpoint: Checkpoint;
  #shown = '';
  #timer: NodeJS.Timeout | undefined;
  #work: Promise<void> = Promise.resolve();
  #costMs = 0;
  #checkpointAt = 0;
  #closed = false;

  constructor(read: () => string, show: (change: TextChange) => void, checkpoint: Checkpoint) {
    this.#read = read;
    this.#show = show;
    this.#checkpoint = checkpoint;
  }

  /** The text has changed. A long text is looked through less often: at most a fifth of the time goes into it. */
  changed(): void {
    if (this.#timer || this.#closed) return;
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined;
        const before = performance.now();
        this.#work = this.#work
          .then(() => this.#flush())
          .catch(() => undefined)
          .then(() => void (this.#costMs = performance.now() - before));
      },
      Math.max(flushMs, this.#costMs * 4),
    );
  }

  async #flush(): Promise<void> {
    if (this.#closed) return;
    const text = this.#read();
    const safe = await redact(text.slice(0, settledLength(text)));
    this.#tell(safe.text);
    if (performance.now() - this.#checkpointAt < checkpointMs) return;
    this.#checkpointAt = performance.now();
    await this.#checkpoint.write(safe.text);
  }

  #tell(text: string): void {
    if (text === this.#shown) return;
    const appended = text.startsWith(this.#shown);
    this.#show(appended ? { append: text.slice(this.#shown.length) } : { replace: text });
    this.#shown = text;
  }

  /** Shows and keeps the final text, which is redacted already. */
  async close(text: string): Promise<void> {
    clearTimeout(this.#timer);
    this.#closed = true;
    await this.#work;
    this.#tell(text);
    await this.#checkpoint.write(text);
  }

  /** Shows nothing more. */
  async abandon(): Promise<void> {
    clearTimeout(this.#timer);
    this.#closed = true;
    await this.#work;
  }
}
