// What the chat prints: safe for a terminal, clear about what stands, readable reviews.

import fc from 'fast-check';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, describe, expect, it } from 'vitest';
import { header, newestTurns, proposedIn, renderMessages } from '../cli/chat-view.ts';
import { Lines } from '../cli/lines.ts';
import { clean, cleanLine, parseDuration, plural, styles, table, wantsColour } from '../cli/print.ts';
import { parseSelection, renderChangeset, renderResults, withReferences, type Items } from '../cli/review.ts';
import { newestFirst, renderStatus, type StatusRow } from '../cli/status.ts';
import { identify } from '../cli/stack/process.ts';
import { writeStack, writeToken, type StackFile } from '../cli/stack/stack-file.ts';
import { dataFolder, findDatabase, findTarget } from '../cli/target.ts';
import { resultLine, resultSummary, TurnPrinter } from '../cli/turn-printer.ts';
import { projectModel, type Changeset, type Me, type Message, type Operation, type Output } from '../client/index.ts';

const session = '01900000-0000-7000-8000-000000000001';
const turn = '01900000-0000-7000-8000-000000000002';
const plain = styles(false);

describe('text of models, tools and other users', () => {
  it('reaches the terminal without escape sequences, controls and marks that reorder', () => {
    const text = 'a\u001b[31mred\u001b[0m b\u001b]0;title\u0007c\u0008\u009b2Jd\u202ee\r\nf\tg';
    expect(clean(text)).toBe('ared bcde\nf\tg');
  });

  it('keeps letters of all scripts and joined emoji', () => {
    expect(clean('Grüße, 東京, שלום, 👩‍💻')).toBe('Grüße, 東京, שלום, 👩‍💻');
  });

  it('never lets a control character through, in whatever pieces it comes', () => {
    const unit = fc.constantFrom('\u001b', '[', ']', '2', 'J', 'm', '\u0007', '\u009b', '\u0000', 'x', '\\');
    const piece = fc.string({ unit });
    fc.assert(
      fc.property(fc.array(piece), (pieces) => {
        expect(pieces.map(clean).join('')).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/);
      }),
    );
  });

  it('is cut by characters, not in the middle of one', () => {
    expect(cleanLine('👩‍💻  a\nb', 20)).toBe('👩‍💻 a b');
    expect(cleanLine('😀😀😀😀', 3)).toBe('😀😀…');
  });
});

describe('colours and tables', () => {
  it('are plain in a pipe, with NO_COLOR and on a dumb terminal', () => {
    expect(wantsColour({ isTTY: true }, {})).toBe(true);
    expect(wantsColour({}, {})).toBe(false);
    expect(wantsColour({ isTTY: true }, { NO_COLOR: '1' })).toBe(false);
    expect(wantsColour({ isTTY: true }, { TERM: 'dumb' })).toBe(false);
    expect(plain.red('x')).toBe('x');
    expect(styles(true).red('x')).toBe('\u001b[31mx\u001b[39m');
  });

  it('lines columns up', () => {
    expect(table(['key', 'title'], [['WEB-1', 'a'], ['W', 'b']])).toBe('key    title\nWEB-1  a\nW      b');
  });

  it('counts in words', () => {
    expect([plural(1, 'operation'), plural(2, 'dependency'), plural(2, 'key')]).toEqual([
      '1 operation',
      '2 dependencies',
      '2 keys',
    ]);
  });

  it('reads durations', () => {
    expect(parseDuration('90d')).toBe(90 * 86_400_000);
    expect(parseDuration('45s')).toBe(45_000);
    for (const wrong of ['', '0d', '90', 'd', '1.5h', '-1d', '9999999d']) expect(parseDuration(wrong)).toBeUndefined();
  });
});

