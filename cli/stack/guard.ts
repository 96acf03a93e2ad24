// Ends the children of a stack that was killed: a shell that waits for its input to close.

import { spawn, type ChildProcess } from 'node:child_process';

// Reads lines "SIGNAL PID SIGNAL PID ...", each replacing the one before; at the end of input sends those of the last.
const script = `
while read -r line; do last=$line; done
set -- $last
while [ $# -gt 1 ]; do kill -s "$1" "$2" 2>/dev/null; shift 2; done`;

export class Guard {
  readonly #shell: ChildProcess;

  constructor() {
    // Its own process group, deaf to the terminal's Ctrl-C: it has to outlive the stack.
    this.#shell = spawn('/bin/sh', ['-c', script], { detached: true, stdio: ['pipe', 'ignore', 'ignore'], env: {} });
    this.#shell.on('error', () => undefined);
    this.#shell.stdin?.on('error', () => undefined);
    this.#shell.unref();
    // Nothing waits for the pipe: it closes with this process, however that ends.
    (this.#shell.stdin as unknown as { unref?(): void } | null)?.unref?.();
  }

  /** Replaces what would be ended, in this order. */
  keep(children: readonly { pid: number; signal: NodeJS.Signals }[]): void {
    const words = children.flatMap(({ pid, signal }) => [signal.replace('SIG', ''), String(pid)]);
    this.#shell.stdin?.write(`${words.join(' ')}\n`);
  }

  close(): void {
    this.keep([]);
    this.#shell.stdin?.end();
  }
}
