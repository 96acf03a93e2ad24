// Compaction on real parts: what a model is asked, what is stored and told, and what happens when it fails.
// (spec: planner 8)

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startApi } from '../api/server.ts';
import { connect, createRest } from '../client/index.ts';
import { estimateTokens } from '../domain/compaction.ts';
import { keysIn } from '../domain/named-things.ts';
import { summaryHeading } from '../domain/transcript.ts';
import { compactSession, type CompactionRoom } from '../planner/compaction.ts';
import { readSession } from '../planner/conversation.ts';
import { DeltaWriter } from '../planner/deltas.ts';
import { summarySystem } from '../planner/summary-prompt.ts';
import { transaction } from '../store/database.ts';
import { listen } from '../store/listener.ts';
import { createToken } from '../store/tokens.ts';
import { createWorkerMetrics } from '../worker/metrics.ts';
import { answers, asksForSummary, requestText, seedMessages } from './support/long-session.ts';
import { ada, brief, startTestPlanner, type TestPlanner } from './support/planner.ts';
import { calls, fails, says, type Reply, type ScriptedRequest } from './support/scripted-model.ts';

let planner: TestPlanner;
let session: string;
/** The requests since the test's begin. */
let first: number;
const requests = (): ScriptedRequest[] => planner.model.requests.slice(first).map(({ body }) => body);
const summaries = (): ScriptedRequest[] => requests().filter(asksForSummary);
const compactions: { organization: string; project: string }[] = [];
const warnings: string[] = [];

beforeAll(async () => {
  planner = await startTestPlanner();
  await planner.startWorker({
    compactAtTokens: 20_000,
    compacted: (of) => compactions.push(of),
    warn: (message) => warnings.push(message),
    gateway: { models: new Map([['small', { window: 3_000 }]]) },
  });
});
afterAll(() => planner.close());
beforeEach(async () => {
  session = await planner.session();
  first = planner.model.requests.length;
  compactions.length = 0;
});

/** As a worker's own. */
const room = (): CompactionRoom => ({
  database: planner.database,
  deltas: new DeltaWriter(planner.database),
  gateway: {
    settings: { baseUrl: planner.model.baseUrl, apiKey: 'test', model: 'scripted', maxTokens: 1_000, callTimeoutMs: 9_000, silentStreamMs: 9_000 },
    installation: { model: 'scripted', skill: 'planner', daily_tokens: 0 },
    demo: false,
    keys: [],
    models: new Map(),
    meter: { closed: () => undefined },
  },
  maxRounds: 20,
  commitPatienceMs: 1_000,
  compactAtTokens: 20_000,
  warnOnce: () => undefined,
  compacted: () => undefined,
});

/** Each request gets the next answer; requests for a summary get `summary`. */
function play(summary: Reply | ((request: ScriptedRequest) => Reply), ...replies: Reply[]): void {
  let next = 0;
  planner.model.play((request) => {
    if (asksForSummary(request)) return typeof summary === 'function' ? summary(request) : summary;
    return replies[Math.min(next++, replies.length - 1)]!;
  });
}

const large = { usage: { input: 30_000, output: 100 } };
const small = { usage: { input: 4_000, output: 100 } };
const turnOf = async (text: string) => planner.ended(await planner.send(session, text));
const state = () => readSession(planner.database, ada, session);
const events = (type: string) =>
  planner.database.query<{ actor: unknown; payload: Record<string, unknown> }>(
    'SELECT actor, payload FROM events WHERE entity_id = $1 AND type = $2 ORDER BY seq',
    [session, type],
  );

