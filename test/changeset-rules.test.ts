import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  approvalViolations,
  effectViolations,
  humanChangeset,
  plannerChangeset,
  tellOperation,
  type Operation,
  type World,
} from '../domain/changeset.ts';
import { parse } from '../domain/input.ts';

const ticket = (ref: string, fields: Record<string, unknown> = {}) => ({
  kind: 'create_item',
  ref,
  create: { kind: 'ticket', title: `Ticket ${ref}`, ...fields },
});
const epic = (ref: string) => ({ kind: 'create_item', ref, create: { kind: 'epic', title: `Epic ${ref}` } });
const blocks = (from: string, to: string) => ({ kind: 'add_dependency', dependency: { from, to, type: 'blocks' } });
const update = (item: string, fields: Record<string, unknown>) => ({ kind: 'update_item', update: { item, ...fields } });

function lines(operations: unknown, schema = humanChangeset): string[] {
  try {
    parse(schema, { title: 'A plan', operations });
    return [];
  } catch (error) {
    return (error as Error).message.split('\n').filter((line) => !line.endsWith('problems:'));
  }
}

describe('spec: planner 2: static problems', () => {
  test('spec: planner 2.5, 2.7, 2.8, 2.9: all are collected and reported together with the operation\'s 1-based number', () => {
    const found = lines(
      [
        ticket('a', { epic: '$b', policy: {} }),
        epic('b'),
        { ...epic('c'), update: {} },
        blocks('$a', '$a'),
        { kind: 'delete_item' },
        update('$a', { title: 'x' }),
        update('WEB-1', {}),
        update('WEB-1', { epic: '$a', colour: 'red' }),
        epic('b'),
        blocks('WEB-1', 'nothing'),
        { kind: 'create_item' },
        'no object',
      ],
      plannerChangeset,
    );
    expect(found).toEqual([
      'operation 1: create.epic names $b, which operation 2 creates later: move operation 2 before operation 1',
      'operation 1: create.policy is for humans only: leave it out',
      'operation 3: unknown field "update"',
      'operation 4: "$a" can\'t depend on itself',
      'operation 5: kind must be one of create_item, update_item, add_dependency',
      'operation 6: update.item must be an existing key, never a $ref: put these fields into the create_item itself',
      expect.stringContaining('operation 7: update names nothing to change'),
      'operation 8: update has unknown field "colour"',
      'operation 8: update.epic names $a, which is a ticket, not an epic',
      'operation 8: operation 7 updates "WEB-1" already: merge the two',
      'operation 9: ref "b" is the ref of operation 2 already',
      expect.stringContaining('operation 10: dependency.to must be an item key such as WEB-12 or the $ref'),
      'operation 11: ref is required',
      'operation 11: create is required',
      'operation 12: must be an object, not a string',
    ]);
  });

  test('spec: planner 2.1: 1-200 operations, a title, a summary within its limit', () => {
    expect(lines([])).toEqual(['operations needs at least 1 entry']);
    expect(lines(Array.from({ length: 200 }, (_, index) => ticket(`t${index}`)))).toEqual([]);
    expect(lines(Array.from({ length: 201 }, (_, index) => ticket(`t${index}`)))).toEqual([
      'operations has more than 200 entries',
    ]);
    const long = { title: ' ', summary: 'x'.repeat(50_001), operations: [ticket('a')] };
    expect(() => parse(humanChangeset, long)).toThrow(/title is blank\nsummary has 50001 characters/);
  });

  test.each(['A', '$a', '-a', '', 'a'.repeat(65), 'a b'])('spec: planner 2.4: %j is no ref', (ref) => {
    expect(lines([ticket(ref)])[0]).toMatch(/^operation 1: ref must be a name/);
  });

  test('spec: planner 2.8: an unknown $ref is told with the refs that exist; an item can\'t name itself', () => {
    expect(lines([epic('web'), ticket('a', { epic: '$wed' })])).toEqual([
      'operation 2: create.epic names $wed, which no operation creates (refs: $web, $a)',
    ]);
    expect(lines([ticket('a', { milestone: '$a' })])).toEqual([
      "operation 1: create.milestone names $a, which is this operation's own item",
    ]);
  });

  test('spec: planner 2.23: policy is for humans only', () => {
    const operations = [ticket('a', { policy: { merge_mode: 'manual' } }), update('WEB-1', { policy: {} })];
    expect(lines(operations)).toEqual([]);
    expect(lines(operations, plannerChangeset)).toEqual([
      'operation 1: create.policy is for humans only: leave it out',
      'operation 2: update.policy is for humans only: leave it out',
    ]);
  });

  test('no input at all makes the rules fail other than by reporting', () => {
    fc.assert(
      fc.property(fc.array(fc.anything()), (operations) => {
        const message = ((): string => {
          try {
            parse(humanChangeset, { title: 'x', operations });
            return '';
          } catch (error) {
            return (error as Error).name;
          }
        })();
        expect(message).toBe('DomainError');
      }),
    );
  });
});

// Creates of epics, tickets in earlier epics, and edges from earlier to later creates: always valid.
const validOperations = fc
  .array(fc.tuple(fc.constantFrom('epic', 'ticket', 'edge'), fc.nat(), fc.nat()), { minLength: 1, maxLength: 30 })
  .map((steps) => {
    const refs: { ref: string; kind: string }[] = [];
    const edges = new Set<string>();
    const operations: Operation[] = [];
    for (const [kind, a, b] of steps) {
      if (kind === 'edge') {
        const [i, j] = [a % (refs.length || 1), b % (refs.length || 1)].sort((x, y) => x - y) as [number, number];
        if (i === j || edges.has(`${i} ${j}`)) continue;
        edges.add(`${i} ${j}`);
        operations.push(blocks(`$${refs[i]!.ref}`, `$${refs[j]!.ref}`) as Operation);
      } else {
        const epics = refs.filter((each) => each.kind === 'epic');
        const ref = `r${refs.length}`;
        const link = kind === 'ticket' && epics.length > 0 ? { epic: `$${epics[a % epics.length]!.ref}` } : {};
        operations.push((kind === 'epic' ? epic(ref) : ticket(ref, link)) as Operation);
        refs.push({ ref, kind });
      }
    }
    return operations;
  })
  .filter((operations) => operations.length > 0);

