// The model calls that this process holds right now, by turn: where a stop arrives first. (spec: orchestration "Cancel")

/** Why a call in flight was aborted by this process. */
export type AbortReason = 'cancel' | 'lost';

export class LiveCalls {
  readonly #calls = new Map<string, Set<AbortController>>();

  /** A signal that is aborted with 'cancel' when a stop of the turn is heard; call `close` when the call is over. */
  open(turn: string): { controller: AbortController; close(): void } {
    const controller = new AbortController();
    const set = this.#calls.get(turn) ?? new Set();
    this.#calls.set(turn, set.add(controller));
    return {
      controller,
      close: () => {
        set.delete(controller);
        if (set.size === 0 && this.#calls.get(turn) === set) this.#calls.delete(turn);
      },
    };
  }

  cancel(turn: string): void {
    for (const controller of this.#calls.get(turn) ?? []) controller.abort('cancel' satisfies AbortReason);
  }

  get turns(): string[] {
    return [...this.#calls.keys()];
  }
}
