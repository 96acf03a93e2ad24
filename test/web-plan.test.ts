// What the page's plan views compute: the choice of operations, rules shown early, differences, the tree, fields.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { roleGrants, roles } from '../domain/actor.ts';
import { approvalViolations, humanChangeset, type Operation } from '../domain/changeset.ts';
import { itemKinds, itemStates, movesFrom as domainMoves, newItem, itemPatchFor } from '../domain/item.ts';
import type { ItemSummary } from '../client/index.ts';
import { chooseAll, toggle, type Choice } from '../web/src/plan/choice.ts';
import { difference, withGaps } from '../web/src/plan/difference.ts';
import { eventWords } from '../web/src/plan/events.ts';
import * as fields from '../web/src/plan/fields.ts';
import { hierarchy, type Branch } from '../web/src/plan/hierarchy.ts';
import { movesFrom, rightsIn } from '../web/src/plan/rules.ts';

/** Epics e0, e1, ...; then tickets, each of an epic or of none; then edges between earlier ones. */
const operations = fc
  .record({
    epics: fc.integer({ min: 1, max: 4 }),
    tickets: fc.array(fc.nat(9), { maxLength: 5 }),
    edges: fc.array(fc.tuple(fc.nat(9), fc.nat(9)), { maxLength: 5 }),
    updates: fc.array(fc.nat(9), { maxLength: 3 }),
  })
  .map(({ epics, tickets, edges, updates }): Operation[] => {
    const refs = [...Array.from({ length: epics }, (_, at) => `e${at}`), ...tickets.map((_, at) => `t${at}`)];
    const epic = (pick: number): string | undefined => (pick < epics ? `$e${pick}` : undefined);
    return [
      ...Array.from({ length: epics }, (_, index): Operation => ({
        kind: 'create_item',
        ref: `e${index}`,
        create: { kind: 'epic', title: `Epic ${index}` },
      })),
      ...tickets.map((pick, index): Operation => ({
        kind: 'create_item',
        ref: `t${index}`,
        create: { kind: 'ticket', title: `Ticket ${index}`, epic: epic(pick) },
      })),
      ...updates.map((pick, index): Operation => ({
        kind: 'update_item',
        update: { item: `WEB-${index + 1}`, title: 'Other', epic: epic(pick) },
      })),
      ...edges.flatMap(([from, to]): Operation[] => {
        const [a, b] = [refs[from % refs.length]!, refs[to % refs.length]!];
        return a === b ? [] : [{ kind: 'add_dependency', dependency: { from: `$${a}`, to: `$${b}`, type: 'relates' } }];
      }),
    ];
  });

describe('the choice of operations (spec: planner 2)', () => {
  test('whatever is checked and unchecked, the API would take it: every $ref in use is chosen', () => {
    fc.assert(
      fc.property(operations, fc.array(fc.nat(30), { maxLength: 12 }), (all, clicks) => {
        expect(humanChangeset.safeParse({ title: 'Plan', operations: all }).success).toBe(true);
        let choice: Choice = chooseAll(all);
        for (const click of clicks) {
          const index = click % all.length;
          const before = choice.has(index);
          choice = toggle(all, choice, index).choice;
          expect(choice.has(index)).toBe(!before);
          if (choice.size > 0) expect(approvalViolations(all, [...choice])).toEqual([]);
        }
      }),
    );
  });

  const chain: Operation[] = [
    { kind: 'create_item', ref: 'm', create: { kind: 'milestone', title: 'M' } },
    { kind: 'create_item', ref: 'e', create: { kind: 'epic', title: 'E', milestone: '$m' } },
    { kind: 'create_item', ref: 't', create: { kind: 'ticket', title: 'T', epic: '$e' } },
    { kind: 'add_dependency', dependency: { from: 'WEB-1', to: '$t', type: 'blocks' } },
    { kind: 'create_item', ref: 'other', create: { kind: 'ticket', title: 'O' } },
  ];

  test('unchecking a create unchecks what uses it, over several steps, and names it', () => {
    const { choice, also } = toggle(chain, chooseAll(chain), 1);
    expect([...choice]).toEqual([0, 4]);
    expect(also).toEqual([2, 3]);
  });

  test('checking an operation checks what it needs, over several steps, and names it', () => {
    const { choice, also } = toggle(chain, new Set([4]), 3);
    expect([...choice].sort()).toEqual([0, 1, 2, 3, 4]);
    expect(also).toEqual([0, 1, 2]);
  });
});

describe('rules that the page shows before the API enforces them', () => {
  test('the moves that are offered are those of the tracker (spec: planner 1)', () => {
    for (const kind of itemKinds) {
      for (const state of itemStates) {
        expect([kind, state, movesFrom(kind, state)]).toEqual([kind, state, domainMoves('human', kind, state)]);
      }
    }
  });

  test('what a role may do is what the API grants it (spec: planner 5)', () => {
    const web = { key: 'WEB', organization: 'acme' };
    for (const role of roles) {
      const rights = { write: roleGrants(role, 'tracker.write'), decide: roleGrants(role, 'changeset.decide') };
      const bound = { id: '', subject: 'ada', role, created_at: '' };
      expect([role, rightsIn(web, [{ ...bound, project: 'WEB' }])]).toEqual([role, rights]);
      expect(rightsIn(web, [{ ...bound, organization: 'acme' }])).toEqual(rights);
      expect(rightsIn(web, [bound])).toEqual(rights);
      expect(rightsIn(web, [{ ...bound, project: 'OPS' }])).toEqual({ write: false, decide: false });
      expect(rightsIn(web, [{ ...bound, organization: 'other' }])).toEqual({ write: false, decide: false });
    }
  });
});

