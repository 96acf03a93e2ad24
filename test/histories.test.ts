// Kept histories of every branch of every workflow still replay (spec: orchestration "Change without breakage").

import { readdir, readFile } from 'node:fs/promises';
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import { beforeAll, describe, expect, test } from 'vitest';
import { dataConverter } from '../planner/engine.ts';
import { workflowBundle } from '../worker/bundle.ts';
import { groups } from '../workflows/planner-turn.ts';

const histories = new URL('./histories/', import.meta.url);
const kept = async (type: string): Promise<string[]> =>
  (await readdir(new URL(`${type}/`, histories))).filter((name) => name.endsWith('.json')).sort();
const names = await kept('planner-turn');
const runNames = await kept('bounded-claude-plan');
const revalidationNames = await kept('revalidate-runner');
let codePath: string;
Runtime.install({ logger: new DefaultLogger('ERROR'), telemetryOptions: { logging: { filter: 'OFF', forward: {} } } });
beforeAll(async () => {
  codePath = await workflowBundle();
});

async function read(name: string, type = 'planner-turn'): Promise<{ events: Record<string, unknown>[] }> {
  return JSON.parse(await readFile(new URL(`${type}/${name}`, histories), 'utf8')) as { events: Record<string, unknown>[] };
}

describe('plannerTurn', () => {
  test('a history of each branch is kept', () => {
    expect(names).toEqual(
      [
        'cancelled-between-tools', 'cancelled-in-compaction', 'cancelled', 'compacted', 'compaction-failed', 'failed',
        'max-rounds', 'plain', 'retried', 'tools', 'with-search-attributes',
      ].map((name) => `${name}.json`),
    );
  });

  test.for(names)('%s replays', async (name) => {
    const history = await read(name);
    await expect(
      Worker.runReplayHistory({ workflowBundle: { codePath }, dataConverter }, history, 'planner-turn-kept'),
    ).resolves.toBeUndefined();
  });

  test('a history whose workflow did something else does not replay', async () => {
    const history = JSON.stringify(await read('tools.json')).replaceAll('"callModel"', '"callOther"');
    await expect(
      Worker.runReplayHistory({ workflowBundle: { codePath }, dataConverter }, JSON.parse(history), 'planner-turn-kept'),
    ).rejects.toThrow(/callOther|nondeterminism/i);
  });

  test('spec: planner 6.24: neighbouring read-only calls run side by side, a writing one alone and in its place', () => {
    const call = (index: number, writes = false) => ({ call: index, tool: 'x', writes });
    const order = groups([call(0), call(1), call(2, true), call(3, true), call(4), call(5)]);
    expect(order.map((group) => group.map(({ call: index }) => index))).toEqual([[0, 1], [2], [3], [4, 5]]);
    expect(groups(Array.from({ length: 20 }, (_, index) => call(index))).map((group) => group.length)).toEqual([8, 8, 4]);
  });
});

describe('boundedClaudePlan', () => {
  test('a history of each branch is kept', () => {
    expect(runNames).toEqual(
      [
        'cancelled-while-waiting', 'cancelled', 'exhausted', 'failed', 'fresh-session', 'host-away', 'plain',
        'published-later', 'rejected', 'resumed', 'superseded', 'with-search-attributes', 'worker-lost',
      ].map((name) => `${name}.json`),
    );
  });

  test.for(runNames)('%s replays', async (name) => {
    const history = await read(name, 'bounded-claude-plan');
    await expect(
      Worker.runReplayHistory({ workflowBundle: { codePath }, dataConverter }, history, 'bounded-claude-kept'),
    ).resolves.toBeUndefined();
  });

  test('a history whose workflow did something else does not replay', async () => {
    const kept = JSON.stringify(await read('resumed.json', 'bounded-claude-plan'));
    const other = JSON.parse(kept.replaceAll('"superviseClaude"', '"other"')) as unknown;
    await expect(
      Worker.runReplayHistory({ workflowBundle: { codePath }, dataConverter }, other, 'bounded-claude-kept'),
    ).rejects.toThrow(/other|nondeterminism/i);
  });
});

describe('revalidateRunner', () => {
  test('a history of each branch is kept', () => {
    expect(revalidationNames).toEqual(
      ['cancelled', 'failed-runs', 'host-away', 'plain', 'rejected', 'scheduled', 'skipped'].map((name) => `${name}.json`),
    );
  });

  test.for(revalidationNames)('%s replays', async (name) => {
    const history = await read(name, 'revalidate-runner');
    await expect(
      Worker.runReplayHistory({ workflowBundle: { codePath }, dataConverter }, history, 'revalidate-kept'),
    ).resolves.toBeUndefined();
  });

  test('a history whose workflow did something else does not replay', async () => {
    const kept = JSON.stringify(await read('plain.json', 'revalidate-runner'));
    const other = JSON.parse(kept.replaceAll('"openValidationRun"', '"other"')) as unknown;
    await expect(
      Worker.runReplayHistory({ workflowBundle: { codePath }, dataConverter }, other, 'revalidate-kept'),
    ).rejects.toThrow(/other|nondeterminism/i);
  });
});