const uses = (operation: Operation): string[] =>
  operation.kind === 'add_dependency'
    ? [operation.dependency.from, operation.dependency.to]
    : [operation.kind === 'create_item' ? (operation.create.epic ?? '') : ''];
const creates = (operation: Operation | undefined): string =>
  operation?.kind === 'create_item' ? `$${operation.ref}` : '';

describe('spec: planner 2: order and closure', () => {
  const empty: World = { project: 'WEB', kinds: new Map(), edges: [] };

  test('operations in an order where each $ref comes later than its create are accepted whole', () => {
    fc.assert(
      fc.property(validOperations, (operations) => {
        expect(lines(operations)).toEqual([]);
        expect(approvalViolations(operations, [...operations.keys()])).toEqual([]);
        expect(effectViolations(operations, [...operations.keys()], empty)).toEqual([]);
      }),
    );
  });

  test('reports f17, spec: planner 2.8: by the specification a $ref names an earlier create: a shuffled changeset is refused exactly when some $ref comes before its create', () => {
    fc.assert(
      fc.property(
        validOperations.chain((operations) =>
          fc.shuffledSubarray(operations, { minLength: operations.length, maxLength: operations.length }),
        ),
        (operations) => {
          const early = operations.some((operation, index) =>
            uses(operation).some((name) => name !== '' && !operations.slice(0, index).some((o) => creates(o) === name)),
          );
          expect(lines(operations).length > 0).toBe(early);
        },
      ),
    );
  });

  test('reports f19, spec: planner 2.16: a set is approvable exactly when it holds the create of every $ref that it uses; then its effects are valid', () => {
    fc.assert(
      fc.property(
        validOperations.chain((operations) =>
          fc.tuple(fc.constant(operations), fc.shuffledSubarray([...operations.keys()], { minLength: 1 })),
        ),
        ([operations, approved]) => {
          const present = new Set(approved.map((index) => creates(operations[index])));
          const closed = approved.every((index) =>
            uses(operations[index]!).every((name) => name === '' || present.has(name)),
          );
          expect(approvalViolations(operations, approved).length === 0).toBe(closed);
          if (closed) expect(effectViolations(operations, [...approved].sort((a, b) => a - b), empty)).toEqual([]);
        },
      ),
    );
  });

  test('spec: planner 2.16: an approval that leaves a $ref out names both operations; bad indices are all told', () => {
    const operations = [epic('web'), ticket('a', { epic: '$web' })] as Operation[];
    expect(approvalViolations(operations, [1])).toEqual([
      'operation 2 uses $web, which operation 1 creates: approve operation 1 (index 0) as well',
    ]);
    expect(approvalViolations(operations, [0, 0, 2, -1])).toEqual([
      'The index 0 is named twice.',
      'There is no operation with the index 2: indices are 0 to 1.',
      'There is no operation with the index -1: indices are 0 to 1.',
    ]);
    expect(approvalViolations(operations, [])).toHaveLength(1);
  });
});

describe('spec: planner 2: dynamic checks', () => {
  const world: World = {
    project: 'WEB',
    kinds: new Map([['WEB-1', 'epic'], ['WEB-2', 'ticket'], ['WEB-3', 'ticket'], ['WEB-4', 'milestone']]),
    edges: [{ type: 'blocks', from: 'WEB-2', to: 'WEB-3' }],
  };
  const found = (...operations: unknown[]): string[] =>
    effectViolations(operations as Operation[], [...operations.keys()], world).map(tellOperation);

  test('spec: planner 2.10: references exist in this project and are of the right kind', () => {
    expect(
      found(
        ticket('a', { epic: 'WEB-2', milestone: 'WEB-4' }),
        ticket('b', { epic: 'OPS-1' }),
        update('WEB-9', { title: 'x' }),
        update('WEB-4', { milestone: 'WEB-4', type: 'bug' }),
        blocks('WEB-3', 'WEB-8'),
      ),
    ).toEqual([
      'operation 1: create.epic: WEB-2 is a ticket, not an epic',
      'operation 2: create.epic: there is no item OPS-1 in project WEB',
      'operation 3: update.item: there is no item WEB-9 in project WEB',
      'operation 4: update.type belongs to tickets only: leave it out for a milestone',
      'operation 4: update.milestone belongs to tickets and epics only: leave it out for a milestone',
      'operation 5: dependency.to: there is no item WEB-8 in project WEB',
    ]);
  });

  test('spec: planner 2.10: duplicate and cyclic edges are found against the stored graph and earlier operations', () => {
    expect(
      found(
        ticket('a'),
        blocks('WEB-2', 'WEB-3'),
        blocks('WEB-3', '$a'),
        blocks('$a', 'WEB-2'),
        blocks('WEB-3', '$a'),
      ),
    ).toEqual([
      'operation 2: WEB-2 blocks WEB-3 already',
      'operation 4: $a blocks WEB-2 would close a cycle: $a -> WEB-2 -> WEB-3 -> $a',
      'operation 5: WEB-3 blocks $a already',
    ]);
  });
});