describe('a conversation above the threshold', () => {
  test('spec: planner 8.4, 8.5, 8.6: is summarized before the next call, all but the newest human message and what follows it', async () => {
    play(says('They want a shop for shoes.'), [large, { text: 'Shoes, then.' }], [small, { text: 'Done.' }]);
    await turnOf('I want a shop for shoes.');
    expect(await turnOf('Which tickets are ready?')).toMatchObject({ reason: 'end_turn', rounds: 1 });

    const [, summary, answer] = requests();
    expect(requests()).toHaveLength(3);
    expect(summary!.tools).toBeUndefined();
    expect(summary!.messages[0]!.content).toBe(summarySystem);
    expect(requestText(summary!)).toContain('HUMAN: I want a shop for shoes.\n\nPLANNER: Shoes, then.');
    expect(requestText(summary!)).not.toContain('Which tickets');
    expect(answer!.tools).toHaveLength(planner.model.requests[first]!.body.tools!.length);
    expect(requestText(answer!)).toContain('They want a shop for shoes.');
    expect(requestText(answer!)).toContain('Which tickets are ready?');
    expect(requestText(answer!)).not.toContain('I want a shop for shoes.');

    expect(await state()).toMatchObject({ summary: 'They want a shop for shoes.', summary_up_to: 2 });
    expect(brief(await planner.outputs(session)).slice(4)).toEqual([
      'message 3',
      'compacted 2',
      'text Done.',
      'message 4',
      'done end_turn',
    ]);
    expect(compactions).toEqual([{ organization: 'acme', project: 'WEB' }]);
  });

  test('spec: planner 8.6, 5.15: the event names up_to and the estimate, its actor is the planner acting for the human', async () => {
    play(says('Summary.'), [large, { text: 'Yes.' }], says('Done.'));
    await turnOf('One');
    await turnOf('Two');
    const [event] = await events('planner.compacted');
    expect(event!.actor).toEqual({ kind: 'service', subject: `planner:${session}`, acting_for: 'ada' });
    expect(event!.payload).toEqual({ up_to: 2, estimated_tokens: expect.any(Number) });
    expect(event!.payload.estimated_tokens).toBeGreaterThan(30_100);
    expect(event!.payload.estimated_tokens).toBeLessThan(30_120);
  });

  test('spec: planner 8.11: the transcript stays complete', async () => {
    play(says('Summary.'), [large, { text: 'First answer.' }], says('Second answer.'));
    await turnOf('First question');
    await turnOf('Second question');
    expect((await planner.transcript(session)).map(({ blocks }) => blocks)).toMatchObject(
      ['First question', 'First answer.', 'Second question', 'Second answer.'].map((text) => [{ type: 'text', text }]),
    );
  });

  test('spec: planner 8.5: in mid-turn the calls of the turn and their results stay; the earlier part is summarized', async () => {
    play(
      says('Earlier: shoes.'),
      says('Shoes.'),
      [large, { call: { id: 'call_x', name: 'list_items', input: {} } }],
      says('Done.'),
    );
    await turnOf('A shop for shoes');
    await turnOf('List it');
    const [summary] = summaries();
    expect(requestText(summary!)).not.toContain('list_items');
    expect(requests().at(-1)!.messages.slice(1)).toMatchObject([
      { role: 'user', content: expect.stringContaining('List it') as unknown },
      { role: 'assistant', tool_calls: [{ function: { name: 'list_items' } }] },
      { role: 'tool', tool_call_id: 'call_x' },
    ]);
    expect(await state()).toMatchObject({ summary_up_to: 2 });
    // What was reported before the summary is of a longer context: the next turn does not count it.
    const before = requests().length;
    play(says('Again.'), says('Fine.'));
    await turnOf('And now?');
    expect(requests().length - before).toBe(1);
  });

  test('spec: planner 8.4: the next summary is made of the earlier one and what came since', async () => {
    play(says('Summary one.'), [large, { text: 'A1' }], [large, { text: 'A2' }], says('A3'));
    await turnOf('Q1');
    await turnOf('Q2');
    play(says('Summary two.'), says('A3'));
    await turnOf('Q3');
    const text = requestText(summaries()[1]!);
    expect(text).toContain('<summary>\nSummary one.\n</summary>');
    expect(text).toContain('HUMAN: Q2\n\nPLANNER: A2');
    expect(text).not.toMatch(/Q1|A1|Q3/);
    expect(await state()).toMatchObject({ summary: 'Summary two.', summary_up_to: 4 });
  });

  test('spec: planner 8: the usage of the compaction is counted, and is part of the turn', async () => {
    play([{ usage: { input: 700, output: 70 } }, { text: 'Summary.' }], [large, { text: 'A1' }], [small, { text: 'A2' }]);
    await turnOf('Q1');
    expect(await turnOf('Q2')).toMatchObject({ usage: { input: 4_700, output: 170 } });
    expect(
      await planner.database.query(
        `SELECT status, input, output, estimated FROM llm_usage WHERE session_id = $1 AND purpose = 'compaction'`,
        [session],
      ),
    ).toEqual([{ status: 'ok', input: 700, output: 70, estimated: false }]);
  });

  test('spec: planner 8.5: at or below the threshold, or with nothing before the turn, nothing is summarized', async () => {
    play(says('Never.'), [{ usage: { input: 19_000, output: 10 } }, { text: 'A1' }], [
      { usage: { input: 40_000, output: 10 } },
      { text: 'A2' },
    ]);
    await turnOf('Q1');
    await turnOf('Q2');
    session = await planner.session();
    play(says('Never.'), [large, { call: { name: 'list_items', input: {} } }], says('Done.'));
    await turnOf('The first message of all');
    expect(summaries()).toHaveLength(0);
  });

  test('spec: planner 8.2: with no usage known everything is estimated', async () => {
    await seedMessages(planner.database, session, 20, (seq) => `${seq}: ${'the planner reads the tracker '.repeat(200)}`);
    play((request) => answers(request, 'A long story.'), says('Fine.'));
    await turnOf('And now?');
    expect(summaries()).toHaveLength(1);
    expect(await state()).toMatchObject({ summary: 'A long story.', summary_up_to: 20 });
  });
});

