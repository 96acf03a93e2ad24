// Turns that call tools: effects exactly once, order, rights, limits, what a stored transcript never lacks.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { textOf, toolUses, type Message, type ToolResultBlock } from '../domain/transcript.ts';
import { sendMessage } from '../planner/conversation.ts';
import { toolCall } from '../planner/tool-call.ts';
import { transaction } from '../store/database.ts';
import { authenticate, createToken, revokeToken } from '../store/tokens.ts';
import { brief, startTestPlanner, until, type TestPlanner } from './support/planner.ts';
import { calls, fails, inTurn, says, type Reply, type Script } from './support/scripted-model.ts';

let planner: TestPlanner;
let session: string;
beforeAll(async () => {
  planner = await startTestPlanner();
  await planner.startWorker({ maxRounds: 3 });
});
afterAll(() => planner.close());
beforeEach(async () => {
  session = await planner.session();
});

const ticket = (ref: string, title = ref): object => ({ kind: 'create_item', ref, create: { kind: 'ticket', title } });
const propose = (title: string): Record<string, unknown> => ({ title, operations: [ticket('a', 'A ticket')] });

/** Plays the replies in turn from the next request on. */
function play(...replies: Reply[]): void {
  const before = planner.model.requests.length;
  const script: Script = inTurn(...replies);
  planner.model.play((request, n) => script(request, n - before));
}

async function go(...replies: Reply[]): Promise<{ turn: string; lines: string[]; messages: Message[] }> {
  play(...replies);
  const turn = await planner.send(session, 'go');
  await planner.ended(turn);
  return { turn, lines: brief(await planner.outputs(session)), messages: await planner.transcript(session) };
}

const results = (messages: Message[]): ToolResultBlock[] =>
  messages.flatMap((message) => message.blocks.filter((block) => block.type === 'tool_result'));

const changesets = async (): Promise<number> =>
  Number((await planner.database.query<{ count: number }>('SELECT count(*) FROM changesets'))[0]!.count);

