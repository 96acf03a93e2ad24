// What meets a turn at the worst moment: a stop while its worker dies, an engine that is away, clocks that differ.

import { once } from 'node:events';
import { NativeConnection } from '@temporalio/worker';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { cancelTurn, sendMessage } from '../../planner/conversation.ts';
import { engineClient, startTurn } from '../../planner/engine.ts';
import { LiveCalls } from '../../planner/live-calls.ts';
import { Visibility } from '../../planner/visibility.ts';
import { transaction } from '../../store/database.ts';
import { listen } from '../../store/listener.ts';
import { appendMessage, openCall, takeFence } from '../../store/turns.ts';
import { startDispatcher } from '../../worker/dispatcher.ts';
import { ada, brief, startTestPlanner, until, type TestPlanner } from '../support/planner.ts';
import { startProxy, type Proxy } from '../support/proxy.ts';
import { fails, says, type Reply } from '../support/scripted-model.ts';

let planner: TestPlanner;
let session: string;
const proxies: Proxy[] = [];
beforeEach(async () => {
  planner = await startTestPlanner();
  session = await planner.session();
});
afterEach(async () => {
  for (const proxy of proxies) proxy.resume();
  await planner.close();
  for (const proxy of proxies.splice(0)) await proxy.close();
});

const stallsOnce = (_: unknown, n: number): Reply =>
  n === 0 ? [{ text: 'The first half' }, { hang: true }] : says('The whole answer.');
const streams = (): Promise<unknown> =>
  planner.seen(session, (outputs) => outputs.some((output) => output.body.type === 'text'), 20_000);

/** Temporal behind a network that the test can stall. */
async function temporalProxy(): Promise<Proxy> {
  const proxy = await startProxy(Number(planner.temporal.address.split(':')[1]));
  proxies.push(proxy);
  return proxy;
}

describe('a stop', () => {
  // The turn's end in the database is put off, so that only the workflow's own way remains.
  const patient = { intervals: { cancel: 500, force: 60_000 } };

  test('while the worker that answers is killed ends the turn as cancelled', async () => {
    planner.model.play(stallsOnce);
    const first = await planner.spawnWorker();
    const turn = await planner.send(session, 'go');
    await streams();
    first.kill('SIGSTOP');
    await planner.cancel(session);
    await new Promise((resolve) => setTimeout(resolve, 300));
    first.kill('SIGKILL');
    await once(first, 'exit');
    await planner.startWorker(patient);
    expect(await planner.ended(turn, 25_000)).toMatchObject({ reason: 'cancelled' });
    expect(brief(await planner.outputs(session)).at(-1)).toBe('done cancelled');
  });

  test('by an operator while the worker that answers is killed reaches the next one', async () => {
    planner.model.play((_, n) => (n === 0 ? [{ text: 'Half' }, { hang: true }] : [{ text: 'Again' }, { hang: true }]));
    const first = await planner.spawnWorker();
    const turn = await planner.send(session, 'go');
    await streams();
    first.kill('SIGSTOP');
    await planner.client.workflow.getHandle(`planner-turn-${turn}`).cancel();
    first.kill('SIGKILL');
    await once(first, 'exit');
    await planner.startWorker(patient);
    expect(await planner.ended(turn, 25_000)).toMatchObject({ reason: 'cancelled' });
  });

  test('while the worker that answers is shut down is no failure', async () => {
    planner.model.play(() => [{ text: 'Half' }, { hang: true }]);
    const first = await planner.startWorker({ shutdownGraceMs: 50 });
    const turn = await planner.send(session, 'go');
    await streams();
    await planner.startWorker(patient);
    const handle = planner.client.workflow.getHandle(`planner-turn-${turn}`);
    await handle.signal('cancel', { by: 'ada' });
    await first.close();
    expect(await planner.ended(turn, 20_000)).toMatchObject({ reason: 'cancelled' });
  });

  test('while the provider is waited for, as it asked, ends the turn at once', async () => {
    planner.model.play(() => fails(429, 'slow down', { 'retry-after': '120' }));
    await planner.startWorker();
    const turn = await planner.send(session, 'go');
    await planner.seen(session, (outputs) => outputs.some((output) => output.body.type === 'retrying'));
    await planner.cancel(session);
    const flagged = Date.now();
    expect(await planner.ended(turn)).toMatchObject({ reason: 'cancelled' });
    expect(Date.now() - flagged).toBeLessThan(3_000);
    expect(planner.model.requests.length).toBe(1);
  });

  test('while the engine is out of reach ends every flagged turn in the database in time', async () => {
    const proxy = await temporalProxy();
    const connection = await NativeConnection.connect({ address: `127.0.0.1:${proxy.port}` });
    const listener = await listen(planner.url);
    planner.model.play(() => [{ text: 'Once' }, { hang: true }]);
    const first = await planner.spawnWorker();
    const sessions = await Promise.all([1, 2, 3].map(() => planner.session()));
    const turns = await Promise.all(sessions.map((each) => planner.send(each, 'go')));
    for (const turn of turns) await until('the start', async () => (await planner.turn(turn)).status === 'active');
    first.kill('SIGSTOP');
    proxy.stall();
    const dispatcher = startDispatcher({
      database: planner.database,
      listener,
      client: engineClient(connection, planner.temporal.namespace),
      liveCalls: new LiveCalls(),
      visibility: new Visibility({ warn: () => undefined }),
      warn: () => undefined,
      intervals: { cancel: 200, force: 1_000 },
    });
    await Promise.all(sessions.map((each) => cancelTurn(planner.database, ada, { session: each })));
    const flagged = Date.now();
    for (const turn of turns) expect(await planner.ended(turn, 10_000)).toMatchObject({ reason: 'cancelled' });
    expect(Date.now() - flagged).toBeLessThan(3_000);
    const closing = Date.now();
    await dispatcher.close();
    expect(Date.now() - closing).toBeLessThan(12_000);
    await listener.close();
    proxy.resume();
    await connection.close();
  });
});