describe('what a summary may not lose', () => {
  test('spec: planner 8.12: its prompt asks for wants, decisions and reasons, what is open, changesets, knowledge, keys, the next step', () => {
    for (const word of ['wanted', 'decided, and why', 'open', 'changeset', 'fate', 'knowledge', 'item keys', 'next step']) {
      expect(summarySystem).toContain(word);
    }
    expect(summarySystem).toContain('material, not instruction');
  });

  test('spec: planner 8.13: item keys and changesets that it misses are appended to it, from summary to summary', async () => {
    const operations = [{ kind: 'create_item', ref: 'a', create: { kind: 'ticket', title: 'A' } }];
    play(
      says('About WEB-7 only.'),
      calls('propose_changeset', { title: 'The cart', operations }),
      [large, { text: 'See WEB-3, WEB-7 and UTF-8.' }],
      [large, { text: 'Good.' }],
      says('Fine.'),
    );
    await turnOf('Propose the cart; WEB-12 waits for it.');
    const [{ id }] = (await planner.database.query<{ id: string }>('SELECT id FROM changesets ORDER BY id DESC LIMIT 1')) as [
      { id: string },
    ];
    await turnOf('Go on');
    const expected =
      'About WEB-7 only.\n\nItems named before: WEB-3, WEB-12\n' +
      `Changesets named before, with their state when this was written:\n- ${id} (proposed): The cart`;
    expect((await state()).summary).toBe(expected);
    play(says('Nothing left.'), says('Fine.'));
    await turnOf('And on');
    expect((await state()).summary).toContain('Items named before: WEB-3, WEB-7, WEB-12');
    expect((await state()).summary).toContain(id);
  });

  test('reports c15: a summary that looks like a task is shown as background, and an echo of it ends the turn', async () => {
    const summary = '## Goal\nBuild the shop.\n\n## Left to do\nPropose the cart.';
    play(says(summary), [large, { text: 'A1' }], says(summary));
    await turnOf('Q1');
    expect(await turnOf('Thanks')).toMatchObject({ reason: 'end_turn', rounds: 1 });
    expect(requests()).toHaveLength(3);
    expect(requestText(requests()[2]!).startsWith(`${summaryHeading}\n\n<summary>\n${summary}\n</summary>\n\nThanks`)).toBe(true);
    expect(summaryHeading).toMatch(/background, not a request/);
  });
});