const operations: Operation[] = [
  { kind: 'create_item', ref: 'm', create: { kind: 'milestone', title: 'Beta' } },
  { kind: 'create_item', ref: 'e', create: { kind: 'epic', title: 'Search', milestone: '$m' } },
  {
    kind: 'create_item',
    ref: 't',
    create: { kind: 'ticket', title: 'Index\u001b[2J', epic: '$e', acceptance_criteria: ['finds words'] },
  },
  { kind: 'update_item', update: { item: 'WEB-3', title: 'New title', epic: '' } },
  { kind: 'add_dependency', dependency: { from: 'WEB-3', to: '$t', type: 'blocks' } },
];

const changeset: Changeset = {
  id: 'c1',
  project: 'WEB',
  title: 'Search',
  summary: 'Adds search.',
  operations,
  status: 'proposed',
  proposed_by: { kind: 'service', subject: `planner:${session}`, acting_for: 'ada' },
  created_at: '2026-01-01T00:00:00.000Z',
  version: 1,
  stale: [3],
};

const items: Items = new Map([['WEB-3', { title: 'Old title', kind: 'ticket', epic: 'WEB-2' }]]);

describe('the review of a changeset', () => {
  it('shows every operation with its number, before and after, and titles for references', () => {
    expect(renderChangeset(changeset, items, plain)).toBe(`Search changeset c1, proposed, 5 operations
  Adds search.
  1. create milestone "Beta" $m
  2. create epic "Search" $e
      milestone: "Beta"
  3. create ticket "Index" $t
      epic: "Search"
      acceptance criteria:
        - finds words
  4. update WEB-3 "Old title" (stale: changed since it was proposed)
      title: "Old title" -> "New title"
      epic: WEB-2 -> (none)
  5. link WEB-3 "Old title" blocks "Index"
`);
  });

  it('names the keys that were given', () => {
    const applied: Changeset = {
      ...changeset,
      status: 'applied',
      approved: [0, 1, 2, 4],
      results: [{ key: 'WEB-4' }, { key: 'WEB-5' }, { key: 'WEB-6' }, {}, { dependency: 'd1' }],
    };
    expect(renderResults(applied, items, plain)).toBe(`Applied: 4 operations.
  created WEB-4 milestone "Beta"
  created WEB-5 epic "Search"
  created WEB-6 ticket "Index"
  added WEB-3 "Old title" blocks WEB-6
`);
  });

  it('understands all, numbers and ranges from 1, reject and skip', () => {
    expect(parseSelection('a', 3)).toEqual({ kind: 'apply', operations: [0, 1, 2] });
    expect(parseSelection(' 5, 1-3,2 ', 5)).toEqual({ kind: 'apply', operations: [0, 1, 2, 4] });
    expect(parseSelection('R', 3)).toEqual({ kind: 'reject' });
    expect(parseSelection('', 3)).toEqual({ kind: 'skip' });
  });

  it('asks again for what it does not understand', () => {
    for (const wrong of ['0', '4', '2-9', '3-1', 'x', '1-', '-', ',']) {
      expect(parseSelection(wrong, 3), wrong).toMatchObject({ kind: 'unclear' });
    }
  });

  it('completes a selection with the creates that it refers to, however deep', () => {
    expect(withReferences(operations, [4])).toEqual([0, 1, 2, 4]);
    expect(withReferences(operations, [3])).toEqual([3]);
  });
});