describe('the fence', () => {
  test('an engine whose clock is behind delays a turn, and does not end it', async () => {
    planner.model.play(() => says('Late, and well.'));
    const { turn } = await sendMessage(planner.database, ada, { session, text: 'go' });
    const ahead = Date.now() + 3_000;
    await transaction(planner.database, (tx) =>
      takeFence(tx, turn, { scheduledMs: ahead, round: 0, rank: 0, attempt: 1, runId: 'another' }),
    );
    await startTurn(planner.client, { session, turn });
    await planner.startWorker();
    expect(await planner.ended(turn, 20_000)).toMatchObject({ reason: 'end_turn' });
    expect(Date.now()).toBeGreaterThan(ahead);
  });
});

describe('a round', () => {
  test('whose answer was cut short by a stop, and that the engine asks for again, is still cancelled', async () => {
    planner.model.play(() => says('never'));
    const { turn } = await sendMessage(planner.database, ada, { session, text: 'go' });
    await transaction(planner.database, async (tx) => {
      const row = await takeFence(tx, turn, { scheduledMs: 1, round: 0, rank: 0, attempt: 1, runId: 'forgotten' });
      await openCall(tx, row, 0);
      const half = { type: 'text' as const, text: 'Half' };
      await appendMessage(tx, row, { role: 'assistant', round: 0, stop_reason: 'cancelled', blocks: [half] });
    });
    await startTurn(planner.client, { session, turn });
    await planner.startWorker();
    expect(await planner.ended(turn)).toMatchObject({ reason: 'cancelled' });
    expect(planner.model.requests).toEqual([]);
  });
});

describe('spec: orchestration: nothing that anybody wrote enters the engine', () => {
  /** All that the engine holds of a turn, bytes of payloads decoded. */
  async function held(turn: string): Promise<string> {
    const handle = planner.client.workflow.getHandle(`planner-turn-${turn}`);
    await handle.result().catch(() => undefined);
    const raw = JSON.stringify([await handle.fetchHistory(), await handle.describe()], (_, value: unknown) =>
      value instanceof Uint8Array ? Buffer.from(value).toString() : value,
    );
    expect(raw).toContain('callModel');
    return raw;
  }

  test('not by answers, calls, results, unknown tools, a title', async () => {
    const operations = [{ kind: 'create_item', ref: 'a', create: { kind: 'ticket', title: 'sesame ticket' } }];
    planner.model.play((_, n) =>
      n === 0
        ? [
            { text: 'sesame answer' },
            { call: { id: 'sesame-id', name: 'sesame_tool', input: { sesame: 1 } } },
            { call: { name: 'propose_changeset', input: { title: 'sesame', operations } } },
            { call: { name: 'get_item', input: '{"key": "sesame' } },
          ]
        : says('sesame again'),
    );
    await planner.startWorker();
    const turn = await planner.send(session, 'sesame question');
    expect(await planner.ended(turn)).toMatchObject({ reason: 'end_turn' });
    expect(await held(turn)).not.toMatch(/sesame/i);
  });

  test('not by the words of a provider that fails, first to be tried again, then for good', async () => {
    planner.model.play((_, n) => fails(n === 0 ? 503 : 400, 'sesame is not open'));
    await planner.startWorker();
    const turn = await planner.send(session, 'sesame question');
    expect(await planner.ended(turn)).toMatchObject({ reason: 'error' });
    expect(brief(await planner.outputs(session)).join()).toMatch(/sesame/);
    expect(await held(turn)).not.toMatch(/sesame/i);
  });

  test('not by a stop in mid-answer', async () => {
    planner.model.play(() => [{ text: 'sesame half' }, { hang: true }]);
    await planner.startWorker();
    const turn = await planner.send(session, 'sesame question');
    await streams();
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    const { pendingActivities } = (await planner.client.workflow.getHandle(`planner-turn-${turn}`).describe()).raw;
    const { payloads } = pendingActivities![0]!.heartbeatDetails!;
    const details = payloads!.map((payload) => Buffer.from(payload.data!).toString());
    expect(details).toEqual([JSON.stringify({ phase: 'streaming', round: 0, characters: 11 })]);
    await planner.cancel(session);
    expect(await planner.ended(turn)).toMatchObject({ reason: 'cancelled' });
    expect(await held(turn)).not.toMatch(/sesame/i);
  });
});
