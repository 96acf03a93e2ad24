// A turn whose earlier round is no longer in the database, as after a failover that lost commits.
// (spec: orchestration "callModel": never on over a hole)

import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { toolUses, type ToolResultBlock } from '../domain/transcript.ts';
import { failureTexts } from '../domain/turn.ts';
import { startTurn } from '../planner/engine.ts';
import { brief, startTestPlanner, type TestPlanner } from './support/planner.ts';
import { calls, says, type Reply } from './support/scripted-model.ts';

let planner: TestPlanner;
beforeAll(async () => {
  planner = await startTestPlanner();
  await planner.startWorker();
});
afterAll(() => planner.close());

const lost = {
  'the answer of the round before': [`DELETE FROM planner_messages WHERE turn_id = $1 AND round = 0 AND role = 'assistant'`],
  'both messages of the round before': ['DELETE FROM planner_messages WHERE turn_id = $1 AND round = 0'],
  'a result of the round before': [
    `DELETE FROM planner_messages WHERE turn_id = $1 AND round = 0 AND role = 'user'`,
    'DELETE FROM planner_tool_results WHERE turn_id = $1',
    'UPDATE planner_turns SET round = 0, call_attempt = 1 WHERE id = $1',
  ],
} as const;

test.for(Object.entries(lost))(
  'spec: orchestration: never on over a hole: %s lost, the turn ends with an error, and the session is free',
  async ([, statements]) => {
    const session = await planner.session();
    const first = planner.model.requests.length;
    let lose: (() => void) | undefined;
    const gone = new Promise<void>((resolve) => (lose = resolve));
    const replies: Reply[] = [calls('list_items', {}), [{ gate: gone }, { cut: true }], says('Over the hole.')];
    planner.model.play((_, n) => replies[n - first] ?? says('Whole again.'));

    const turn = await planner.send(session, 'go');
    await planner.model.request(first + 1);
    for (const statement of statements) await planner.database.query(statement, [turn]);
    lose!();

    expect(await planner.ended(turn)).toMatchObject({ reason: 'error', failure: failureTexts.hole });
    expect(planner.model.requests.length).toBe(first + 2);
    expect(brief(await planner.outputs(session)).slice(-2)).toEqual([`error ${failureTexts.hole}`, 'done error']);

    const blocks = (await planner.transcript(session)).flatMap((message) => message.blocks);
    const answered = blocks.filter((block): block is ToolResultBlock => block.type === 'tool_result');
    for (const call of toolUses(blocks)) expect(answered.map((result) => result.tool_use_id)).toContain(call.tool_use_id);

    const next = await planner.send(session, 'again');
    expect(await planner.ended(next)).toMatchObject({ reason: 'end_turn' });
  },
);

test('spec: orchestration: a turn that is lost whole: its workflow ends, and asks no model', async () => {
  const turn = uuidv7();
  const before = planner.model.requests.length;
  await startTurn(planner.client, { session: uuidv7(), turn });
  expect(await planner.client.workflow.getHandle(`planner-turn-${turn}`).result()).toMatchObject({ reason: 'error' });
  expect(planner.model.requests.length).toBe(before);
});

test('spec: orchestration: an answer that is lost while its calls run: the turn ends with an error at once', async () => {
  // The first call's commit takes the answer along.
  await planner.database.query(
    `CREATE FUNCTION lose_answer() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
       DELETE FROM planner_messages WHERE turn_id = NEW.turn_id AND role = 'assistant'; RETURN NULL;
     END $$`,
  );
  await planner.database.query(
    `CREATE TRIGGER lose_answer AFTER INSERT ON planner_tool_results FOR EACH ROW WHEN (NEW.tool = 'list_runnable')
     EXECUTE FUNCTION lose_answer()`,
  );
  const propose = { title: 'Lost', operations: [{ kind: 'create_item', ref: 'a', create: { kind: 'ticket', title: 'A' } }] };
  const answer: Reply = [{ call: { name: 'list_runnable', input: {} } }, { call: { name: 'propose_changeset', input: propose } }];
  planner.model.play(() => answer);
  const session = await planner.session();
  const turn = await planner.send(session, 'go');
  expect(await planner.ended(turn, 10_000)).toMatchObject({ reason: 'error', failure: failureTexts.hole });
  expect(await planner.database.query(`SELECT 1 FROM changesets WHERE title = 'Lost'`)).toEqual([]);
});
