// Ctrl-C and SIGTERM while a command waits: what they mean changes once the run is accepted.

import { createInterface } from 'node:readline/promises';

export interface Interrupts {
  /** `ask`: a person at a terminal pressed Ctrl-C; otherwise the command shall leave, with this exit code. */
  on(handler: (what: 'ask' | 'leave', exitCode: number) => void): void;
  close(): void;
}

/** A person can be asked: both ends of the conversation are a terminal. */
export const canAsk = (): boolean => process.stdin.isTTY === true && process.stderr.isTTY === true;

export function catchInterrupts(): Interrupts {
  let handler: Parameters<Interrupts['on']>[0] = (_, exitCode) => {
    process.stderr.write('\nInterrupted: no run was started.\n');
    process.exit(exitCode);
  };
  const onInterrupt = (): void => handler(canAsk() ? 'ask' : 'leave', 130);
  const onTerminate = (): void => handler('leave', 143);
  process.on('SIGINT', onInterrupt);
  process.on('SIGTERM', onTerminate);
  return {
    on: (next) => void (handler = next),
    close() {
      process.off('SIGINT', onInterrupt);
      process.off('SIGTERM', onTerminate);
    },
  };
}

export type Choice = 'stop' | 'leave' | 'go on';

/** Asks what shall become of the run. Ctrl-C again, or the end of the input: leave it. `end` ends the question. */
export function askChoice(end: AbortSignal): Promise<Choice> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr, terminal: true });
  const left = new Promise<Choice>((resolve) => {
    terminal.on('SIGINT', () => resolve('leave'));
    terminal.on('close', () => resolve('leave'));
  });
  const ended = new Promise<Choice>((resolve) => end.addEventListener('abort', () => resolve('go on'), { once: true }));
  const asked = async (): Promise<Choice> => {
    for (;;) {
      const answer = await terminal.question('Stop the run [s], leave it running [l], or go on watching [g]? ');
      const choice = choices[answer.trim().toLowerCase().slice(0, 1)];
      if (choice) return choice;
    }
  };
  return Promise.race([asked(), left, ended]).finally(() => {
    terminal.removeAllListeners('close');
    terminal.close();
    process.stdin.pause();
  });
}

const choices: Readonly<Record<string, Choice>> = { s: 'stop', l: 'leave', g: 'go on' };
