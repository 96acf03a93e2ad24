// What an attempt writes as it goes: events.jsonl and checkpoint.md (spec: bounded-claude 7).

import { closeSync, fsyncSync, openSync, readFileSync, statSync, truncateSync, writeSync } from 'node:fs';
import path from 'node:path';
import type { Envelope } from '../domain/bounded/envelope.ts';
import { ArtifactError, writeWhole } from './artifacts.ts';
import { checkpointFile } from './guard-protocol.ts';

type Warn = (warning: string) => void;

/** Appends sanitized envelopes. A disk that fails is told once, and ends nothing. */
export class EventLog {
  readonly #warn: Warn;
  readonly #after: number;
  #handle: number;
  #lines = '';

  /** Goes on behind the envelopes that the file holds already, as after the loss of a worker. */
  constructor(runDir: string, warn: Warn) {
    const file = path.join(runDir, 'events.jsonl');
    this.#warn = warn;
    this.#after = lastEnvelope(file);
    this.#handle = -1;
    this.#try(() => (this.#handle = openSync(file, 'a', 0o600)));
  }

  add(envelope: Envelope, at: Date | undefined): void {
    if (envelope.n <= this.#after) return;
    this.#lines += `${JSON.stringify(at ? { at: at.toISOString(), ...envelope } : envelope)}\n`;
  }

  flush(): void {
    const lines = Buffer.from(this.#lines);
    this.#lines = '';
    if (this.#handle < 0 || lines.length === 0) return;
    this.#try(() => {
      for (let at = 0; at < lines.length;) at += writeSync(this.#handle, lines, at);
    });
  }

  close(): void {
    this.flush();
    if (this.#handle < 0) return;
    this.#try(() => fsyncSync(this.#handle));
    if (this.#handle >= 0) closeSync(this.#handle);
    this.#handle = -1;
  }

  #try(work: () => void): void {
    try {
      work();
    } catch (error) {
      // A device has nothing to sync.
      if ((error as NodeJS.ErrnoException).code === 'EINVAL') return;
      if (this.#handle >= 0) closeSync(this.#handle);
      this.#handle = -1;
      this.#warn(`events.jsonl could not be written (${(error as NodeJS.ErrnoException).code ?? 'unknown error'}).`);
    }
  }
}

/** The number of the last whole envelope; an unfinished line behind it is cut off. */
function lastEnvelope(file: string): number {
  try {
    if (!statSync(file).isFile()) return 0;
    const bytes = readFileSync(file);
    const end = bytes.lastIndexOf(0x0a) + 1;
    if (end < bytes.length) truncateSync(file, end);
    if (end === 0) return 0;
    const line = bytes.subarray(bytes.lastIndexOf(0x0a, end - 2) + 1, end).toString();
    const { n } = JSON.parse(line) as { n?: unknown };
    return typeof n === 'number' ? n : 0;
  } catch {
    return 0;
  }
}

/** checkpoint.md, whole at any moment. A disk that fails is told once, and ends nothing. */
export class Checkpoint {
  readonly #file: string;
  readonly #warn: Warn;
  #written: string | undefined;
  #failed = false;

  constructor(runDir: string, warn: Warn) {
    this.#file = path.join(runDir, checkpointFile);
    this.#warn = warn;
  }

  /** `text`: redacted. */
  async write(text: string): Promise<void> {
    if (text === this.#written) return;
    try {
      await writeWhole(this.#file, text);
      this.#written = text;
    } catch (error) {
      if (!(error instanceof ArtifactError)) throw error;
      if (!this.#failed) this.#warn(`checkpoint.md could not be written: ${error.message}`);
      this.#failed = true;
    }
  }
}
