// When a detached stack ends: nobody has used it for a while (spec: bounded-claude 1, "ends itself").

import { afterEach, expect, test } from 'vitest';
import { untilIdle, type Use } from '../cli/stack/idle.ts';

const ends: (() => void)[] = [];
afterEach(() => ends.splice(0).forEach((end) => end()));

/** A stack that is idle after 200 ms; `use` can be changed while it runs. */
function stack(use: Use | Error = { sockets: 0, requests: 0, open: false }) {
  const log: string[] = [];
  const state = { use, log, endedAt: 0, begunAt: performance.now() };
  const read = async (): Promise<Use> => {
    if (state.use instanceof Error) throw state.use;
    return state.use;
  };
  ends.push(() => (state.use = { sockets: 0, requests: 0, open: false }));
  const ended = untilIdle(200, { read, hide: () => log.push('hidden'), show: () => log.push('shown') }).then(() => {
    state.endedAt = performance.now() - state.begunAt;
  });
  return Object.assign(state, { ended });
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

test('nobody uses it: it is hidden first, looked at once more, and ends', async () => {
  const idle = stack();
  await idle.ended;
  expect(idle.endedAt).toBeGreaterThan(200);
  expect(idle.log).toEqual(['hidden']);
});

test.each([
  ['an open socket', { sockets: 1, requests: 0, open: false }],
  ['an open turn or run', { sockets: 0, requests: 0, open: true }],
  ['a database that is away for a moment', new Error('away')],
])('%s keeps it, and its time begins when that is gone', async (_, use) => {
  const used = stack(use);
  await pause(500);
  expect(used.log).toEqual([]);
  used.use = { sockets: 0, requests: 0, open: false };
  await used.ended;
  expect(used.endedAt).toBeGreaterThan(690);
});

test('requests keep it, even short ones between two looks', async () => {
  const used = stack();
  for (let requests = 1; requests <= 5; requests++) {
    await pause(100);
    used.use = { sockets: 0, requests, open: false };
  }
  expect(used.log).toEqual([]);
  await used.ended;
  expect(used.endedAt).toBeGreaterThan(690);
});

test('a client that found it just before it was hidden is served: it is shown again', async () => {
  const used = stack();
  const seen = setInterval(() => {
    if (used.log.length === 1) used.use = { sockets: 0, requests: 7, open: true };
  }, 1);
  await pause(600);
  clearInterval(seen);
  expect(used.log.slice(0, 2)).toEqual(['hidden', 'shown']);
  used.use = { sockets: 0, requests: 7, open: false };
  await used.ended;
});
