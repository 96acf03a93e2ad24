import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { plannerActor, actorOf, type Principal } from '../domain/actor.ts';
import type { Changeset, Operation } from '../domain/changeset.ts';
import {
  applyChangeset,
  getChangeset,
  listChangesets,
  proposeChangeset,
  rejectChangeset,
} from '../store/changesets.ts';
import { addDependency } from '../store/dependencies.ts';
import { getItem, listItems, transitionItem, updateItem } from '../store/items.ts';
import { createTracker, projectEvents, type Tracker } from './support/tracker.ts';

let t: Tracker;
beforeAll(async () => {
  t = await createTracker();
});
afterAll(() => t.drop());

const failing = (code: string, message: RegExp) =>
  expect.objectContaining({ code, message: expect.stringMatching(message) });
const create = (ref: string, fields: Record<string, unknown> = {}) => ({
  kind: 'create_item',
  ref,
  create: { kind: 'ticket', title: `Item ${ref}`, ...fields },
});
const update = (item: string, fields: Record<string, unknown>) => ({ kind: 'update_item', update: { item, ...fields } });
const blocks = (from: string, to: string) => ({ kind: 'add_dependency', dependency: { from, to, type: 'blocks' } });

const propose = (operations: unknown[], by: Principal = t.engineer, actor = actorOf(by)): Promise<Changeset> =>
  t.run((tx) =>
    proposeChangeset(tx, { project: t.web, actor, principal: by }, { title: 'A plan', summary: '# Why', operations }),
  );
const apply = (id: string, operations: number[], accept_stale = false, by = t.approver): Promise<Changeset> =>
  t.run((tx) => applyChangeset(tx, by, id, { operations, accept_stale }));
const reject = (id: string, by = t.approver): Promise<Changeset> => t.run((tx) => rejectChangeset(tx, by, id));
const keysNow = async (): Promise<string[]> =>
  (await listItems(t.database, t.viewer, 'WEB', { limit: 500 })).items.map(({ key }) => key);

describe('spec: planner 2: propose', () => {
  test('spec: planner 2.12: stores the proposal and changes nothing else', async () => {
    const before = await keysNow();
    const actor = plannerActor('01890000-0000-7000-8000-000000000000', 'erin');
    const made = await propose([create('a'), create('b'), blocks('$a', '$b')], t.engineer, actor);
    expect(await getChangeset(t.database, t.viewer, made.id)).toEqual(made);
    expect(made).toMatchObject({
      project: 'WEB',
      title: 'A plan',
      summary: '# Why',
      status: 'proposed',
      proposed_by: actor,
      version: 1,
      stale: [],
    });
    expect(made).not.toHaveProperty('decided_by');
    expect(await keysNow()).toEqual(before);
    const events = (await projectEvents(t.database, t.web)).filter(({ entity_id }) => entity_id === made.id);
    expect(events.map(({ type, actor: by }) => [type, by])).toEqual([['changeset.proposed', actor]]);
  });

  test('spec: planner 2.10: dynamic problems are all told, as if all operations were approved', async () => {
    const [a, b] = [await t.item({}), await t.item({})];
    await t.run((tx) => addDependency(tx, t.engineer, a.key, { type: 'blocks', to: b.key }));
    const operations = [create('c', { epic: a.key }), blocks(b.key, '$c'), blocks('$c', a.key), update('OPS-1', { title: 'x' })];
    await expect(propose(operations)).rejects.toEqual(
      failing(
        'invalid_argument',
        new RegExp(
          `operation 1: create.epic: ${a.key} is a ticket, not an epic\n` +
            `operation 3: \\$c blocks ${a.key} would close a cycle: \\$c -> ${a.key} -> ${b.key} -> \\$c\n` +
            'operation 4: update.item: there is no item OPS-1 in project WEB',
        ),
      ),
    );
  });

  test('spec: planner 2.23: the planner can\'t set policy, a human can; nobody proposes without tracker.write', async () => {
    const operations = [create('a', { policy: { merge_mode: 'manual' } })];
    await expect(propose(operations, t.engineer, plannerActor('s', 'erin'))).rejects.toEqual(
      failing('invalid_argument', /operation 1: create.policy is for humans only/),
    );
    const { id } = await propose(operations);
    const { results } = await apply(id, [0]);
    expect((await getItem(t.database, t.viewer, results![0]!.key!)).policy).toEqual({
      review_mode: 'agent',
      merge_mode: 'manual',
    });
    await expect(propose([create('a')], t.viewer)).rejects.toEqual(failing('forbidden', /tracker.write/));
  });
});

