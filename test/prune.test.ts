// Outputs are kept until an hour after their turn; what is gone is known, so that readers reload.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemActor, type Principal } from '../domain/actor.ts';
import { authorizeWatch, createSession, readOutputs, sendMessage } from '../planner/conversation.ts';
import { transaction } from '../store/database.ts';
import { createOrganization, createProject, projectByKey } from '../store/projects.ts';
import { bindRole } from '../store/role-bindings.ts';
import { createSubject } from '../store/tokens.ts';
import { endFromOutside, pruneOutputs } from '../store/turns.ts';
import { createTestDatabase, type TestDatabase } from './support/database.ts';

const ada: Principal = { subject: 'ada', kind: 'human' };
let home: TestDatabase;
beforeAll(async () => {
  home = await createTestDatabase();
  await transaction(home.database, async (tx) => {
    await createSubject(tx, { subject: 'ada', kind: 'human', name: 'Ada' });
    const organization = await createOrganization(tx, systemActor, { key: 'acme', name: 'Acme' });
    await createProject(tx, systemActor, { organization_id: organization.id, key: 'WEB', name: 'Web shop' });
    const project = await projectByKey(tx, 'WEB');
    await bindRole(tx, systemActor, { subject: 'ada', role: 'engineer', project_id: project.id });
  });
});
afterAll(() => home.drop());

const session = async (): Promise<string> => (await transaction(home.database, (tx) => createSession(tx, ada, { project: 'WEB' }))).id;
const left = async (id: string): Promise<number[]> =>
  (await readOutputs(home.database, [{ session: id, after: 0 }], 1_000)).map((output) => output.output);

/** A turn of two outputs, `message` and `done`, that ended so many minutes ago. */
async function turnOf(id: string, minutes: number): Promise<void> {
  const { turn } = await sendMessage(home.database, ada, { session: id, text: 'go' });
  await transaction(home.database, (tx) => endFromOutside(tx, turn, 'cancelled'));
  await home.database.query(
    'UPDATE planner_turns SET ended_at = now() - make_interval(mins => $2) WHERE id = $1',
    [turn, minutes],
  );
}

test('only turns that ended more than an hour ago lose their outputs, and the session says up to where', async () => {
  const id = await session();
  await turnOf(id, 90);
  await turnOf(id, 61);
  await turnOf(id, 59);
  await sendMessage(home.database, ada, { session: id, text: 'running' });
  expect(await transaction(home.database, (tx) => pruneOutputs(tx))).toBe(4);
  expect(await left(id)).toEqual([5, 6, 7]);
  expect(await authorizeWatch(home.database, ada, id)).toMatchObject({ pruned: 4, output: 7 });
  expect(await transaction(home.database, (tx) => pruneOutputs(tx))).toBe(0);
});

test('several that prune at once share the work, and disturb nobody who writes', async () => {
  const ids = await Promise.all(Array.from({ length: 60 }, session));
  await Promise.all(ids.map((id) => turnOf(id, 90)));
  const pruned: number[] = [];
  await Promise.all([
    ...Array.from({ length: 6 }, async () => {
      for (let n = 0; n < 3; n++) {
        pruned.push(await transaction(home.database, (tx) => pruneOutputs(tx), { attempts: 1 }));
      }
    }),
    ...ids.map((id) => sendMessage(home.database, ada, { session: id, text: 'next' })),
  ]);
  expect(pruned.reduce((sum, count) => sum + count, 0)).toBe(120);
  for (const id of ids) expect(await left(id)).toEqual([3]);
});
