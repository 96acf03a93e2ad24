// Search inside a turn: the worker indexes, the planner's tools find, and no transaction waits for a model
// (spec: planner 4, 6; orchestration "runTool").

import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Embedder } from '../models/embeddings/index.ts';
import { createItem } from '../store/items.ts';
import { transaction } from '../store/database.ts';
import { ada, startTestPlanner, until, type TestPlanner } from './support/planner.ts';
import { calls, inTurn, says } from './support/scripted-model.ts';
import { planeEmbedder } from './support/search.ts';

let planner: TestPlanner;
const plane = planeEmbedder((text) => (/bird|Heron/.test(text) ? 0 : 90));
/** A tool call's transaction shares its turn's lock: whether another could have it while the query was embedded. */
let unlocked = false;
const embedder: Embedder = {
  ...plane,
  async query(text) {
    unlocked = await until('the lock of the turn', async () => {
      const sql = "SELECT 1 FROM planner_turns WHERE status = 'active' FOR UPDATE SKIP LOCKED";
      return (await planner.database.query(sql)).length > 0;
    });
    return plane.query(text);
  },
};
beforeAll(async () => {
  planner = await startTestPlanner();
  await planner.startWorker({ embedder });
});
afterAll(() => planner.close());

const results = async (session: string): Promise<string[]> =>
  (await planner.transcript(session)).flatMap(({ blocks }) =>
    blocks.flatMap((block) => (block.type === 'tool_result' ? [block.text] : [])),
  );

test('a tool finds by meaning what the worker indexed; its query is embedded once, in no transaction', async () => {
  await transaction(planner.database, (tx) => createItem(tx, ada, 'WEB', { kind: 'ticket', title: 'Heron' }));
  await until('the index', async () => (await planner.database.query('SELECT 1 FROM search_embeddings')).length > 0);
  const session = await planner.session();
  planner.model.play(inTurn(calls('search_project', { query: 'a bird' }), says('Found.')));
  await planner.ended(await planner.send(session, 'Where are birds?'));
  const [result] = await results(session);
  expect(JSON.parse(result!)).toEqual({ items: [{ kind: 'item', ref: 'WEB-1', title: 'Heron', snippet: '' }] });
  expect(unlocked).toBe(true);
  expect(plane.asked.filter((text) => text === 'a bird')).toHaveLength(1);
});

test('arguments that do not fit are an error result, and nothing is embedded for them', async () => {
  const session = await planner.session();
  const before = plane.asked.length;
  const requests = planner.model.requests.length;
  const script = inTurn(calls('search_knowledge', { query: 'a bird', kind: 'ticket' }), says('Sorry.'));
  planner.model.play((request, n) => script(request, n - requests));
  await planner.ended(await planner.send(session, 'Search.'));
  expect((await results(session))[0]).toMatch(/kind/);
  expect(plane.asked.length).toBe(before);
});
