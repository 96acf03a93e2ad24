// What API and workers write to their logs while they are busy: lines of JSON that can be followed by ids, and no word
// of what people, models and providers wrote (docs/metrics.md, spec: orchestration).

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { registerRepository } from '../bounded/index.ts';
import { transaction } from '../store/database.ts';
import { log, logError, logInfo, noteIds, openLog, withIds } from '../telemetry/log.ts';
import { newTrace, traceOf } from '../telemetry/trace.ts';
import { packet } from './support/bounded-attempt.ts';
import { observe, type Entry, type Observed } from './support/observed.ts';
import { startTestPlanner, until, type TestPlanner } from './support/planner.ts';
import { calls, fails, says, type Reply } from './support/scripted-model.ts';

/** Stands in everything that somebody writes. */
const word = 'zanzibar';
const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
const traceparent = `00-${trace}-00f067aa0ba902b7-01`;

let planner: TestPlanner;
let observed: Observed;
let root: string;
let answered: { session: string; turn: string };

beforeAll(async () => {
  planner = await startTestPlanner();
  root = mkdtempSync(path.join(tmpdir(), 'logs-'));
  const repo = path.join(root, 'repo');
  mkdirSync(repo);
  await transaction(planner.database, (tx) =>
    registerRepository(tx, { machine: 'logs-host', path: repo, project: 'WEB', alias: 'shop' }),
  );
  observed = await observe(planner, { HOME: root, PLANNER_MACHINE: 'logs-host', PLANNER_LOG_LEVEL: 'debug' });
  await beBusy();
});
afterAll(async () => {
  await observed?.close();
  await planner?.close();
  rmSync(root, { recursive: true, force: true });
});

async function created(at: string, body: unknown): Promise<Record<string, string>> {
  const response = await observed.rest('POST', at, body);
  return (await response.json()) as Record<string, string>;
}

async function ask(text: string, headers: Record<string, string> = {}): Promise<{ session: string; turn: string }> {
  const { id: session = '' } = await created('/projects/WEB/planner/sessions', { title: `A ${word} session` });
  const response = await observed.rest('POST', `/planner/sessions/${session}/messages`, { text }, headers);
  const { turn } = (await response.json()) as { turn: string };
  return { session, turn };
}

