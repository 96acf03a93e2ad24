// What a killed worker had paid for is counted, and its metrics endpoint is there while it lives (spec: planner 9.7).

import { once } from 'node:events';
import { createServer } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { sweepUsage } from '../../worker/usage-sweep.ts';
import { startTestPlanner, type TestPlanner } from '../support/planner.ts';
import { says } from '../support/scripted-model.ts';

let planner: TestPlanner;
beforeEach(async () => {
  planner = await startTestPlanner((_, n) => (n === 0 ? [{ text: 'The first half of it' }, { hang: true }] : says('Whole.')));
});
afterEach(() => planner.close());

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

test('spec: planner 9.7: a call whose worker is killed is closed as lost, estimated; its repetition counts beside it', async () => {
  const first = await planner.spawnWorker();
  const session = await planner.session();
  const turn = await planner.send(session, 'go');
  await planner.seen(session, (outputs) => outputs.some(({ body }) => body.type === 'text'));
  first.kill('SIGKILL');
  await once(first, 'exit');
  const port = await freePort();
  await planner.spawnWorker({ PLANNER_METRICS_PORT: String(port) });
  expect(await planner.ended(turn, 60_000)).toMatchObject({ reason: 'end_turn', usage: { input: 100, output: 10 } });
  // A worker's own sweep may have been faster.
  await sweepUsage(planner.database, { closed: () => undefined });
  const rows = await planner.database.query<{ input: number; output: number }>('SELECT * FROM llm_usage ORDER BY opened_at');
  expect(rows).toMatchObject([
    { attempt: 1, status: 'lost', estimated: true, output: 5 },
    { attempt: 2, status: 'ok', estimated: false, input: 100, output: 10 },
  ]);
  expect(rows[0]!.input).toBeGreaterThan(100);
  const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  expect(metrics).toContain('ballet_llm_requests_total{organization="acme",project="WEB",model="scripted",status="ok"} 1');
  expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBe(404);
});
