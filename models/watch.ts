// Watches over one model call: the caller's abort, the whole call's time limit, a provider's silence.

import type { ModelRequest, ModelSettings } from './types.ts';
import type { ModelError } from './errors.ts';
import { modelError } from './provider-error.ts';

/** One call's clock. Whatever ends the call early, `signal` aborts and the provider's connection is closed at once. */
export class CallWatch {
  readonly #controller = new AbortController();
  readonly #settings: ModelSettings;
  readonly #request: ModelRequest;
  readonly #abort = (): void => this.#controller.abort(this.#request.signal.reason);
  readonly #total: NodeJS.Timeout;
  #silence: NodeJS.Timeout;
  /** Why the clock ended the call. */
  expired: ModelError | undefined;
  /** The clock ended it when the answer was whole already. */
  finished = false;
  #finishing = false;

  constructor(request: ModelRequest, settings: ModelSettings) {
    this.#request = request;
    this.#settings = settings;
    request.signal.addEventListener('abort', this.#abort, { once: true });
    this.#total = setTimeout(() => this.#expire('timeout'), settings.callTimeoutMs);
    this.#silence = setTimeout(() => this.#expire('silent_stream'), settings.silentStreamMs);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Something has arrived. */
  alive(): void {
    if (this.signal.aborted) return;
    if (!this.#finishing) this.#silence.refresh();
    this.#request.onProgress?.();
  }

  /** The answer is whole: what may still follow is waited for so long, milliseconds. */
  finishing(limitMs: number): void {
    if (this.signal.aborted) return;
    this.#finishing = true;
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => this.#expire('silent_stream'), Math.min(limitMs, this.#settings.silentStreamMs));
  }

  /** Ends the watch and, if it is still open, the connection. */
  end(): void {
    clearTimeout(this.#total);
    clearTimeout(this.#silence);
    this.#request.signal.removeEventListener('abort', this.#abort);
    this.#controller.abort();
  }

  #expire(errorClass: 'timeout' | 'silent_stream'): void {
    if (this.#finishing) this.finished = true;
    else this.expired ??= modelError(errorClass, this.#settings);
    this.#controller.abort(this.expired ?? new DOMException('the answer is whole', 'AbortError'));
  }
}