describe('differences', () => {
  const lines = fc.array(fc.constantFrom('a', 'b', 'c', ''), { maxLength: 14 });

  test('without what is added it is the old text, without what is removed the new one', () => {
    fc.assert(
      fc.property(lines, lines, (before, after) => {
        const found = difference(before, after);
        expect(found.filter(({ mark }) => mark !== 'added').map(({ text }) => text)).toEqual(before);
        expect(found.filter(({ mark }) => mark !== 'removed').map(({ text }) => text)).toEqual(after);
      }),
    );
  });

  test('unchanged lines far from a change become a gap that counts them', () => {
    const before = Array.from({ length: 20 }, (_, index) => `line ${index}`);
    const shown = withGaps(difference(before, [...before, 'more']));
    expect(shown).toEqual([
      { mark: 'gap', count: 18 },
      { mark: 'same', text: 'line 18' },
      { mark: 'same', text: 'line 19' },
      { mark: 'added', text: 'more' },
    ]);
  });

  test('texts too large to compare are removed and added whole', () => {
    const many = (word: string): string[] => Array.from({ length: 1_100 }, (_, index) => `${word} ${index}`);
    expect(difference(many('old'), many('new'))).toHaveLength(2_200);
  });
});

test('the tree holds each item once: a ticket under its epic, else its milestone, else at the top', () => {
  const item = (key: string, kind: ItemSummary['kind'], more: Partial<ItemSummary> = {}): ItemSummary => ({
    key,
    kind,
    title: key,
    state: kind === 'ticket' ? 'ready' : 'open',
    ...more,
  });
  const top = hierarchy([
    item('WEB-1', 'ticket', { epic: 'WEB-3', milestone: 'WEB-2', state: 'done' }),
    item('WEB-2', 'milestone'),
    item('WEB-3', 'epic', { milestone: 'WEB-2' }),
    item('WEB-4', 'ticket', { milestone: 'WEB-2' }),
    item('WEB-5', 'ticket'),
    item('WEB-6', 'epic'),
  ]);
  const shape = ({ item: { key }, below }: Branch): unknown => [key, below.map(shape)];
  expect(top.map(shape)).toEqual([
    ['WEB-2', [['WEB-3', [['WEB-1', []]]], ['WEB-4', []]]],
    ['WEB-5', []],
    ['WEB-6', []],
  ]);
  expect(top[0]).toMatchObject({ tickets: 2, resolved: 1 });
});

describe('fields', () => {
  const { differing, emptyFields, fieldsOfKind, newItemOf, patchOf, setBy } = fields;
  const full: fields.Fields = {
    title: 'A title',
    description: 'Words',
    type: 'bug',
    acceptance_criteria: ['It works.'],
    review_mode: 'agent+human',
    merge_mode: 'manual',
    epic: 'WEB-2',
    milestone: 'WEB-1',
  };

  test('what a form sends is what the tracker takes of that kind (spec: planner 1)', () => {
    for (const kind of itemKinds) {
      expect(newItem.safeParse(newItemOf(kind, full)).error).toBeUndefined();
      const names = differing(kind, emptyFields, full);
      expect(names).toEqual(fieldsOfKind(kind));
      expect(itemPatchFor(kind).safeParse({ version: 1, ...patchOf(full, names) }).error).toBeUndefined();
    }
    expect(newItemOf('ticket', { ...emptyFields, title: 'Short' })).toEqual({ kind: 'ticket', title: 'Short' });
  });

  test('only what differs is sent; an epic that is taken away as ""', () => {
    const edited = { ...full, epic: '', merge_mode: 'auto' } as const;
    const names = differing('ticket', full, edited);
    expect(patchOf(edited, names)).toEqual({ epic: '', policy: { merge_mode: 'auto' } });
  });

  test('an operation sets the fields that it names and no others', () => {
    expect(setBy({ item: 'WEB-4', policy: { review_mode: 'agent' }, title: 'T', epic: '' })).toEqual({
      title: 'T',
      epic: '',
      review_mode: 'agent',
    });
  });
});

test('events are told in words, edges as seen from the item', () => {
  const words = (type: string, payload: Record<string, unknown>): string => eventWords('WEB-4', { type, payload });
  expect(words('item.state_changed', { from: 'in_progress', to: 'paused' })).toBe('Moved from In progress to Paused');
  const changes = { title: { from: 'A', to: 'B' }, description: {}, epic: { from: 'WEB-2', to: '' } };
  expect(words('item.updated', { changes })).toBe(
    'Title changed from “A” to “B”, Description changed and Epic removed (was WEB-2)',
  );
  expect(words('dependency.added', { type: 'blocks', from: 'WEB-5', to: 'WEB-4' })).toBe(
    'Dependency added: is blocked by WEB-5',
  );
  expect(words('dependency.removed', { type: 'relates', from: 'WEB-4', to: 'WEB-5' })).toBe(
    'Dependency removed: relates to WEB-5',
  );
});