describe('a turn with tools', () => {
  test('spec: planner 7.8: stores the answer, runs its calls, seals their results, calls again', async () => {
    const { lines, messages } = await go(
      [{ text: 'Let me look.' }, { call: { name: 'list_items', input: {} } }],
      calls('propose_changeset', propose('One')),
      says('Review it.'),
    );
    expect(lines).toEqual([
      'message 1',
      'text Let me look.',
      'message 2',
      'tool_call list_items',
      'tool_result list_items ok',
      'message 3',
      'message 4',
      'tool_call propose_changeset',
      'tool_result propose_changeset ok',
      'message 5',
      'text Review it.',
      'message 6',
      'done end_turn',
    ]);
    expect(messages.map((message) => [message.role, message.stop_reason])).toEqual([
      ['user', undefined],
      ['assistant', 'tool_use'],
      ['user', undefined],
      ['assistant', 'tool_use'],
      ['user', undefined],
      ['assistant', 'end_turn'],
    ]);
    expect(messages[2]!.author).toBeUndefined();
  });

  test('spec: orchestration: a step costs less than 2 kB of history, however large its texts are', async () => {
    const { turn } = await go(
      calls('list_items', {}),
      calls('propose_changeset', { ...propose('Long'), summary: 'x'.repeat(40_000) }),
      calls('list_items', {}),
      [{ text: 'y'.repeat(100_000) }],
    );
    const handle = planner.client.workflow.getHandle(`planner-turn-${turn}`);
    await handle.result();
    const { historySize } = await handle.describe();
    expect(historySize).toBeGreaterThan(1_000);
    expect(historySize! / 7).toBeLessThan(2_048);
  });

  test('spec: planner 5.15, 6.12: the changeset is proposed by the planner for the human, and nothing else changes', async () => {
    await go(calls('propose_changeset', propose('Mine')), says('Done.'));
    const [row] = await planner.database.query<{ proposed_by: unknown }>(
      `SELECT proposed_by FROM changesets ORDER BY created_at DESC LIMIT 1`,
    );
    expect(row!.proposed_by).toEqual({ kind: 'service', subject: `planner:${session}`, acting_for: 'ada' });
    expect(await planner.database.query('SELECT 1 FROM items')).toEqual([]);
  });

  test('spec: planner 6.27: the results are in the order of the calls, whatever finished first', async () => {
    const { messages } = await go(
      [
        { call: { id: 'x', name: 'list_changesets', input: {} } },
        { call: { id: 'y', name: 'propose_changeset', input: propose('Order') } },
        { call: { id: 'z', name: 'list_items', input: {} } },
      ],
      says('Done.'),
    );
    expect(results(messages).map((result) => result.tool_use_id)).toEqual(['x', 'y', 'z']);
  });

  test('spec: planner 6.17: a failing call is an error result, and the conversation goes on', async () => {
    const { lines, messages } = await go(
      [
        { call: { name: 'get_item', input: { key: 'WEB-999' } } },
        { call: { name: 'list_items', input: { color: 'red' } } },
        { call: { name: 'get_items', input: {} } },
        { call: { name: 'get_item', input: '{"key": WEB' } },
      ],
      says('I see.'),
    );
    const [missing, unknownField, unknownTool, malformed] = results(messages);
    expect(missing!.text).toContain('WEB-999');
    expect(unknownField!.text).toContain('color');
    expect(unknownTool!.text).toMatch(/get_items.*get_item/s);
    expect(malformed!.text).toMatch(/malformed JSON/);
    expect(results(messages).every((result) => result.is_error)).toBe(true);
    expect(lines.at(-1)).toBe('done end_turn');
  });

  test('text that PostgreSQL cannot hold is made storable, not an end of the turn', async () => {
    const { messages, lines } = await go(
      [{ text: 'nul \u0000 here' }, { call: { name: 'get_item', input: { key: 'a\u0000b', 'k\u0000': '\ud800' } } }],
      says('fine'),
    );
    expect(lines.at(-1)).toBe('done end_turn');
    expect(JSON.stringify(messages)).not.toMatch(/\\u0000|\\ud800/);
  });

  test('spec: planner 6.19, 7.12: a stop while a call runs answers the calls that have not begun with "cancelled"', async () => {
    const client = await planner.database.pool.connect();
    await client.query('BEGIN');
    await client.query('LOCK TABLE changesets IN ACCESS EXCLUSIVE MODE');
    play(twoCalls('propose_changeset', propose('Held'), 'list_items', {}), says('never'));
    const turn = await planner.send(session, 'go');
    const waiting = async (): Promise<number> => {
      const sql = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
      return (await planner.database.query(sql)).length;
    };
    await until('the call to wait', async () => (await waiting()) === 1);
    // The stop waits for the call that runs: its effect counts, whole or not at all.
    const stopped = planner.cancel(session, turn);
    await until('the stop to wait', async () => (await waiting()) === 2);
    await client.query('COMMIT');
    client.release();
    await stopped;
    expect((await planner.ended(turn)).reason).toBe('cancelled');
    const messages = await planner.transcript(session);
    expect(results(messages).map(({ text, is_error }) => [text.slice(0, 9), is_error])).toEqual([
      ['{"changes', false],
      ['cancelled', true],
    ]);
    expectAnswered(messages);
  });

  /** An answer with two calls. */
  function twoCalls(first: string, one: Record<string, unknown>, second: string, two: Record<string, unknown>): Reply {
    return [{ call: { name: first, input: one } }, { call: { name: second, input: two } }];
  }

  test('spec: planner 6.23: of more than 128 calls in one answer the rest get an error result', async () => {
    const many = Array.from({ length: 130 }, () => ({ call: { name: 'list_runnable', input: {} } }));
    const { messages } = await go(many, says('ok'));
    const all = results(messages);
    expect(all.length).toBe(130);
    expect(all.slice(0, 128).every((result) => !result.is_error)).toBe(true);
    expect(all.slice(128).map((result) => result.text)).toEqual(Array(2).fill(expect.stringContaining('at most 128')));
  });

  test('spec: planner 7.9, 7.14: after max_rounds the turn ends, its open calls are answered', async () => {
    const { turn, lines, messages } = await go(calls('list_items', {}));
    expect(await planner.turn(turn)).toMatchObject({ reason: 'max_rounds', rounds: 4 });
    expect(lines.slice(-4)).toEqual(['tool_call list_items', 'tool_result list_items error', expect.stringMatching(/^message/), 'done max_rounds']);
    expect(results(messages).at(-1)!.text).toMatch(/limit of rounds/);
    expectAnswered(messages);
  });

  test('spec: planner 7.14: an error after a round leaves no call unanswered', async () => {
    const { turn, messages } = await go(calls('list_items', {}), fails(400, 'no such parameter'));
    expect(await planner.turn(turn)).toMatchObject({ reason: 'error' });
    expectAnswered(messages);
  });

  test('the next turn shows the model every call with its result', async () => {
    await go(calls('list_items', {}), fails(400));
    await go(says('hello again'));
    const { messages } = planner.model.requests.at(-1)!.body;
    const roles = messages.map((message) => message.role);
    expect(roles).toEqual(['system', 'user', 'assistant', 'tool', 'user']);
  });
});