describe('spec: planner 2: apply', () => {
  test('reports f09, spec: planner 2.3, 2.4, 2.5, 2.6, 2.17, 2.20: assigns keys in order, links by $ref, and tells one event an effect', async () => {
    const old = await t.item({ title: 'Old' });
    const { id } = await propose([
      create('m', { kind: 'milestone' }),
      create('e', { kind: 'epic', milestone: '$m' }),
      create('t', { epic: '$e', milestone: '$m', type: 'spike', acceptance_criteria: ['done'] }),
      update(old.key, { title: 'New', epic: '$e' }),
      blocks('$t', old.key),
    ]);
    const done = await apply(id, [4, 3, 2, 1, 0]);
    const first = Number(old.key.slice(4)) + 1;
    const [m, e, ticket] = [first, first + 1, first + 2].map((number) => `WEB-${number}`);
    expect(done).toMatchObject({
      status: 'applied',
      approved: [0, 1, 2, 3, 4],
      results: [{ key: m }, { key: e }, { key: ticket }, { key: old.key }, { dependency: expect.any(String) }],
      decided_by: { kind: 'human', subject: 'abe' },
      decided_at: expect.any(String),
      version: 2,
    });
    expect(done).not.toHaveProperty('stale');
    expect(await getItem(t.database, t.viewer, ticket!)).toMatchObject({ epic: e, milestone: m, type: 'spike' });
    expect(await getItem(t.database, t.viewer, old.key)).toMatchObject({ title: 'New', epic: e, version: 2 });
    const events = (await projectEvents(t.database, t.web)).slice(-6);
    expect(events.map(({ type, entity_key }) => [type, entity_key])).toEqual([
      ['item.created', m],
      ['item.created', e],
      ['item.created', ticket],
      ['item.updated', old.key],
      ['dependency.added', ticket],
      ['changeset.applied', null],
    ]);
    expect(events.every(({ actor }) => actor.subject === 'abe')).toBe(true);
    expect(events[3]!.payload['changes']).toMatchObject({ epic: { from: '', to: e } });
  });

  test('spec: planner 2.3: only the approved operations take effect; the others have the result {}', async () => {
    const before = await keysNow();
    const { id } = await propose([create('a'), create('b'), blocks('$a', '$b')]);
    const done = await apply(id, [1]);
    expect(done).toMatchObject({ approved: [1], results: [{}, { key: expect.any(String) }, {}] });
    expect(await keysNow()).toHaveLength(before.length + 1);
  });

  test.each<[string, number[], RegExp]>([
    ['no operation', [], /at least one operation/],
    ['an index out of range', [3], /no operation with the index 3/],
    ['an index twice', [0, 0], /named twice/],
    ['a $ref left out', [2], /operation 3 uses \$a, which operation 1 creates: approve operation 1/],
  ])('spec: planner 2.16: %s is refused and the changeset stays open', async (_what, indices, message) => {
    const { id } = await propose([create('a'), create('b'), blocks('$a', '$b')]);
    await expect(apply(id, indices)).rejects.toEqual(failing('invalid_argument', message));
    expect((await getChangeset(t.database, t.viewer, id)).status).toBe('proposed');
  });

  test('reports f19, spec: planner 2.11, 2.19: a failing operation fails the whole apply with its number, and nothing is written', async () => {
    const [a, b] = [await t.item({}), await t.item({})];
    const { id } = await propose([create('n'), blocks(a.key, b.key)]);
    await t.run((tx) => addDependency(tx, t.engineer, b.key, { type: 'blocks', to: a.key }));
    const [before, events] = [await keysNow(), (await projectEvents(t.database, t.web)).length];
    await expect(apply(id, [0, 1])).rejects.toEqual(
      failing('conflict', /^Nothing was applied. operation 2: .* would close a cycle/),
    );
    expect(await keysNow()).toEqual(before);
    expect(await projectEvents(t.database, t.web)).toHaveLength(events);
    const { results } = await apply(id, [0]);
    expect(Number(results![0]!.key!.slice(4))).toBe(Number(before.at(-1)!.slice(4)) + 1);
  });

  test('reports f11, spec: planner 2.2, 2.21: deciding twice is a conflict that says who decided', async () => {
    const { id } = await propose([create('a')]);
    await apply(id, [0]);
    await expect(apply(id, [0])).rejects.toEqual(failing('conflict', /was applied already, by abe/));
    await expect(reject(id)).rejects.toEqual(failing('conflict', /was applied already/));
    const other = await propose([create('a')]);
    expect(await reject(other.id)).toMatchObject({ status: 'rejected', decided_by: { subject: 'abe' }, version: 2 });
    await expect(apply(other.id, [0])).rejects.toEqual(failing('conflict', /was rejected already/));
  });

  test('reports f11, spec: planner 2.2: of racing applies exactly one wins; each identical proposal is applied once', async () => {
    const before = await keysNow();
    const twins = [await propose([create('twin')]), await propose([create('twin')])];
    const outcomes = await Promise.allSettled(twins.flatMap(({ id }) => [0, 1, 2].map(() => apply(id, [0]))));
    const lost = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []));
    expect(lost).toHaveLength(4);
    for (const reason of lost) expect(reason).toEqual(failing('conflict', /already/));
    expect(await keysNow()).toHaveLength(before.length + 2);
  });

  test('spec: planner 2.22: applies that race with creates leave the numbers consecutive', async () => {
    const before = await keysNow();
    const ids = await Promise.all([1, 2, 3, 4].map(async () => (await propose([create('a'), create('b'), create('c')])).id));
    await Promise.all([...ids.map((id) => apply(id, [0, 1, 2])), ...[1, 2, 3, 4].map(() => t.item({}))]);
    const numbers = (await keysNow()).slice(before.length).map((key) => Number(key.slice(4)));
    const start = Number(before.at(-1)!.slice(4)) + 1;
    expect(numbers).toEqual(Array.from({ length: 16 }, (_, index) => start + index));
  });

  test('spec: planner 2.18: an apply that collides is run again, up to five times, and then told as a conflict', async () => {
    // PostgreSQL refuses the first applies as it refuses one that another writer has overtaken. A sequence counts on
    // whatever is rolled back.
    await t.database.query(`
      CREATE SEQUENCE collisions;
      CREATE FUNCTION collide() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF nextval('collisions') < TG_ARGV[0]::int THEN RAISE EXCEPTION 'collided' USING ERRCODE = '40001'; END IF;
        RETURN NEW;
      END $$`);
    const collideTimes = (times: number) => `
      DROP TRIGGER IF EXISTS collide ON changesets;
      ALTER SEQUENCE collisions RESTART;
      CREATE TRIGGER collide BEFORE UPDATE ON changesets FOR EACH ROW EXECUTE FUNCTION collide(${times + 1})`;
    try {
      const before = await keysNow();
      const { id } = await propose([create('a'), create('b')]);
      await t.database.query(collideTimes(5));
      await expect(apply(id, [0, 1])).rejects.toEqual(failing('conflict', /changed by others at the same time/));
      expect(await keysNow()).toEqual(before);
      await t.database.query(collideTimes(4));
      expect(await apply(id, [0, 1])).toMatchObject({ status: 'applied' });
      expect(await keysNow()).toHaveLength(before.length + 2);
    } finally {
      await t.database.query('DROP TRIGGER collide ON changesets; DROP FUNCTION collide; DROP SEQUENCE collisions');
    }
  });

  test('200 operations are applied in one transaction', async () => {
    const { id, operations } = await propose(Array.from({ length: 200 }, (_, index) => create(`t${index}`)));
    const done = await apply(id, [...(operations as Operation[]).keys()]);
    expect(new Set(done.results!.map(({ key }) => key)).size).toBe(200);
  });
});

