// Records the kept histories anew: `npm run record-histories`. Do so only for a branch that is new; an old history shows
// that workflows which began before a change still run after it.

import { mkdir, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { knowsSearchAttributes, startTestPlanner, until, type TestPlanner } from '../support/planner.ts';
import { calls, fails, inTurn, says, type Reply, type Script } from '../support/scripted-model.ts';

const create = { kind: 'create_item', ref: 'a', create: { kind: 'ticket', title: 'A' } };
const changeset = { title: 'One ticket', operations: [create] };

/** A second turn whose conversation is too long, as its first answer reported. */
const compacting = (...replies: Reply[]): Script => inTurn([{ usage: { input: 90_000, output: 10 } }, { text: 'First.' }], ...replies);

interface Scenario {
  script: Script;
  cancelled?: boolean;
  /** Turns that ended before the one whose history is kept. */
  before?: number;
  reason: string;
}

const scenarios: Record<string, Scenario> = {
  plain: { script: () => says('An answer.'), reason: 'end_turn' },
  tools: {
    script: inTurn(
      [{ call: { name: 'list_items', input: {} } }, { call: { name: 'list_runnable', input: {} } }],
      calls('propose_changeset', changeset),
      [{ call: { name: 'list_changesets', input: {} } }, { call: { name: 'no_such_tool', input: '{"half":' } }],
      says('Proposed.'),
    ),
    reason: 'end_turn',
  },
  'with-search-attributes': {
    script: inTurn(calls('list_items', {}), says('Answered.')),
    reason: 'end_turn',
  },
  retried: { script: inTurn([{ text: 'half' }, { cut: true }], says('whole')), reason: 'end_turn' },
  cancelled: { script: () => [{ text: 'Once' }, { hang: true }], cancelled: true, reason: 'cancelled' },
  'cancelled-between-tools': {
    script: inTurn(calls('list_items', {}), [{ text: 'Then' }, { hang: true }]),
    cancelled: true,
    reason: 'cancelled',
  },
  failed: { script: () => fails(401), reason: 'error' },
  'max-rounds': { script: () => calls('list_items', {}), reason: 'max_rounds' },
  compacted: {
    script: compacting(says('A summary.'), calls('list_items', {}), says('Answered.')),
    before: 1,
    reason: 'end_turn',
  },
  'compaction-failed': {
    script: compacting(fails(503), says(' '), calls('list_items', {}), says('Answered.')),
    before: 1,
    reason: 'end_turn',
  },
  'cancelled-in-compaction': {
    script: compacting([{ text: 'A half summary' }, { hang: true }]),
    before: 1,
    cancelled: true,
    reason: 'cancelled',
  },
};

let planner: TestPlanner;
const folder = new URL('./planner-turn/', import.meta.url);
beforeAll(async () => {
  planner = await startTestPlanner();
  await planner.startWorker({ maxRounds: 3, compactAtTokens: 50_000 });
  await knowsSearchAttributes(planner);
  await mkdir(folder, { recursive: true });
});
afterAll(() => planner.close());

for (const [name, { script, cancelled, before: turns = 0, reason }] of Object.entries(scenarios)) {
  test(name, async () => {
    const before = planner.model.requests.length;
    planner.model.play((request, n) => script(request, n - before));
    const session = await planner.session();
    for (let n = 0; n < turns; n++) await planner.ended(await planner.send(session, 'first'));
    const turn = await planner.send(session, 'go');
    if (cancelled) {
      if (turns > 0) await planner.model.request(before + turns);
      else await planner.seen(session, (outputs) => outputs.some((output) => output.body.type === 'text'));
      await planner.cancel(session);
    }
    expect(await planner.ended(turn)).toMatchObject({ reason });
    const handle = planner.client.workflow.getHandle(`planner-turn-${turn}`);
    await until('the workflow to end', async () => (await handle.describe()).status.name !== 'RUNNING');
    await writeFile(new URL(`${name}.json`, folder), `${historyToJSON(await handle.fetchHistory()).replaceAll(hostname(), 'host')}\n`);
  });
}