/** All that a planner does, well and badly. */
async function beBusy(): Promise<void> {
  const replies: Reply[] = [
    fails(503, `no ${word} here`),
    calls('create_knowledge', { kind: 'note', title: `The ${word}`, body: `All about ${word}.` }),
    calls('search_project', { query: word }),
    calls('propose_changeset', {
      title: `More ${word}`,
      operations: [{ kind: 'create_item', ref: 'a', create: { kind: 'ticket', title: `A ${word}` } }],
    }),
    calls('get_item', { key: `${word}-1` }),
    calls('list_items', `{ ${word}`),
    says(`It is ${word}, of course.`),
    fails(400, `${word} is refused`),
  ];
  planner.model.play((_, n) => replies[n] ?? [{ text: `${word} ` }, { hang: true }]);
  answered = await ask(`Where is ${word}?`, { traceparent });
  expect(await planner.ended(answered.turn)).toMatchObject({ reason: 'end_turn', rounds: 6 });
  expect(await planner.ended((await ask(`And ${word} again?`)).turn)).toMatchObject({ reason: 'error' });
  const hanging = await ask(`${word}?`);
  await planner.seen(hanging.session, (outputs) => outputs.some(({ body }) => body.type === 'text'));
  await observed.rest('POST', `/planner/sessions/${hanging.session}/cancel`, {});
  expect(await planner.ended(hanging.turn)).toMatchObject({ reason: 'cancelled' });
  await observed.rest('POST', `/projects/WEB/items`, { kind: 'ticket', title: `The ${word} ticket` });
  await observed.rest('PATCH', `/items/WEB-1`, { title: `${word}`, unknown: word });
  await observed.rest('GET', `/search?q=${word}`);
  await observed.rest('GET', `/${word}`);
  await observed.rest('POST', `/projects/WEB/items`, `{ ${word}`);
  // The database complains, and quotes what it got.
  await planner.database.query('ALTER TABLE skill_pins RENAME TO skill_pins_gone');
  planner.model.play(() => says(word));
  await planner.ended((await ask(`${word}!`)).turn);
  await planner.database.query('ALTER TABLE skill_pins_gone RENAME TO skill_pins');
  const text = packet.replace(/^(## .*)$/m, `$1\n\nThe ${word} matters.`);
  const asked = { repo: 'shop', host: 'codex', role: 'deep_reasoner', packet: text, demo: true };
  expect(await statusOf(await created('/bounded-runs', asked))).toBe('succeeded');
  writeFileSync(path.join(root, `repo/${word}.md`), word);
  expect(await statusOf(await created('/bounded-runs', { ...asked, output: `${word}.md` }))).toBe('rejected');
  await created('/bounded-runs', { ...asked, packet: `# ${word}` });
}

/** Of a run, once it has ended. */
async function statusOf({ run }: Record<string, string>): Promise<string> {
  return until('the end of a run', async () => {
    const [row] = await planner.database.query<{ status: string }>(
      `SELECT status FROM bounded_runs WHERE id = $1 AND status NOT IN ('pending', 'running')`,
      [run],
    );
    return row?.status;
  }, 30_000);
}

const about = (ids: Partial<Record<string, unknown>>): Entry[] =>
  observed.entries().filter((entry) => Object.entries(ids).every(([key, value]) => entry[key] === value));

describe('the logs of a busy planner', () => {
  test('each line is one JSON object with time, level, process and message', () => {
    expect(observed.lines().length).toBeGreaterThan(40);
    for (const entry of observed.entries()) {
      expect(entry).toMatchObject({ time: expect.stringMatching(/Z$/), message: expect.any(String) });
      expect(['error', 'warn', 'info', 'debug']).toContain(entry.level);
      expect(['api', 'worker']).toContain(entry['process']);
    }
  });

  test('no level of them holds a word of what anybody wrote', () => {
    expect(observed.lines().filter((line) => line.toLowerCase().includes(word))).toEqual([]);
  });

  test('although faults are told with their reason', () => {
    const [entry] = observed.entries().filter(({ message }) => message === 'the planner skill could not be looked up');
    expect(entry).toMatchObject({ level: 'warn', code: '42P01', reason: expect.stringContaining('skill_pins') });
  });

  test('nor a token or a key', () => {
    const secrets = [observed.token, `Bearer`, planner.url];
    expect(observed.lines().filter((line) => secrets.some((secret) => line.includes(secret)))).toEqual([]);
  });

  test('a turn is found by its id, in both processes, with session, workflow and trace', () => {
    const lines = about({ turn: answered.turn });
    const ids = { session: answered.session, trace_id: trace };
    for (const message of ['model call ended', 'tool call ended', 'turn ended', 'tried again']) {
      const found = lines.filter((entry) => entry.message === message);
      expect([message, found.length > 0]).toEqual([message, true]);
      for (const entry of found) expect(entry).toMatchObject({ ...ids, workflow: `planner-turn-${answered.turn}` });
    }
    const tools = lines.filter(({ message }) => message === 'tool call ended');
    expect(tools.map(({ tool, outcome }) => `${tool} ${outcome}`)).toEqual([
      'create_knowledge ok',
      'search_project ok',
      'propose_changeset ok',
      'get_item error',
      'list_items error',
    ]);
    const [ended] = lines.filter(({ message }) => message === 'turn ended');
    expect(ended).toMatchObject({ reason: 'end_turn', rounds: 6, seconds: expect.any(Number) });
  });

  test('by the trace that its caller named, from the request to the last tool', () => {
    const lines = about({ trace_id: trace });
    expect(lines.map(({ process }) => process)).toEqual(expect.arrayContaining(['api', 'worker']));
    const [request] = lines.filter(({ message }) => message === 'request');
    expect(request).toMatchObject({ method: 'POST', route: '/planner/sessions/:session/messages', status: 201 });
  });

  test('turns whose caller names none have a trace each, and runs too', async () => {
    const rows = await planner.database.query<{ trace_id: string }>(
      'SELECT trace_id FROM planner_turns UNION ALL SELECT trace_id FROM bounded_runs',
    );
    expect(rows.length).toBeGreaterThan(4);
    expect(new Set(rows.map(({ trace_id }) => trace_id)).size).toBe(rows.length);
    for (const { trace_id } of rows) expect(trace_id).toMatch(/^[0-9a-f]{32}$/);
  });

  test('a bounded run tells its attempts and its end by the same ids', () => {
    const [ended] = observed.entries().filter(({ message }) => message === 'bounded run ended');
    expect(ended).toMatchObject({ process: 'worker', status: 'succeeded', failure: null });
    expect(ended!['workflow']).toMatch(/^bounded-claude-/);
    const lines = about({ run: ended!['run'] });
    expect(lines.map(({ message }) => message)).toContain('attempt of a bounded run ended');
    for (const entry of lines) {
      expect(entry).toMatchObject({ trace_id: ended!['trace_id'], workflow: ended!['workflow'] });
      expect(entry).not.toHaveProperty('session');
    }
  });
});

describe('traces', () => {
  test('an answer names its trace: the caller\'s where it is well formed, else a new one', async () => {
    const named = await observed.rest('GET', '/me', undefined, { traceparent });
    expect(named.headers.get('x-trace-id')).toBe(trace);
    const other = await observed.rest('GET', '/me', undefined, { traceparent: `00-${word}-1-1` });
    expect(other.headers.get('x-trace-id')).toMatch(/^[0-9a-f]{32}$/);
  });

  test.each([
    ['a version of the future', `01-${trace}-00f067aa0ba902b7-01-more`, trace],
    ['nothing', undefined, undefined],
    ['zeros', `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`, undefined],
    ['a parent of zeros', `00-${trace}-${'0'.repeat(16)}-01`, undefined],
    ['capitals', `00-${trace.toUpperCase()}-00f067aa0ba902b7-01`, undefined],
    ['the forbidden version', `ff-${trace}-00f067aa0ba902b7-01`, undefined],
    ['a line break', `${traceparent}\n{"level":"info"}`, undefined],
    ['a text', word, undefined],
  ])('of a traceparent: %s', (_, header, expected) => {
    expect(traceOf(header)).toBe(expected);
  });

  test('new ones are traces', () => {
    expect(traceOf(`00-${newTrace()}-00f067aa0ba902b7-01`)).toBeDefined();
  });
});

describe('an entry', () => {
  function written(act: () => void): Entry[] {
    const said = vi.spyOn(console, 'error').mockImplementation(() => undefined);
    try {
      act();
      return said.mock.calls.map(([line]) => JSON.parse(String(line)) as Entry);
    } finally {
      said.mockRestore();
      openLog('planner', 'warn');
    }
  }

  test('is written from the configured level on', () => {
    const of = (level: 'error' | 'warn' | 'info' | 'debug'): string[] =>
      written(() => {
        openLog('api', level);
        for (const each of ['error', 'warn', 'info', 'debug'] as const) log(each, 'x');
      }).map((entry) => entry.level);
    expect([of('error'), of('warn'), of('info'), of('debug')].map((all) => all.length)).toEqual([1, 2, 3, 4]);
  });

  test('carries the ids around it, and what a row has told, to the end of that work only', async () => {
    const entries = written(() => {
      openLog('worker', 'info');
      withIds({ turn: 't', trace_id: 'caller' }, () => {
        noteIds({ session: 's', trace_id: 'row' });
        logInfo('in');
      });
      noteIds({ session: 'nobody' });
      logInfo('out');
    });
    expect(entries).toMatchObject([{ message: 'in', turn: 't', session: 's', trace_id: 'caller' }, { message: 'out' }]);
    expect(Object.keys(entries[1]!)).toEqual(['time', 'level', 'process', 'message']);
  });

  test('of a fault is bounded, whatever the fault says', () => {
    const [entry] = written(() => logError('broken', new Error('x'.repeat(100_000))));
    expect(String(entry!['reason']).length).toBe(500);
    expect(JSON.stringify(entry).length).toBeLessThan(10_000);
  });

  test('a line break in a field stays within its line', () => {
    const said = vi.spyOn(console, 'error').mockImplementation(() => undefined);
    logError('broken', new Error('one\n{"level":"info","message":"forged"}'));
    const [line] = said.mock.calls[0] as [string];
    said.mockRestore();
    expect(line).not.toContain('\n');
  });
});