describe('spec: planner 2: stale updates', () => {
  test('reports f21, spec: planner 2.13, 2.14: an item that has changed is marked, and apply is a conflict that names it and what changed', async () => {
    const item = await t.item({ title: 'First' });
    const { id } = await propose([create('x'), update(item.key, { title: 'Planned' })]);
    await t.run((tx) => updateItem(tx, t.engineer, item.key, { version: 1, title: 'Second', description: 'd' }));
    await t.run((tx) => transitionItem(tx, t.engineer, item.key, { state: 'ready' }));
    expect((await getChangeset(t.database, t.viewer, id)).stale).toEqual([1]);
    const message = new RegExp(
      `operation 2: ${item.key} has changed since the proposal \\(version 1, now 3\\): ` +
        'title, description, state from backlog to ready; by erin',
    );
    await expect(apply(id, [0, 1])).rejects.toEqual(failing('conflict', message));
    await expect(apply(id, [1])).rejects.toEqual(failing('conflict', /accept_stale: true/));
    const done = await apply(id, [1], true);
    expect(done.results).toEqual([{}, { key: item.key }]);
    expect(await getItem(t.database, t.viewer, item.key)).toMatchObject({
      title: 'Planned',
      description: 'd',
      state: 'ready',
      version: 4,
    });
  });

  test('a stale operation that is not approved holds nothing back', async () => {
    const item = await t.item({});
    const { id } = await propose([create('x'), update(item.key, { title: 'Planned' })]);
    await t.run((tx) => updateItem(tx, t.engineer, item.key, { version: 1, title: 'Second' }));
    expect(await apply(id, [0])).toMatchObject({ status: 'applied' });
  });

  test('spec: planner 2.22: an update that races with an apply is either seen as stale or comes after it, never lost', async () => {
    for (let round = 0; round < 10; round++) {
      const item = await t.item({ title: 'First' });
      const { id } = await propose([update(item.key, { description: 'planned' })]);
      const [applied, written] = await Promise.allSettled([
        apply(id, [0]),
        t.run((tx) => updateItem(tx, t.engineer, item.key, { version: 1, title: 'Second' })),
      ]);
      expect([applied.status, written.status].sort()).toEqual(['fulfilled', 'rejected']);
      expect((await getItem(t.database, t.viewer, item.key)).version).toBe(2);
    }
  });
});