describe('what does not go well', () => {
  test.for<[string, Reply]>([
    ['a blank summary', says(' \n')],
    ['a refused request', fails(400, 'no')],
    ['a refusal', [{ text: 'I will not.' }, { finish: 'content_filter' }]],
    ['calls instead of text', calls('list_items', {})],
  ])('spec: planner 8.7: %s: the call goes on uncompacted, and it is not tried again in this turn', async ([, reply]) => {
    play(reply, [large, { text: 'A1' }], [large, { call: { name: 'list_items', input: {} } }], [large, { text: 'A2' }]);
    await turnOf('Q1');
    expect(await turnOf('Q2')).toMatchObject({ reason: 'end_turn', rounds: 2 });
    expect(summaries()).toHaveLength(1);
    expect(requestText(requests().at(-1)!)).toContain('Q1');
    expect(await state()).toMatchObject({ summary: '', summary_up_to: 0 });
    expect(await events('planner.compacted')).toEqual([]);
    play(says('Now.'), says('Fine.'));
    await turnOf('Q3');
    expect(await state()).toMatchObject({ summary: 'Now.', summary_up_to: 6 });
  });

  test('a provider that fails for a moment is asked again; one that keeps failing is left after three times', async () => {
    let failures = 1;
    play(() => (failures-- > 0 ? fails(503) : says('Summary.')), [large, { text: 'A1' }], [large, { text: 'A2' }], says('A3'));
    await turnOf('Q1');
    await turnOf('Q2');
    expect(await state()).toMatchObject({ summary: 'Summary.', summary_up_to: 2 });
    failures = 100;
    const before = summaries().length;
    expect(await turnOf('Q3')).toMatchObject({ reason: 'end_turn' });
    expect(summaries().length - before).toBe(3);
    expect(await state()).toMatchObject({ summary_up_to: 2 });
  });

  const tooLong: Reply = fails(400, "This model's maximum context length is 8192 tokens.");

  test('spec: orchestration: a provider that finds the conversation too long is asked again after one compaction', async () => {
    play(says('Summary.'), says('A1'), tooLong, says('A2'));
    await turnOf('Q1');
    expect(await turnOf('Q2')).toMatchObject({ reason: 'end_turn' });
    expect(brief(await planner.outputs(session)).slice(4)).toEqual([
      'message 3',
      'retrying context length',
      'compacted 2',
      'text A2',
      'message 4',
      'done end_turn',
    ]);
  });

  test('reports c13: one that still does is told as an error, and nothing loops', async () => {
    play(says('Summary.'), says('A1'), tooLong);
    await turnOf('Q1');
    expect(await turnOf('Q2')).toMatchObject({
      reason: 'error',
      failure: expect.stringMatching(/too long|longer/) as unknown,
    });
    expect(requests().map((request) => asksForSummary(request))).toEqual([false, false, true, false]);
    session = await planner.session();
    first = planner.model.requests.length;
    play(says('Summary.'), tooLong);
    expect(await turnOf('The first message of all')).toMatchObject({ reason: 'error' });
    expect(requests()).toHaveLength(1);
  });

  test('spec: planner 8.8: a text that exceeds the window is summarized in parts, each after the summary of the ones before', async () => {
    await planner.database.query(`UPDATE projects SET settings = '{"model": "small"}' WHERE key = 'WEB'`);
    try {
      await seedMessages(planner.database, session, 40, (seq) => `Fact ${seq}. ${'The planner reads it. '.repeat(100)}`);
      let n = 0;
      play(() => says(`Summary ${++n}.`), says('Fine.'));
      await turnOf('And now?');
    } finally {
      await planner.database.query(`UPDATE projects SET settings = '{}' WHERE key = 'WEB'`);
    }
    const asked = summaries();
    expect(asked.length).toBeGreaterThan(5);
    const facts = asked.flatMap((request) => [...requestText(request).matchAll(/Fact (\d+)\./g)].map(([, seq]) => Number(seq)));
    expect(facts).toEqual(Array.from({ length: 40 }, (_, index) => index + 1));
    for (const [index, request] of asked.entries()) {
      expect(requestText(request)).toContain(`part ${index + 1} of ${asked.length}`);
      if (index > 0) expect(requestText(request)).toContain(`<summary>\nSummary ${index}.\n</summary>`);
    }
    expect(await state()).toMatchObject({ summary: `Summary ${asked.length}.`, summary_up_to: 40 });
    expect(compactions).toHaveLength(1);
  });

  test('of a model whose window is unknown the parts are halved until they fit', async () => {
    await seedMessages(planner.database, session, 40, (seq) => `Fact ${seq}. ${'The planner reads it. '.repeat(120)}`);
    play((request) => (requestText(request).length > 30_000 ? tooLong : says('Short.')), says('Fine.'));
    await turnOf('And now?');
    expect(await state()).toMatchObject({ summary: 'Short.', summary_up_to: 40 });
  });

  test('reports c51: a huge tool result is shortened before it enters the history, and the next turn summarizes it', async () => {
    await planner.database.query(
      `INSERT INTO items (id, project_id, number, key, kind, title, state)
       SELECT gen_random_uuid(), id, 900 + n, 'WEB-' || 900 + n, 'milestone', repeat('long title ', 27), 'open'
       FROM projects, generate_series(1, 400) n WHERE key = 'WEB'`,
    );
    play(says('Many milestones.'), calls('list_items', { limit: 500 }), [small, { text: 'Many.' }], says('Fine.'));
    expect(await turnOf('List all')).toMatchObject({ reason: 'end_turn', rounds: 2 });
    const [result] = (await planner.transcript(session))[2]!.blocks;
    expect(result).toMatchObject({ type: 'tool_result', is_error: false, text: expect.stringContaining('[cut: ') as unknown });
    expect(result?.type === 'tool_result' && result.text.length).toBeLessThanOrEqual(60_000);
    await planner.database.query('DELETE FROM items WHERE number > 900');
    await seedMessages(planner.database, session, 2, (seq) => `${seq}: ${'the planner reads the tracker '.repeat(1_500)}`);
    await turnOf('And now?');
    expect(await state()).toMatchObject({ summary_up_to: 6, summary: expect.stringContaining('WEB-901') as unknown });
  });

  test('reports c17: a compaction that runs a second time finds the first one stored, and asks no model', async () => {
    play(says('Summary.'), [large, { text: 'A1' }], [{ text: 'A' }, { hang: true }]);
    await turnOf('Q1');
    const turn = await planner.send(session, 'Q2');
    await planner.seen(session, (outputs) => brief(outputs).includes('text A'));
    const again = await compactSession(room(), { session, turn, round: 0 }, {
      attempt: { scheduledMs: Date.now() + 1_000, round: 0, rank: 0, attempt: 1, runId: '' },
      signal: new AbortController().signal,
      stopped: () => false,
      onLost: () => undefined,
      progress: () => undefined,
    });
    expect(again).toEqual({ kind: 'compacted' });
    expect(summaries()).toHaveLength(1);
    expect(await events('planner.compacted')).toHaveLength(1);
    await planner.cancel(session);
    await planner.ended(turn);
  });
});

