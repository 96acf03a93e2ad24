// What a turn survives: workers killed, stopped and woken, the engine's memory lost, PostgreSQL restarted.

import { once } from 'node:events';
import pg from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { textOf } from '../../domain/transcript.ts';
import { ada, brief, startTestPlanner, until, type TestPlanner } from '../support/planner.ts';
import { says, type Reply } from '../support/scripted-model.ts';
import { cancelTurn, sendMessage } from '../../planner/conversation.ts';

let planner: TestPlanner;
let session: string;
beforeEach(async () => {
  planner = await startTestPlanner();
  session = await planner.session();
});
afterEach(() => planner.close());

/** The first call stalls after some text, later ones answer. */
const stallsOnce = (_: unknown, n: number): Reply =>
  n === 0 ? [{ text: 'The first half' }, { hang: true }] : says('The whole answer.');

const streams = (): Promise<unknown> =>
  planner.seen(session, (outputs) => outputs.some((output) => output.body.type === 'text'), 20_000);

test('a worker killed in mid-answer: another one ends the turn once, whole, within 20 s', async () => {
  planner.model.play(stallsOnce);
  const first = await planner.spawnWorker();
  const turn = await planner.send(session, 'go');
  await streams();
  await planner.startWorker();
  const killed = Date.now();
  first.kill('SIGKILL');
  expect(await planner.ended(turn, 20_000)).toMatchObject({ reason: 'end_turn', rounds: 1 });
  expect(Date.now() - killed).toBeLessThan(20_000);
  const outputs = await planner.outputs(session);
  expect(brief(outputs)).toEqual([
    'message 1',
    'text The first half',
    'retrying worker lost',
    'text The whole answer.',
    'message 2',
    'done end_turn',
  ]);
  expect(outputs.map((output) => output.output)).toEqual(outputs.map((_, index) => index + 1));
  expect((await planner.transcript(session)).length).toBe(2);
});

test('a worker stopped in mid-answer and woken after the turn has ended elsewhere: nothing of it gets in', async () => {
  let wake: (() => void) | undefined;
  const gate = new Promise<void>((resolve) => (wake = resolve));
  planner.model.play((_, n) =>
    n === 0 ? [{ text: 'zombie begins' }, { gate }, { text: ' and goes on' }] : says('The whole answer.'),
  );
  const zombie = await planner.spawnWorker();
  const turn = await planner.send(session, 'go');
  await streams();
  await planner.startWorker();
  zombie.kill('SIGSTOP');
  expect(await planner.ended(turn, 20_000)).toMatchObject({ reason: 'end_turn', rounds: 1 });
  const before = await planner.outputs(session);
  wake!();
  zombie.kill('SIGCONT');
  await until('the zombie to read its answer', async () => planner.model.requests[0]!.finished || planner.model.requests[0]!.closedAt !== undefined);
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  expect(await planner.outputs(session)).toEqual(before);
  expect((await planner.transcript(session)).length).toBe(2);
  expect(brief(before).at(-1)).toBe('done end_turn');
});

test('a worker that is shut down hands its answer over', async () => {
  planner.model.play(stallsOnce);
  const first = await planner.startWorker({ shutdownGraceMs: 100 });
  const turn = await planner.send(session, 'go');
  await streams();
  await planner.startWorker();
  await first.close();
  expect(await planner.ended(turn)).toMatchObject({ reason: 'end_turn' });
  expect((await planner.transcript(session))[1]).toMatchObject({ blocks: [{ text: 'The whole answer.' }] });
});

test('spec: planner 7.6: a message that was committed is answered although nothing else happened after the commit', async () => {
  const { turn } = await sendMessage(planner.database, ada, { session, text: 'go' });
  await planner.startWorker();
  expect(await planner.ended(turn)).toMatchObject({ reason: 'end_turn' });
});

test('without any notification and without the API a pending turn starts', async () => {
  await planner.startWorker();
  const { database } = planner;
  const silent = { ...database, notifier: { add() {}, flush: async () => undefined, close: async () => undefined } };
  const { turn } = await sendMessage(silent as unknown as typeof database, ada, { session, text: 'go' });
  expect(await planner.ended(turn)).toMatchObject({ reason: 'end_turn' });
});

