// The event log as a whole: every type is told by what it is named for, each event whole (spec: planner 12).

import { validate, version } from 'uuid';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { actorOf, systemActor, type Principal } from '../domain/actor.ts';
import type { EventType, StoredEvent } from '../domain/event.ts';
import { updateSession } from '../planner/conversation.ts';
import { applyChangeset, proposeChangeset, rejectChangeset } from '../store/changesets.ts';
import { deleteCredential, setCredential } from '../store/credentials.ts';
import { transaction, type Tx } from '../store/database.ts';
import { addDependency, removeDependency } from '../store/dependencies.ts';
import { createItem, transitionItem, updateItem } from '../store/items.ts';
import { createKnowledge, updateKnowledge } from '../store/knowledge.ts';
import { projectByKey } from '../store/projects.ts';
import { bindRole, createRoleBinding, deleteRoleBinding } from '../store/role-bindings.ts';
import { keyring, newSecretKey } from '../store/sealing.ts';
import { updateOrganization, updateProject } from '../store/settings.ts';
import { pinSkill, unpinSkill } from '../store/skill-pins.ts';
import { createSkill, publishSkill, updateSkill } from '../store/skills.ts';
import { createSubject } from '../store/tokens.ts';
import { says } from './support/scripted-model.ts';
import { startTestRuns, type TestRuns } from './support/runs.ts';

let runs: TestRuns;
let root: Principal;
const told = (): Promise<(StoredEvent & { scope: string })[]> =>
  runs.planner.database.query('SELECT * FROM events ORDER BY scope, seq');
const run = <T>(body: (tx: Tx) => Promise<T>): Promise<T> => transaction(runs.planner.database, body);

beforeAll(async () => {
  runs = await startTestRuns();
  await runs.startHost();
  root = { subject: 'root', kind: 'human' };
  await run(async (tx) => {
    await createSubject(tx, { subject: 'root', kind: 'human', name: 'Root' });
    await createSubject(tx, { subject: 'guest', kind: 'human', name: 'Guest' });
    await bindRole(tx, systemActor, { subject: 'root', role: 'platform-admin' });
  });
});
afterAll(() => runs.close());

async function changeTheTracker(): Promise<void> {
  const item = (kind: string) => run((tx) => createItem(tx, root, 'WEB', { kind, title: 'An item' }));
  const [first, second] = [await item('ticket'), await item('ticket')];
  await run((tx) => updateItem(tx, root, first.key, { version: 1, title: 'Renamed' }));
  await run((tx) => transitionItem(tx, root, first.key, { state: 'ready' }));
  const { id } = await run((tx) => addDependency(tx, root, first.key, { type: 'blocks', to: second.key }));
  await run((tx) => removeDependency(tx, root, id));
  const project = await projectByKey(runs.planner.database, 'WEB');
  const propose = (): Promise<{ id: string }> =>
    run((tx) =>
      proposeChangeset(
        tx,
        { project, actor: actorOf(root), principal: root },
        { title: 'A plan', operations: [{ kind: 'create_item', ref: 'a', create: { kind: 'ticket', title: 'Planned' } }] },
      ),
    );
  const [applied, rejected] = [await propose(), await propose()];
  await run((tx) => applyChangeset(tx, root, applied.id, { operations: [0] }));
  await run((tx) => rejectChangeset(tx, root, rejected.id));
}

async function changeTheRest(): Promise<void> {
  const skill = { scope: 'platform', name: 'review', description: 'How.', body: 'Read.' } as const;
  const { id } = await run((tx) => createSkill(tx, root, skill));
  await run((tx) => updateSkill(tx, root, id, { version: 1, body: 'Read twice.' }));
  await run((tx) => publishSkill(tx, root, id, { version: 2 }));
  await run((tx) => pinSkill(tx, root, 'WEB', 'review', { version: 1 }));
  await run((tx) => unpinSkill(tx, root, 'WEB', 'review'));
  const note = await run((tx) => createKnowledge(tx, root, 'acme', { kind: 'note', title: 'A note', body: '' }));
  await run((tx) => updateKnowledge(tx, root, 'acme', note.id, { version: 1, body: 'More.' }));
  const input = { subject: 'guest', role: 'viewer', project: 'WEB' } as const;
  const binding = await run((tx) => createRoleBinding(tx, root, input));
  await run((tx) => deleteRoleBinding(tx, root, binding.id));
  const { organization_id } = await projectByKey(runs.planner.database, 'WEB');
  const credential = { provider: 'openai', api_key: 'k' };
  await run((tx) => setCredential(tx, root, keyring([newSecretKey()]), { organization_id }, credential));
  await run((tx) => deleteCredential(tx, root, { organization_id }, 'openai'));
  await run((tx) => updateProject(tx, root, 'WEB', { settings: { daily_tokens: 10_000_000 } }));
  await run((tx) => updateOrganization(tx, root, 'acme', { name: 'Acme & Co.' }));
  await run((tx) => updateProject(tx, root, 'WEB', { name: 'Shop' }));
}