describe('the printer of a turn', () => {
  const head = { subscription: 's', session, turn, attempt: 1 };
  const outputs = (...bodies: object[]): Output[] =>
    bodies.map((body, index) => ({ ...head, output: index + 1, ...body }) as Output);
  const printed = (live: boolean, ...bodies: object[]): string => {
    let text = '';
    const printer = new TurnPrinter({ write: (piece) => (text += piece), style: plain, live });
    for (const output of outputs(...bodies)) printer.print(output);
    return text;
  };
  const rounds = [
    { type: 'message', seq: 1 },
    { type: 'text', text: 'Let me ' },
    { type: 'text', text: 'look.' },
    { type: 'message', seq: 2 },
    { type: 'tool_call', tool: 'list_items', tool_use_id: 'a', input: { kind: 'ticket' } },
    { type: 'tool_result', tool: 'list_items', tool_use_id: 'a', text: '{"items":[{},{}]}', is_error: false },
    { type: 'message', seq: 3 },
    { type: 'text', text: 'Done.' },
    { type: 'message', seq: 4 },
    { type: 'done', text: 'end_turn' },
  ];

  it('gives each call and each result a line of its own, live and in a pipe alike', () => {
    const expected = 'Let me look.\n→ list_items kind: ticket\n  ✓ list_items: 2 items\nDone.\n';
    expect(printed(true, ...rounds)).toBe(expected);
    expect(printed(false, ...rounds)).toBe(expected);
  });

  it('spec: planner 8: a compaction is one line, before the answer', () => {
    const text = printed(true, { type: 'compacted', up_to: 8 }, { type: 'text', text: 'Yes.' }, { type: 'message', seq: 10 });
    expect(text).toBe('… the planner summarized the conversation up to message 8, and goes on from the summary\nYes.\n');
  });

  it('marks text of a failed attempt as void before the new attempt begins', () => {
    const text = printed(
      true,
      { type: 'text', text: 'wrong' },
      { type: 'retrying', reason: 'cut_stream', attempt: 2 },
      { type: 'text', text: 'right', attempt: 2 },
      { type: 'message', seq: 2, attempt: 2 },
    );
    expect(text).toBe(
      'wrong\n─── the unfinished answer above is void; here is the new one ───\n' +
        '… cut stream; trying again (attempt 2)\nright\n',
    );
  });

  it('never prints void text into a pipe', () => {
    const text = printed(
      false,
      { type: 'text', text: 'wrong' },
      { type: 'retrying', reason: 'timeout', attempt: 2 },
      { type: 'text', text: 'right', attempt: 2 },
      { type: 'message', seq: 2, attempt: 2 },
    );
    expect(text).toBe('… timeout; trying again (attempt 2)\nright\n');
  });

  it('goes on where it was when all of the answer comes again', () => {
    expect(printed(true, { type: 'text', text: 'Hel' }, { type: 'text', text: 'Hello', replace: true })).toBe('Hello');
  });

  it('shows why a turn failed, and that its unfinished answer was not kept', () => {
    const text = printed(
      true,
      { type: 'text', text: 'half' },
      { type: 'error', text: 'The key was refused.' },
      { type: 'done', text: 'error' },
    );
    expect(text).toBe('half\n✗ The key was refused.\n─── the unfinished answer above was not kept ───\n');
  });

  it('says once, from the third retry on, how to stop', () => {
    const retries = [2, 3, 4, 5].map((attempt) => ({ type: 'retrying', reason: 'overloaded', attempt }));
    const lines = printed(true, ...retries).split('\n');
    expect(lines.filter((line) => line === 'Ctrl-C stops the turn')).toHaveLength(1);
    expect(lines[3]).toBe('Ctrl-C stops the turn');
  });

  it('says when the model answered nothing, also after calls', () => {
    const nothing = '(the model answered nothing; send again or ask differently)\n';
    const done = [{ type: 'message', seq: 9 }, { type: 'done', text: 'end_turn' }];
    expect(printed(true, ...done)).toBe(nothing);
    expect(printed(true, ...rounds.slice(0, -3), ...done)).toMatch(/2 items\n\(the model answered nothing/);
    expect(printed(true, ...rounds)).not.toContain(nothing);
  });

  it('puts into a pipe only what the model says', () => {
    let [text, told] = ['', ''];
    const write = (piece: string): void => void (text += piece);
    const printer = new TurnPrinter({ write, tell: (piece) => (told += piece), style: plain, live: false });
    for (const output of outputs(...rounds)) printer.print(output);
    expect(text).toBe('Let me look.\nDone.\n');
    expect(told).toBe('→ list_items kind: ticket\n  ✓ list_items: 2 items\n');
  });

  it('says when a turn was cancelled', () => {
    const half = [{ type: 'text', text: 'half' }, { type: 'message', seq: 2 }];
    expect(printed(false, ...half, { type: 'done', text: 'cancelled' })).toBe('half\n(cancelled)\n');
  });

  it('shows an error result as one line', () => {
    expect(resultLine('propose_changeset', 'operation 1:\n  title is blank', true, plain)).toBe(
      '  ✗ propose_changeset: operation 1: title is blank',
    );
  });

  it('sums results up', () => {
    expect(resultSummary('{"items":[1],"next":"WEB-9"}')).toBe('1 item, more follow');
    expect(resultSummary('{"changeset":"c1","status":"proposed","operations":4}')).toBe(
      'proposed changeset c1 with 4 operations',
    );
    expect(resultSummary('{"key":"WEB-1","title":"A"}')).toBe('WEB-1 A');
    expect(resultSummary('{"entries":[1]}')).toBe('1 entry');
    expect(resultSummary('(no output)')).toBe('(no output)');
  });
});

describe('the transcript', () => {
  const messages: Message[] = [
    { seq: 1, role: 'user', author: 'ada', turn, created_at: '', blocks: [{ type: 'text', text: 'plan\nthis' }] },
    {
      seq: 2,
      role: 'assistant',
      turn,
      created_at: '',
      blocks: [{ type: 'tool_use', tool_use_id: 'a', name: 'propose_changeset', input: { title: 'T' } }],
    },
    {
      seq: 3,
      role: 'user',
      turn,
      created_at: '',
      blocks: [{ type: 'tool_result', tool_use_id: 'a', text: '{"changeset": "c9"}', is_error: false }],
    },
    {
      seq: 4,
      role: 'assistant',
      turn,
      created_at: '',
      stop_reason: 'cancelled',
      blocks: [{ type: 'text', text: 'half' }],
    },
  ];

  it('shows who said what, calls with their results, and what was cancelled', () => {
    expect(renderMessages(messages, plain)).toEqual([
      '> plan\n> this',
      '→ propose_changeset title: T',
      '  ✓ propose_changeset: proposed changeset c9',
      'half\n(cancelled)',
    ]);
  });

  it('is taken up with whole turns; of a longer one what the human said and its newest messages', () => {
    const of = (turn: string, count: number): Message[] =>
      Array.from({ length: count }, (_, index) => ({
        seq: index + 1,
        role: index === 0 ? 'user' : 'assistant',
        ...(index === 0 ? { author: 'ada' } : {}),
        turn,
        created_at: '',
        blocks: [],
      }));
    const [a, b, c] = [of('a', 4), of('b', 4), of('c', 2)];
    expect(newestTurns([...a, ...b, ...c], 7)).toEqual([[4, [...b, ...c]]]);
    expect(newestTurns([...a, ...c], 9)).toEqual([[0, [...a, ...c]]]);
    const long = of('d', 10);
    expect(newestTurns([...a, ...long], 4)).toEqual([
      [4, long.slice(0, 1)],
      [6, long.slice(7)],
    ]);
    expect(newestTurns([], 4)).toEqual([[0, []]]);
  });

  it('tells which changesets a turn proposed', () => {
    expect(proposedIn(messages, turn)).toEqual(['c9']);
    expect(proposedIn(messages, 'another')).toEqual([]);
  });
});

describe('the header', () => {
  const me: Me = {
    subject: 'ada',
    kind: 'human',
    name: 'Ada',
    expires_at: '',
    bindings: [],
    projects: [{ id: '', key: 'WEB', name: 'Website', description: '', organization: 'acme' }],
    model: { name: 'demo-planner', demo: true },
  };

  it('calls a demo model a demo and says how to set a real one', () => {
    const text = header(me, 'WEB', undefined, plain, true);
    expect(text).toContain('WEB Website · new session · model demo-planner: DEMO MODEL');
    expect(text).toContain('PLANNER_MODEL_BASE_URL');
  });

  it.each([
    ['the demo model, where nobody chose another one', 'demo-planner', { name: 'demo-planner', demo: true }],
    ['one that the project chose, which is no demo', 'm1', { name: 'm1', demo: false }],
    ['the installation\'s, where there is none', '', { name: 'demo-planner', demo: true }],
  ])('spec: planner 9.2: names %s', (_what, model, expected) => {
    const own = { model_from: 'project', provider: 'p', provider_from: 'project', skill: 'planner' } as const;
    const effective = { ...own, model, daily_tokens: 0, organization_daily_tokens: 0 };
    expect(projectModel(me, { effective })).toEqual(expected);
  });

  it('names a real model plainly', () => {
    const text = header({ ...me, model: { name: 'some-model', demo: false } }, 'WEB', undefined, plain, false);
    expect(text).toBe('WEB Website · new session · model some-model');
  });
});

describe('planner status', () => {
  const row = (id: string, created_at: string, more: Partial<StatusRow>): StatusRow => ({
    id,
    session,
    status: 'ended',
    reason: 'end_turn',
    message_seq: 1,
    workflow_id: `planner-turn-${id}`,
    rounds: 2,
    usage: { input: 100, output: 20, cache_read: 3, cache_write: 1 },
    metered: {
      ...{ input: 100, output: 20, cache_read: 3, cache_write: 1 },
      ...{ calls: 2, unanswered: 0, estimated_tokens: 0, unpriced_calls: 2 },
    },
    created_at,
    project: 'WEB',
    title: 'Plan search',
    ...more,
  });
  const rows = newestFirst([
    row('a', '2026-01-01T00:00:00.000Z', {}),
    row('b', '2026-01-01T00:01:00.000Z', { reason: 'error', failure: 'The key was refused.' }),
    row('c', '2025-12-31T00:00:00.000Z', { status: 'active', failure: 'Not yet.' }),
  ]);

  it('puts running turns on top, then the newest', () => {
    expect(rows.map((each) => each.id)).toEqual(['c', 'b', 'a']);
  });

  it('shows rounds, tokens, age, failures, and each workflow with its link', () => {
    const text = renderStatus(rows, 'http://127.0.0.1:8233/', Date.parse('2026-01-01T00:02:00.000Z'), plain);
    expect(text.split('\n').slice(0, 4)).toEqual([
      `project  status    rounds  tokens  age  title        session                               workflow`,
      `WEB      running   2       124     1d   Plan search  ${session}  planner-turn-c`,
      `WEB      error     2       124     1m   Plan search  ${session}  planner-turn-b`,
      `WEB      end_turn  2       124     2m   Plan search  ${session}  planner-turn-a`,
    ]);
    expect(text).toContain('planner-turn-b: The key was refused.');
    expect(text).not.toContain('Not yet.');
    expect(text).toContain('http://127.0.0.1:8233/namespaces/default/workflows/planner-turn-c');
  });
});

describe('where a command finds the planner', () => {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'planner-target-')));
  afterAll(() => rmSync(folder, { recursive: true }));
  const env = { PLANNER_DATA_DIR: folder };
  const stack: StackFile = {
    ...identify(process.pid)!,
    api: 'http://127.0.0.1:8787',
    temporal: '127.0.0.1:7233',
    temporal_namespace: 'default',
    database: 'postgres://stack',
    data_dir: folder,
    model: { name: 'demo-planner', demo: true },
  };

  it('looks for the data folder here, then in the nearest parent that has one', () => {
    const [data, deep] = [path.join(folder, '.planner'), path.join(folder, 'a', 'b')];
    mkdirSync(deep, { recursive: true });
    mkdirSync(data);
    expect(dataFolder({}, deep)).toBe(data);
    expect(dataFolder({ PLANNER_DATA_DIR: 'c' }, deep)).toBe(path.join(deep, 'c'));
    mkdirSync(path.join(deep, '.planner'));
    expect(dataFolder({}, deep)).toBe(path.join(deep, '.planner'));
  });

  it('refuses a data folder that is a file', () => {
    writeFileSync(path.join(folder, 'file'), '');
    const wrong = (): unknown => findTarget({}, { PLANNER_DATA_DIR: path.join(folder, 'file') });
    expect(wrong).toThrow(/PLANNER_DATA_DIR must name a folder; .*file is a file/);
  });

  it('says what to do when none runs', () => {
    expect(() => findTarget({}, env)).toThrow(/Run "npm start" first, or give --address and --token/);
  });

  it('takes the running stack\'s files, then the environment, then options, each before the one before', () => {
    writeStack(folder, stack);
    writeToken(folder, 'plt_file');
    expect(findTarget({}, env)).toEqual({ address: 'http://127.0.0.1:8787', token: 'plt_file' });
    const given = { ...env, PLANNER_ADDRESS: 'http://127.0.0.1:1/', PLANNER_TOKEN: 'plt_env' };
    expect(findTarget({}, given)).toEqual({ address: 'http://127.0.0.1:1', token: 'plt_env' });
    const options = { address: 'http://h:2', token: 'plt_o' };
    expect(findTarget(options, given)).toEqual(options);
  });

  it('does not take the files of a planner that has ended for a running one', () => {
    writeStack(folder, { ...stack, started: 'earlier' });
    expect(() => findTarget({}, env)).toThrow(/No running planner was found/);
    expect(() => findDatabase(env)).toThrow(/run "npm start" first/);
    expect(findDatabase({ ...env, DATABASE_URL: 'postgres://given' })).toBe('postgres://given');
  });

  it('takes the printed address whole, with the token behind its hash', () => {
    expect(findTarget({ address: 'http://127.0.0.1:9/#token=plt_pasted' }, env)).toEqual({
      address: 'http://127.0.0.1:9',
      token: 'plt_pasted',
    });
  });

  it('refuses an address that is none', () => {
    expect(() => findTarget({ address: 'localhost', token: 'x' }, env)).toThrow(/must look like http/);
  });
});