describe('the fixed overhead', () => {
  test('reports c13, spec: planner 8.9: system prompt and tools alone above the threshold: a warning once, no compaction, the calls go on', async () => {
    const tight = await startTestPlanner(() => [large, { text: 'Fine.' }]);
    try {
      const heard: string[] = [];
      await tight.startWorker({ compactAtTokens: 500, warn: (message) => heard.push(message) });
      const own = await tight.session();
      for (const text of ['Q1', 'Q2', 'Q3']) {
        expect(await tight.ended(await tight.send(own, text))).toMatchObject({ reason: 'end_turn' });
      }
      expect(tight.model.requests.filter(({ body }) => asksForSummary(body))).toEqual([]);
      const said = heard.filter((message) => message.includes('compact_at_tokens'));
      expect(said).toEqual([expect.stringMatching(/project WEB alone take about \d+ tokens, more than .*\(500\)/)]);
    } finally {
      await tight.close();
    }
  });

  test('spec: planner 8.4: compact_at_tokens 0 turns it off, also where the provider finds the conversation too long', async () => {
    const off = await startTestPlanner((_, n) => (n < 2 ? [large, { text: 'Fine.' }] : fails(400, 'maximum context length')));
    try {
      await off.startWorker({ compactAtTokens: 0 });
      const own = await off.session();
      await off.ended(await off.send(own, 'Q1'));
      expect(await off.ended(await off.send(own, 'Q2'))).toMatchObject({ reason: 'end_turn' });
      expect(await off.ended(await off.send(own, 'Q3'))).toMatchObject({ reason: 'error' });
      expect(off.model.requests).toHaveLength(3);
    } finally {
      await off.close();
    }
  });
});

describe('a stop', () => {
  test('spec: planner 8.10: during a compaction it closes the provider and cancels the turn', async () => {
    play([{ text: 'Half a' }, { hang: true }], [large, { text: 'A1' }], says('never'));
    await turnOf('Q1');
    const turn = await planner.send(session, 'Q2');
    const request = await planner.model.request(first + 1);
    await planner.cancel(session);
    expect(await planner.ended(turn)).toMatchObject({ reason: 'cancelled' });
    await request.over;
    expect(request.closedAt).toBeDefined();
    expect(requests()).toHaveLength(2);
    expect(brief(await planner.outputs(session)).slice(4)).toEqual(['message 3', 'done cancelled']);
    expect(await state()).toMatchObject({ summary: '', summary_up_to: 0 });
    expect(
      await planner.database.query(`SELECT status FROM llm_usage WHERE session_id = $1 AND purpose = 'compaction'`, [session]),
    ).toEqual([{ status: 'cancelled' }]);
  });
});