describe('spec: planner 2 and 5: who decides', () => {
  test('spec: planner 2.15, 2.21: only a human with changeset.decide applies or rejects; hidden changesets are not found', async () => {
    const { id } = await propose([create('a')]);
    for (const decide of [(by: Principal) => apply(id, [0], false, by), (by: Principal) => reject(id, by)]) {
      await expect(decide(t.viewer)).rejects.toEqual(failing('forbidden', /changeset.decide/));
      await expect(decide(t.orchestrator)).rejects.toEqual(failing('forbidden', /Only a human/));
      await expect(decide(t.stranger)).rejects.toEqual(failing('not_found', /no changeset/));
      await expect(decide({ ...t.approver, actions: ['tracker.read'] })).rejects.toEqual(failing('forbidden', /decide/));
    }
    await expect(getChangeset(t.database, t.stranger, id)).rejects.toEqual(failing('not_found', /no changeset/));
    await expect(getChangeset(t.database, t.viewer, 'no id')).rejects.toEqual(failing('not_found', /no changeset "no id"/));
  });

  test('lists are newest first, filtered by status and paged', async () => {
    const ids: string[] = [];
    for (let index = 0; index < 3; index++) ids.unshift((await propose([create('a'), create('b')])).id);
    await apply(ids[1]!, [1]);
    const first = await listChangesets(t.database, t.viewer, 'WEB', { limit: 2 });
    const made = { proposed_by: { kind: 'human', subject: t.engineer.subject }, created_at: expect.any(String) };
    expect(first.items).toEqual([
      { id: ids[0], title: 'A plan', status: 'proposed', operations: 2, approved: 0, ...made },
      { id: ids[1], title: 'A plan', status: 'applied', operations: 2, approved: 1, ...made },
    ]);
    const second = await listChangesets(t.database, t.viewer, 'WEB', { limit: 1, after: first.next });
    expect(second.items.map(({ id }) => id)).toEqual([ids[2]]);
    const applied = await listChangesets(t.database, t.viewer, 'WEB', { status: 'applied', limit: 1 });
    expect(applied.items.map(({ id }) => id)).toEqual([ids[1]]);
    await expect(listChangesets(t.database, t.viewer, 'WEB', { after: 'x' })).rejects.toEqual(
      failing('invalid_argument', /`next` of the page before/),
    );
  });
});
