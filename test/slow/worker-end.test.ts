// A worker process ends when it is told to, whatever does not answer.

import { once } from 'node:events';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startTestPlanner, type TestPlanner } from '../support/planner.ts';
import { startProxy, type Proxy } from '../support/proxy.ts';
import { says, type Reply } from '../support/scripted-model.ts';

let planner: TestPlanner;
const proxies: Proxy[] = [];
beforeEach(async () => {
  planner = await startTestPlanner();
});
afterEach(async () => {
  for (const proxy of proxies) proxy.resume();
  await planner.close();
  for (const proxy of proxies.splice(0)) await proxy.close();
});

async function proxied(address: URL): Promise<{ proxy: Proxy; url: URL }> {
  const proxy = await startProxy(Number(address.port));
  proxies.push(proxy);
  const url = new URL(address);
  url.port = String(proxy.port);
  return { proxy, url };
}

const stallsOnce = (_: unknown, n: number): Reply =>
  n === 0 ? [{ text: 'The first half' }, { hang: true }] : says('The whole answer.');

test('in mid-answer, Temporal and PostgreSQL silent, it is gone within 40 s, the turn goes on elsewhere', async () => {
  const temporal = await proxied(new URL(`http://${planner.temporal.address}`));
  const postgres = await proxied(new URL(planner.url));
  planner.model.play(stallsOnce);
  const worker = await planner.spawnWorker({ TEMPORAL_ADDRESS: temporal.url.host, DATABASE_URL: postgres.url.href });
  const session = await planner.session();
  const turn = await planner.send(session, 'go');
  await planner.seen(session, (outputs) => outputs.some((output) => output.body.type === 'text'));
  temporal.proxy.stall();
  postgres.proxy.stall();
  worker.kill('SIGTERM');
  const begun = Date.now();
  await planner.spawnWorker();
  await once(worker, 'exit');
  expect(Date.now() - begun).toBeLessThan(40_000);
  expect(await planner.ended(turn, 20_000)).toMatchObject({ reason: 'end_turn' });
});

test('an idle worker is gone within 5 s', async () => {
  const worker = await planner.spawnWorker();
  worker.kill('SIGTERM');
  const begun = Date.now();
  const [code] = (await once(worker, 'exit')) as [number];
  expect(code).toBe(0);
  expect(Date.now() - begun).toBeLessThan(5_000);
});