test('a turn whose workflow the engine has forgotten is started again, and is answered once', async () => {
  planner.model.play(stallsOnce);
  const first = await planner.spawnWorker();
  const turn = await planner.send(session, 'go');
  await streams();
  first.kill('SIGKILL');
  await once(first, 'exit');
  await planner.client.workflowService.deleteWorkflowExecution({
    namespace: planner.temporal.namespace,
    workflowExecution: { workflowId: `planner-turn-${turn}` },
  });
  await planner.startWorker({ intervals: { sweep: 200, stuck: 500 } });
  expect(await planner.ended(turn, 25_000)).toMatchObject({ reason: 'end_turn', rounds: 1 });
  expect((await planner.transcript(session)).length).toBe(2);
});

test('a turn whose workflow was terminated ends with an error, and the session is free', async () => {
  planner.model.play(stallsOnce);
  await planner.startWorker({ intervals: { sweep: 200, stuck: 500 } });
  const turn = await planner.send(session, 'go');
  await streams();
  await planner.client.workflow.getHandle(`planner-turn-${turn}`).terminate('by the test');
  expect(await planner.ended(turn)).toMatchObject({ reason: 'error' });
  expect(brief(await planner.outputs(session)).slice(-2)).toEqual([
    "error The turn's workflow was ended from outside. Send again.",
    'done error',
  ]);
  planner.model.play(() => says('fine'));
  expect(await planner.ended(await planner.send(session, 'again'))).toMatchObject({ reason: 'end_turn' });
});

test('a stop that reaches no worker ends the turn in the database', async () => {
  planner.model.play(stallsOnce);
  const zombie = await planner.spawnWorker();
  const turn = await planner.send(session, 'go');
  await streams();
  zombie.kill('SIGSTOP');
  await cancelTurn(planner.database, ada, { session });
  await planner.startWorker({ intervals: { cancel: 100, force: 400 } });
  expect(await planner.ended(turn, 5_000)).toMatchObject({ reason: 'cancelled' });
  const status = await until('the workflow to end', async () => {
    const { name } = (await planner.client.workflow.getHandle(`planner-turn-${turn}`).describe()).status;
    return name !== 'RUNNING' && name;
  });
  expect(['TERMINATED', 'COMPLETED']).toContain(status);
});

test('a turn whose row somebody has locked holds up no other stop', async () => {
  planner.model.play(() => [{ text: 'Half' }, { hang: true }]);
  const worker = await planner.spawnWorker();
  const other = await planner.session();
  const turns: string[] = [];
  for (const id of [session, other]) {
    turns.push(await planner.send(id, 'go'));
    await planner.seen(id, (outputs) => outputs.some((output) => output.body.type === 'text'), 20_000);
  }
  worker.kill('SIGSTOP');
  for (const id of [session, other]) await cancelTurn(planner.database, ada, { session: id });
  const holder = new pg.Client({ connectionString: planner.url });
  await holder.connect();
  await holder.query('BEGIN');
  await holder.query('SELECT 1 FROM planner_turns WHERE id = $1 FOR UPDATE', [turns[0]]);
  try {
    await planner.startWorker({ intervals: { cancel: 100, force: 400 } });
    expect(await planner.ended(turns[1]!)).toMatchObject({ reason: 'cancelled' });
  } finally {
    await holder.end();
  }
  expect(await planner.ended(turns[0]!)).toMatchObject({ reason: 'cancelled' });
});

test('PostgreSQL drops every connection again and again in mid-answer: it is stored once, and watchers see all of it', async () => {
  const words = Array.from({ length: 40 }, (_, index) => `w${index}`).join(' ');
  planner.model.play(() => [{ words, delayMs: 25 }]);
  await planner.startWorker();
  const turn = await planner.send(session, 'go');
  await streams();
  const killer = new pg.Client({ connectionString: planner.url });
  await killer.connect();
  for (let round = 0; round < 60; round++) {
    await killer.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`,
    );
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  await killer.end();
  expect(await planner.ended(turn)).toMatchObject({ reason: 'end_turn', rounds: 1 });
  expect((await planner.transcript(session)).map((message) => textOf(message.blocks))).toEqual(['go', words]);
  const outputs = await planner.outputs(session);
  expect(outputs.some((output) => output.body.type === 'text' && output.body.replace)).toBe(true);
  expect(brief(outputs.filter((output) => output.attempt === outputs.at(-1)!.attempt))).toContain(`text ${words}`);
});