describe('what is typed', () => {
  const read = async (interactive: boolean, ...pieces: string[]): Promise<(string | undefined)[]> => {
    const input = new PassThrough();
    const lines = new Lines({ input, output: new PassThrough(), interactive, onInterrupt: () => undefined });
    const got: (string | undefined)[] = [];
    for (const piece of pieces) {
      input.write(piece);
      if (interactive) got.push(await lines.next('> '));
    }
    input.end();
    for (let line = await lines.next(''); line !== undefined; line = await lines.next('')) got.push(line);
    return got;
  };

  it('is read line by line from a pipe; a backslash at the end goes on', async () => {
    expect(await read(false, 'one\ntwo \\\n- three\n\nlast')).toEqual(['one', 'two \n- three', '', 'last']);
  });

  it('shows nothing of the prompt on a resize while something else is printed', async () => {
    const [input, output] = [new PassThrough(), new PassThrough()];
    const lines = new Lines({ input, output, interactive: true, onInterrupt: () => undefined });
    const asked = lines.next('> ');
    input.write('go\n');
    expect(await asked).toBe('go');
    output.read();
    output.emit('resize');
    input.write('ahead');
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(output.read()).toBeNull();
    void lines.next('> ');
    expect(clean(String(output.read()))).toBe('> ahead');
    lines.close();
  });

  it('is one text when several lines are pasted at once', async () => {
    expect(await read(true, 'goal:\n- a\n- b\n', 'next\n')).toEqual(['goal:\n- a\n- b', 'next']);
  });
});