/** Two turns, before the second of which the first is summarized. */
async function converse(): Promise<void> {
  const { planner } = runs;
  planner.model.play((_request, n) =>
    n === 0 ? [{ usage: { input: 200_000, output: 10 } }, { text: 'sesame' }] : says('sesame'),
  );
  const session = await planner.session();
  await planner.ended(await planner.send(session, 'sesame?'));
  await planner.ended(await planner.send(session, 'And now?'));
  await updateSession(planner.database, root, session, { title: 'Renamed' });
}

test('spec: planner 12.5: every type is told by what it is named for', async () => {
  await changeTheTracker();
  await changeTheRest();
  await converse();
  runs.play('ok');
  await runs.ended(await runs.start());
  const expected: EventType[] = [
    'item.created', 'item.updated', 'item.state_changed', 'dependency.added', 'dependency.removed',
    'changeset.proposed', 'changeset.applied', 'changeset.rejected',
    'skill.created', 'skill.updated', 'skill.published', 'project.skill_pinned', 'project.skill_unpinned',
    'knowledge.created', 'knowledge.updated', 'role_binding.created', 'role_binding.deleted',
    'credential.set', 'credential.deleted', 'budget.set',
    'planner.session_created', 'planner.session_updated', 'planner.message', 'planner.turn_started',
    'planner.turn_ended', 'planner.compacted',
    'bounded_run.started', 'bounded_run.attempt_ended', 'bounded_run.ended',
    'organization.created', 'organization.updated', 'project.created', 'project.updated',
  ];
  expect([...new Set((await told()).map(({ type }) => type))].sort()).toEqual(expected.sort());
});

test('spec: planner 12.2: each event has an id, its time, its place, what it is about, and who did it', async () => {
  const events = await told();
  expect(events.length).toBeGreaterThan(30);
  for (const event of events) {
    expect([event.type, validate(event.id), version(event.id)]).toEqual([event.type, true, 7]);
    expect(event.occurred_at).toMatch(/^\d{4}-\d\d-\d\dT.*Z$/);
    expect(event.type.split('.')[0]).toMatch(/^[a-z_]+$/);
    expect(event.entity_type).not.toBe('');
    expect(event.entity_id).not.toBe('');
    expect(['human', 'service', 'system']).toContain(event.actor.kind);
    expect(event.payload).toEqual(expect.any(Object));
    expect(event.scope).toBe(
      event.project_id
        ? `project:${event.project_id}`
        : event.organization_id
          ? `organization:${event.organization_id}`
          : 'installation',
    );
  }
  const message = events.find(({ type, actor }) => type === 'planner.message' && actor.kind === 'service');
  expect(message!.actor.acting_for).toBe('ada');
});

test('spec: planner 12.1: they are numbered from 1, without a gap, in each project, organization and the installation', async () => {
  const scopes = Map.groupBy(await told(), ({ scope }) => scope.split(':')[0]);
  expect([...scopes.keys()].sort()).toEqual(['installation', 'organization', 'project']);
  for (const events of scopes.values()) {
    expect(events.map(({ seq }) => seq)).toEqual(Array.from({ length: events.length }, (_, index) => index + 1));
  }
});

test('spec: planner 12.5: a message\'s event tells its role and nothing of its content', async () => {
  const messages = (await told()).filter(({ type }) => type === 'planner.message');
  expect(new Set(messages.map(({ payload }) => payload['role']))).toEqual(new Set(['user', 'assistant']));
  expect(JSON.stringify(await told())).not.toContain('sesame');
});
