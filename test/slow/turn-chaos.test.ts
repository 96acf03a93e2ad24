// Turns while workers are killed, stopped and shut down, PostgreSQL drops connections, Temporal is cut off: at random
// times of a seeded clock. CHAOS_SEED and CHAOS_SECONDS (40) change a run.

import { once } from 'node:events';
import type { ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { textOf, toolUses, type Message } from '../../domain/transcript.ts';
import type { StoredOutput } from '../../domain/output.ts';
import { asksForSummary } from '../support/long-session.ts';
import { startTestPlanner, until, type TestPlanner } from '../support/planner.ts';
import { startProxy, type Proxy } from '../support/proxy.ts';
import type { Reply, ScriptedRequest } from '../support/scripted-model.ts';

const seed = Number(process.env['CHAOS_SEED'] ?? 20_261_130);
const seconds = Number(process.env['CHAOS_SECONDS'] ?? 40);
const sessionCount = 10;
const rounds = 3;

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

/** mulberry32: the same numbers for the same seed. */
function random(from: number): () => number {
  let state = from;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** What the human asked for: the whole script of the turn follows from it and from how far the turn has come. */
const message = (session: number, n: number): string => `turn ${session}-${n}`;

function reply(request: ScriptedRequest): Reply {
  if (asksForSummary(request)) return [{ words: 'a summary in which nothing of the talk is left out', delayMs: 40 }];
  const messages = request.messages as { role: string; content: unknown }[];
  const last = messages.findLastIndex((each) => each.role === 'user');
  const name = String(messages[last]!.content).match(/turn \d+-\d+/g)!.at(-1)!;
  const round = messages.slice(last).filter((each) => each.role === 'assistant').length;
  const words = { words: `${name} round ${round}: ` + 'one two three four five six seven eight nine ten', delayMs: 40 };
  // The next turn begins with a compaction.
  if (round === rounds) return [{ usage: { input: 150_000, output: 20 } }, words];
  const operations = [{ kind: 'create_item', ref: 'a', create: { kind: 'ticket', title: name } }];
  return [
    words,
    { call: { id: `list-${round}`, name: 'list_items', input: {} } },
    { call: { id: `run-${round}`, name: 'list_runnable', input: {} } },
    { call: { id: `propose-${round}`, name: 'propose_changeset', input: { title: `${name} #${round}`, operations } } },
    { call: { id: `again-${round}`, name: 'list_changesets', input: {} } },
  ];
}

/** Three workers that die, sleep and come back until told to stop. */
class Herd {
  readonly #workers: ChildProcess[] = [];
  readonly log: string[] = [];
  readonly #pick: () => number;
  constructor(pick: () => number) {
    this.#pick = pick;
  }

  async fill(): Promise<void> {
    const gone = this.#workers.filter((worker) => worker.exitCode === null && worker.signalCode === null);
    this.#workers.splice(0, Infinity, ...gone);
    const missing = 3 - this.#workers.length;
    this.#workers.push(...(await Promise.all(Array.from({ length: missing }, () => planner.spawnWorker()))));
  }

  async strike(): Promise<void> {
    const victim = this.#workers[Math.floor(this.#pick() * this.#workers.length)]!;
    const kind = this.#pick();
    if (kind < 0.35) {
      this.log.push('kill');
      victim.kill('SIGKILL');
      await once(victim, 'exit');
    } else if (kind < 0.6) {
      this.log.push('stop and continue');
      victim.kill('SIGSTOP');
      void sleep(1_000 + this.#pick() * 19_000).then(() => victim.kill('SIGCONT'));
    } else if (kind < 0.75) {
      this.log.push('shut down');
      victim.kill('SIGTERM');
      await sleep(1_000);
    } else {
      this.log.push('database');
      await planner.database
        .query(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
           WHERE datname = current_database() AND pid <> pg_backend_pid() AND random() < 0.6`,
        )
        .catch(() => undefined);
    }
    await this.fill();
  }
}

const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);

/** Everything that a stored session promises, whatever happened meanwhile. */
function expectWhole(messages: Message[], outputs: StoredOutput[], turns: string[]): void {
  expect(messages.map((each) => each.seq)).toEqual(numbers(messages.length));
  expect(outputs.map((each) => each.output)).toEqual(numbers(outputs.length));
  for (const [index, each] of messages.entries()) {
    const asked = toolUses(each.blocks).map((call) => call.tool_use_id);
    if (asked.length === 0) continue;
    const answered = messages[index + 1]!.blocks.filter((block) => block.type === 'tool_result');
    expect(answered.map((result) => result.tool_use_id)).toEqual(asked);
  }
  const told = outputs.flatMap(({ body }) => (body.type === 'message' ? [body.seq] : []));
  expect(told).toEqual(numbers(messages.length));
  expect(outputs.filter(({ body }) => body.type === 'done').map((each) => each.turn)).toEqual(turns);
  // Nothing of a turn comes after its end, and turns don't mix.
  const order = outputs.map((each) => turns.indexOf(each.turn));
  expect(order).toEqual(order.toSorted((a, b) => a - b));
  expectShown(messages, outputs);
}

/** What a watcher has on the screen at each assistant message is that message's text. */
function expectShown(messages: Message[], outputs: StoredOutput[]): void {
  const bySeq = new Map(messages.map((each) => [each.seq, each]));
  let shown = '';
  let attempt = 0;
  for (const output of outputs) {
    if (output.body.type === 'text' || output.body.type === 'retrying') {
      if (output.attempt !== attempt) shown = '';
      attempt = output.attempt;
      if (output.body.type === 'text') shown = output.body.replace ? output.body.text : shown + output.body.text;
    } else if (output.body.type === 'message') {
      const stored = bySeq.get(output.body.seq)!;
      if (stored.role === 'assistant') expect(shown).toBe(textOf(stored.blocks));
      shown = '';
      attempt = 0;
    }
  }
}

/** Each turn but the first begins with at most one compaction: of all that came before it, told once, with one event. */
async function expectCompactions(session: string, messages: Message[], outputs: StoredOutput[]): Promise<number> {
  const told = outputs.flatMap(({ turn, body }) => (body.type === 'compacted' ? [{ turn, upTo: body.up_to }] : []));
  for (const { turn, upTo } of told) {
    expect(messages[upTo]).toMatchObject({ turn, author: 'ada' });
  }
  expect(new Set(told.map(({ turn }) => turn)).size).toBe(told.length);
  const events = await planner.database.query<{ up_to: number }>(
    `SELECT (payload ->> 'up_to')::int AS up_to FROM events WHERE entity_id = $1 AND type = 'planner.compacted' ORDER BY seq`,
    [session],
  );
  expect(events.map((event) => event.up_to)).toEqual(told.map(({ upTo }) => upTo));
  return told.length;
}

async function expectEveryChangesetOnce(turns: number): Promise<void> {
  const rows = await planner.database.query<{ title: string; count: number }>(
    'SELECT title, count(*)::int AS count FROM changesets GROUP BY title',
  );
  expect(rows.filter((row) => row.count !== 1)).toEqual([]);
  expect(rows.length).toBe(turns * rounds);
  const events = await planner.database.query<{ seq: number; type: string }>(
    'SELECT seq, type FROM events WHERE project_id IS NOT NULL ORDER BY seq',
  );
  expect(events.map((event) => event.seq)).toEqual(numbers(events.length));
  const count = (type: string): number => events.filter((event) => event.type === type).length;
  expect(count('changeset.proposed')).toBe(turns * rounds);
  expect(count('planner.turn_started')).toBe(turns);
  expect(count('planner.turn_ended')).toBe(turns);
}

/** Ten people talk while the herd is struck; returns the turns of each session. `stops`: the share of turns stopped. */
async function talkUnderStrikes(sessions: string[], pick: () => number, stops: number): Promise<string[][]> {
  const herd = new Herd(pick);
  planner.model.play(reply);
  await herd.fill();
  const turns = sessions.map((): string[] => []);
  const deadline = Date.now() + seconds * 1_000;

  const talk = async (index: number): Promise<void> => {
    for (let n = 1; n <= 3 || Date.now() < deadline; n++) {
      const id = `m-${index}-${n}`;
      const session = sessions[index]!;
      // The database drops this process's connections too: a repeat of message_id finds the first.
      const turn = await until('the message to be sent', async () =>
        planner.send(session, message(index, n), id).catch(() => undefined),
      );
      turns[index]!.push(turn);
      if (pick() < stops) {
        await sleep(pick() * 5_000);
        await until('the stop', async () => planner.cancel(session, turn).then(() => true, () => false));
      }
      await until(
        `the end of turn ${turn}`,
        async () => (await planner.turn(turn).catch(() => undefined))?.status === 'ended',
        240_000,
      );
      await sleep(pick() * 3_000);
    }
  };
  const talks = Promise.all(sessions.map((_, index) => talk(index)));
  let talking = true;
  void talks.finally(() => (talking = false)).catch(() => undefined);
  while (talking && Date.now() < deadline) {
    await Promise.race([sleep(200 + pick() * 1_500), talks.catch(() => undefined)]);
    if (talking) await herd.strike();
  }
  await talks;
  console.log(`seed ${seed}: ${turns.flat().length} turns, ${herd.log.length} strikes: ${herd.log.join(', ')}`);
  expect(herd.log.length).toBeGreaterThan(seconds / 15);
  return turns;
}

async function expectWorkflowsEnded(turns: string[]): Promise<void> {
  for (const turn of turns) {
    await until('the workflow to end', async () => {
      const { name } = (await planner.client.workflow.getHandle(`planner-turn-${turn}`).describe()).status;
      return name !== 'RUNNING';
    }, 30_000);
  }
}

test('killed, stopped and shut-down workers, a database that drops connections: turns end once, whole', async () => {
  const sessions = await Promise.all(numbers(sessionCount).map(() => planner.session()));
  const turns = await talkUnderStrikes(sessions, random(seed), 0);
  let compactions = 0;
  for (const [index, session] of sessions.entries()) {
    for (const turn of turns[index]!) {
      expect(await planner.turn(turn)).toMatchObject({ status: 'ended', reason: 'end_turn', rounds: rounds + 1 });
    }
    const messages = await planner.transcript(session);
    expect(messages.length).toBe(turns[index]!.length * (2 + 2 * rounds));
    const outputs = await planner.outputs(session);
    expectWhole(messages, outputs, turns[index]!);
    compactions += await expectCompactions(session, messages, outputs);
  }
  expect(compactions).toBeGreaterThan(sessions.length);
  await expectEveryChangesetOnce(turns.flat().length);
  await expectWorkflowsEnded(turns.flat());
}, 420_000);

test('the same with people who stop turns: each is cancelled or had ended, no call is unanswered', async () => {
  const sessions = await Promise.all(numbers(sessionCount).map(() => planner.session()));
  const turns = await talkUnderStrikes(sessions, random(seed + 1), 0.6);
  const reasons = new Map<string, number>();
  for (const [index, session] of sessions.entries()) {
    for (const turn of turns[index]!) {
      const { reason } = await planner.turn(turn);
      reasons.set(reason!, (reasons.get(reason!) ?? 0) + 1);
    }
    const messages = await planner.transcript(session);
    const outputs = await planner.outputs(session);
    expectWhole(messages, outputs, turns[index]!);
    await expectCompactions(session, messages, outputs);
  }
  expect([...reasons.keys()].sort()).toEqual(['cancelled', 'end_turn']);
  const twice = await planner.database.query('SELECT title FROM changesets GROUP BY title HAVING count(*) > 1');
  expect(twice).toEqual([]);
  await expectWorkflowsEnded(turns.flat());
}, 420_000);

test('two workers cut off from Temporal while PostgreSQL is in reach: a third goes on, no zombie writes', async () => {
  planner.model.play(reply);
  const temporal = await startProxy(Number(planner.temporal.address.split(':')[1]));
  proxies.push(temporal);
  const cutOff = { TEMPORAL_ADDRESS: `127.0.0.1:${temporal.port}` };
  await Promise.all([planner.spawnWorker(cutOff), planner.spawnWorker(cutOff)]);
  const sessions = await Promise.all(numbers(12).map(() => planner.session()));
  const turns = await Promise.all(sessions.map((session, index) => planner.send(session, message(index, 1))));
  await until('text of every turn', async () => {
    const all = await Promise.all(sessions.map((session) => planner.outputs(session)));
    return all.every((outputs) => outputs.some(({ body }) => body.type === 'text'));
  });
  temporal.stall();
  await planner.spawnWorker();
  await Promise.all(turns.map((turn) => planner.ended(turn, 90_000)));
  temporal.resume();
  const stored = await Promise.all(
    sessions.map(async (id) => [await planner.transcript(id), await planner.outputs(id)] as const),
  );
  await sleep(5_000);
  for (const [index, session] of sessions.entries()) {
    const [messages, outputs] = stored[index]!;
    expect(await planner.turn(turns[index]!)).toMatchObject({ reason: 'end_turn', rounds: rounds + 1 });
    expect(await planner.outputs(session)).toEqual(outputs);
    expect(await planner.transcript(session)).toEqual(messages);
    expectWhole(messages, outputs, [turns[index]!]);
  }
  await expectEveryChangesetOnce(sessions.length);
}, 180_000);

/** A worker whose ways to Temporal and to PostgreSQL the test can stall. */
async function workerBehindProxies(): Promise<{ temporal: Proxy; postgres: Proxy }> {
  const temporal = await startProxy(Number(planner.temporal.address.split(':')[1]));
  const url = new URL(planner.url);
  const postgres = await startProxy(Number(url.port));
  proxies.push(temporal, postgres);
  url.port = String(postgres.port);
  await planner.spawnWorker({ TEMPORAL_ADDRESS: `127.0.0.1:${temporal.port}`, DATABASE_URL: url.href });
  return { temporal, postgres };
}

const hasText = (outputs: StoredOutput[]): boolean => outputs.some(({ body }) => body.type === 'text');
const long = { words: Array.from({ length: 60 }, (_, index) => `w${index}`).join(' '), delayMs: 500 };

test('the only worker is cut off from Temporal and back while it still answers: turns end once, whole', async () => {
  planner.model.play((_, n) => (n < 2 ? [long] : [{ words: 'The whole answer.' }]));
  const { temporal } = await workerBehindProxies();
  const [one, other] = [await planner.session(), await planner.session()];
  const turns = [await planner.send(one, 'go'), await planner.send(other, 'go')];
  for (const session of [one, other]) await planner.seen(session, hasText);
  temporal.stall();
  await sleep(14_000);
  temporal.resume();
  for (const [index, session] of [one, other].entries()) {
    expect(await planner.ended(turns[index]!, 90_000)).toMatchObject({ reason: 'end_turn', rounds: 1 });
    expectWhole(await planner.transcript(session), await planner.outputs(session), [turns[index]!]);
  }
});

test('PostgreSQL falls silent in mid-answer for longer than a commit is tried: the turn ends once, whole', async () => {
  planner.model.play(() => [{ ...long, delayMs: 100 }]);
  const { postgres } = await workerBehindProxies();
  const session = await planner.session();
  const turn = await planner.send(session, 'go');
  await planner.seen(session, hasText);
  postgres.stall();
  await sleep(50_000);
  postgres.resume();
  expect(await planner.ended(turn, 90_000)).toMatchObject({ reason: 'end_turn', rounds: 1 });
  expectWhole(await planner.transcript(session), await planner.outputs(session), [turn]);
});