describe('people', () => {
  test('spec: planner 7, 8: watchers are told compacted, a session shows its summary and up to where it goes', async () => {
    play(says('They want shoes.'), [large, { text: 'A1' }], says('A2'));
    const listener = await listen(planner.url);
    const api = await startApi({
      database: planner.database,
      listener,
      engine: planner.engine,
      port: 0,
      model: { name: 'scripted', demo: false },
      checkAnswers: true,
    });
    const { token } = await transaction(planner.database, (tx) =>
      createToken(tx, { subject: ada.subject, expires_at: new Date(Date.now() + 600_000) }),
    );
    const realtime = connect({ address: api.address, token });
    try {
      await turnOf('Q1');
      const told: unknown[] = [];
      const done = new Promise<void>((resolve) => {
        realtime.watch(session, {
          onOutput(output) {
            if (output.type === 'compacted') told.push(output.up_to);
            if (output.type === 'done') resolve();
          },
        });
      });
      await realtime.send({ session, text: 'Q2' });
      await done;
      expect(told).toEqual([2]);
      const shown = await createRest({ address: api.address, token }).session(session);
      expect(shown).toMatchObject({ summary: 'They want shoes.', summary_up_to: 2 });
      expect(shown.messages).toHaveLength(4);
    } finally {
      realtime.close();
      await api.close();
      await listener.close();
    }
  });

  test('spec: planner 8.6: operators see ballet_planner_compactions_total', async () => {
    const { registry, compacted } = createWorkerMetrics();
    compacted({ organization: 'acme', project: 'WEB' });
    expect(await registry.metrics()).toContain('ballet_planner_compactions_total{organization="acme",project="WEB"} 1');
  });
});

describe('a worker killed', () => {
  test('spec: planner 8: during a compaction: another one summarizes once, and the turn ends once, whole', async () => {
    const own = await startTestPlanner();
    try {
      const first = await own.spawnWorker({ PLANNER_COMPACT_AT_TOKENS: '20000' });
      const id = await own.session();
      let asked = 0;
      own.model.play((request) => {
        if (!asksForSummary(request)) return [large, { text: 'Fine.' }];
        return asked++ === 0 ? [{ text: 'Half a' }, { hang: true }] : says('The whole summary.');
      });
      await own.ended(await own.send(id, 'Q1'));
      const turn = await own.send(id, 'Q2');
      await own.model.request(1);
      await own.startWorker({ compactAtTokens: 20_000 });
      first.kill('SIGKILL');
      expect(await own.ended(turn, 60_000)).toMatchObject({ reason: 'end_turn', rounds: 1 });
      expect(brief(await own.outputs(id)).slice(4)).toEqual([
        'message 3',
        'compacted 2',
        'text Fine.',
        'message 4',
        'done end_turn',
      ]);
      expect(await readSession(own.database, ada, id)).toMatchObject({ summary: 'The whole summary.', summary_up_to: 2 });
    } finally {
      await own.close();
    }
  }, 120_000);
});

describe('a conversation of 2,000 messages', () => {
  test('stays correct: nothing is lost from storage, each call stays small, every key is kept', async () => {
    const fact = (seq: number): string => `Message ${seq} is about WEB-${1 + (seq % 700)}. ${'It says so. '.repeat(25)}`;
    await seedMessages(planner.database, session, 1_990, fact);
    let n = 0;
    planner.model.play((request) =>
      answers(request, asksForSummary(request) ? `Summary ${++n}.` : `Answer. ${'More of it. '.repeat(1_500)}`),
    );
    for (let turn = 0; turn < 5; turn++) expect(await turnOf(`Question ${turn}`)).toMatchObject({ reason: 'end_turn' });

    const messages = await planner.transcript(session);
    expect(messages.map(({ seq }) => seq)).toEqual(Array.from({ length: 2_000 }, (_, index) => index + 1));
    expect(messages[1_000]!.blocks).toEqual([{ type: 'text', text: fact(1_001) }]);
    const covered = summaries().flatMap((request) => [...requestText(request).matchAll(/Message (\d+) is/g)].map(([, seq]) => Number(seq)));
    expect(covered).toEqual(Array.from({ length: 1_990 }, (_, index) => index + 1));
    // Each call but the first ones' summaries stays near the threshold, and the newest message is always in it.
    const called = requests().filter((request) => !asksForSummary(request));
    expect(called).toHaveLength(5);
    for (const [index, request] of called.entries()) {
      expect(estimateTokens(JSON.stringify(request.messages))).toBeLessThan(20_000);
      expect(requestText(request)).toContain(`Question ${index}`);
    }
    const { summary, summary_up_to: upTo } = await state();
    expect(upTo).toBeGreaterThan(1_990);
    expect(await events('planner.compacted')).toHaveLength(compactions.length);
    expect(compactions.length).toBeGreaterThanOrEqual(2);
    expect(compactions.length).toBeLessThan(5);
    expect(keysIn(summary, new Set(['WEB']))).toEqual(new Map([['WEB', [[1, 700]]]]));
  });
});