describe('exactly once', () => {
  test('spec: planner 6.28: a call that runs again returns its stored result and has no second effect', async () => {
    play(calls('propose_changeset', propose('Once')), [{ text: 'thinking' }, { hang: true }]);
    const before = await changesets();
    const turn = await planner.send(session, 'go');
    await planner.seen(session, (outputs) => outputs.some((output) => output.body.type === 'text'));
    const room = { database: planner.database, maxOutputCharacters: 60_000 };
    const again = await Promise.all([1, 2, 3].map(() => toolCall(room, { session, turn, round: 0, call: 0 })));
    expect(again).toEqual(['ok', 'ok', 'ok']);
    expect(await changesets()).toBe(before + 1);
    await planner.cancel(session);
    await planner.ended(turn);
    expect(await toolCall(room, { session, turn, round: 0, call: 0 })).toBe('ended');
  });

  test('spec: planner 6.28: racing attempts of one call: one has the effect, all return its result', async () => {
    play([{ call: { name: 'propose_changeset', input: propose('Race') } }]);
    const { turn, seq } = await pausedTurn();
    expect(seq).toBe(1);
    const before = await changesets();
    const room = { database: planner.database, maxOutputCharacters: 60_000 };
    const all = await Promise.all(Array.from({ length: 6 }, () => toolCall(room, { session, turn, round: 0, call: 0 })));
    expect(all).toEqual(Array(6).fill('ok'));
    expect(await changesets()).toBe(before + 1);
  });

  test('spec: planner 4.12: while a search embeds its query no transaction is open', async () => {
    const { turn } = await pausedTurn('search_project', { query: 'shoes' });
    const open = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
                  AND xact_start IS NOT NULL AND state LIKE 'idle in transaction%'`;
    const seen: number[] = [];
    const embedQuery = async (): Promise<undefined> => {
      await until('other transactions to end', async () => (await planner.database.query(open)).length === 0, 5_000);
      seen.push((await planner.database.query(open)).length);
    };
    const room = { database: planner.database, maxOutputCharacters: 60_000, embedQuery };
    expect(await toolCall(room, { session, turn, round: 0, call: 0 })).toBe('ok');
    expect(seen).toEqual([0]);
  });

  /** A turn in mid-round, by hand: its answer is stored, no workflow drives it. */
  async function pausedTurn(name = 'propose_changeset', input = propose('Race')): Promise<{ turn: string; seq: number }> {
    const { sendMessage } = await import('../planner/conversation.ts');
    const { takeFence, appendMessage, openCall } = await import('../store/turns.ts');
    const sent = await sendMessage({ ...planner.database, notifier: quiet } as never, { subject: 'ada', kind: 'human' }, { session, text: 'go' });
    await transaction(planner.database, async (tx) => {
      const row = await takeFence(tx, sent.turn, { scheduledMs: 1, round: 0, rank: 0, attempt: 1, runId: 'by-hand' });
      await openCall(tx, row, 0);
      const blocks = [{ type: 'tool_use' as const, tool_use_id: 'c', name, input }];
      await appendMessage(tx, row, { role: 'assistant', round: 0, stop_reason: 'tool_use', blocks });
    });
    return sent;
  }
  const quiet = { add() {}, flush: async () => undefined, close: async () => undefined };
});

describe('rights', () => {
  const revoke = (): Promise<unknown> => planner.database.query(`DELETE FROM role_bindings WHERE subject = 'ada'`);
  const grant = (role: string): Promise<unknown> =>
    planner.database.query(
      `INSERT INTO role_bindings (id, subject, role, project_id) SELECT gen_random_uuid(), 'ada', $1, id FROM projects WHERE key = 'WEB'`,
      [role],
    );

  test('spec: planner 5.8: tracker.write lost before a round ends the turn with an error', async () => {
    let open: (() => void) | undefined;
    const gate = new Promise<void>((resolve) => (open = resolve));
    play([{ text: 'hm' }, { gate }, { call: { name: 'list_items', input: {} } }], says('never'));
    const turn = await planner.send(session, 'go');
    await planner.seen(session, (outputs) => outputs.some((output) => output.body.type === 'text'));
    await revoke();
    await grant('viewer');
    open!();
    await until('the end', async () => (await planner.database.query<{ status: string }>('SELECT status FROM planner_turns WHERE id = $1', [turn]))[0]!.status === 'ended');
    await grant('engineer');
    const lines = brief(await planner.outputs(session));
    expect(lines).toContain('tool_result list_items ok');
    expect(lines.slice(-2)).toEqual([expect.stringMatching(/^error .*tracker\.write/), 'done error']);
  });

  test('spec: planner 5.7: a right that was revoked before a call runs counts: the call is forbidden', async () => {
    let open: (() => void) | undefined;
    const gate = new Promise<void>((resolve) => (open = resolve));
    play([{ text: 'hm' }, { gate }, { call: { name: 'propose_changeset', input: propose('No') } }], says('never'));
    const before = await changesets();
    const turn = await planner.send(session, 'go');
    await planner.seen(session, (outputs) => outputs.some((output) => output.body.type === 'text'));
    await revoke();
    await grant('viewer');
    open!();
    await until('the end', async () => (await planner.database.query<{ status: string }>('SELECT status FROM planner_turns WHERE id = $1', [turn]))[0]!.status === 'ended');
    await grant('engineer');
    expect(brief(await planner.outputs(session))).toContain('tool_result propose_changeset error');
    expect(await changesets()).toBe(before);
  });

  test('spec: planner 5.9: an answer that streams is not cut when its human\'s rights are lost', async () => {
    const { gate, open } = gated();
    play([{ text: 'first half, ' }, { gate }, { text: 'second half' }]);
    const turn = await planner.send(session, 'go');
    await planner.seen(session, (outputs) => outputs.some((output) => output.body.type === 'text'));
    await revoke();
    open();
    await until('the end', async () => (await reasonOf(turn)) !== null);
    await grant('engineer');
    expect(await reasonOf(turn)).toBe('end_turn');
    expect(textOf((await planner.transcript(session)).at(-1)!.blocks)).toBe('first half, second half');
  });

  test('spec: planner 5.11: a token that expires or is revoked in mid-turn does not end the turn: it acts as its human', async () => {
    const { gate, open } = gated();
    play([{ text: 'hm' }, { gate }, { call: { name: 'propose_changeset', input: propose('Yes') } }], says('done'));
    const before = await changesets();
    const { database } = planner;
    const { id, token } = await transaction(database, (tx) =>
      createToken(tx, {
        subject: 'ada',
        expires_at: new Date(Date.now() + 60_000),
        actions: ['tracker.read', 'tracker.write'],
      }),
    );
    const { principal } = await authenticate(database, token);
    const { turn } = await sendMessage(database, principal, { session, text: 'go' });
    planner.engine.sent(turn);
    await planner.seen(session, (outputs) => outputs.some((output) => output.body.type === 'text'));
    await database.query(`UPDATE tokens SET expires_at = now() - interval '1 s' WHERE id = $1`, [id]);
    await transaction(database, (tx) => revokeToken(tx, id));
    await expect(authenticate(database, token)).rejects.toMatchObject({ code: 'unauthenticated' });
    open();
    expect((await planner.ended(turn)).reason).toBe('end_turn');
    expect(await changesets()).toBe(before + 1);
  });

  function gated(): { gate: Promise<void>; open: () => void } {
    const { promise, resolve } = Promise.withResolvers<void>();
    return { gate: promise, open: resolve };
  }

  const reasonOf = async (turn: string): Promise<string | null> =>
    (await planner.database.query<{ reason: string | null }>('SELECT reason FROM planner_turns WHERE id = $1', [turn]))[0]!
      .reason;
});

/** A stored transcript never has an unanswered call. */
function expectAnswered(messages: Message[]): void {
  for (const [index, message] of messages.entries()) {
    const asked = toolUses(message.blocks).map((call) => call.tool_use_id);
    if (asked.length === 0) continue;
    const answered = (messages[index + 1]?.blocks ?? []).filter((block) => block.type === 'tool_result');
    expect(answered.map((result) => result.tool_use_id)).toEqual(asked);
  }
}
