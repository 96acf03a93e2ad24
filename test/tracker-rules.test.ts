import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Graph, type Edge } from '../domain/dependency.ts';
import { parse } from '../domain/input.ts';
import { itemKinds, itemPatchFor, itemStates, moveViolation, movesFrom, newItem, type ItemState } from '../domain/item.ts';

const refusal = (act: () => unknown): string => {
  try {
    act();
  } catch (error) {
    return (error as Error).message;
  }
  return 'accepted';
};
const create = (fields: Record<string, unknown>): string =>
  refusal(() => parse(newItem, { kind: 'ticket', title: 'A ticket', ...fields }));

describe('spec: planner 1: fields', () => {
  test('spec: planner 1.2, 1.3, 1.6: limits count code points, not UTF-16 units', () => {
    expect(create({ title: '🚀'.repeat(300) })).toBe('accepted');
    expect(create({ title: '🚀'.repeat(301) })).toBe('title has 301 characters; at most 300 are allowed');
    expect(create({ description: '🚀'.repeat(50_000) })).toBe('accepted');
    expect(create({ description: 'x'.repeat(65_537) })).toBe(
      'description has 65537 characters; at most 50000 are allowed',
    );
    expect(create({ acceptance_criteria: ['🚀'.repeat(2_000)] })).toBe('accepted');
    expect(create({ acceptance_criteria: ['x'.repeat(2_001)] })).toContain('acceptance_criteria[0] has 2001 characters');
  });

  test.each(['', ' \n', '\u200b', '\u0301\u0301', '\u3164'])('spec: planner 1.2: a title that shows nothing (%j) is blank', (title) => {
    expect(create({ title })).toBe('title is blank');
  });

  test('spec: planner 1.6: at most 50 acceptance criteria, none of them blank', () => {
    expect(create({ acceptance_criteria: Array(50).fill('works') })).toBe('accepted');
    expect(create({ acceptance_criteria: Array(51).fill('works') })).toBe('acceptance_criteria has more than 50 entries');
    expect(create({ acceptance_criteria: ['works', ' '] })).toBe('acceptance_criteria[1] is blank');
  });

  test('spec: planner 1.10, 1.11: a ticket-only field on another kind is an error, on create and on update alike; all are reported together', () => {
    const message = create({ kind: 'milestone', title: '', type: 'bug', epic: 'WEB-1', milestone: 'WEB-2', policy: {} });
    expect(message.split('\n')).toEqual([
      '5 problems:',
      'title is blank',
      'type belongs to tickets only: leave it out for a milestone',
      'policy belongs to tickets only: leave it out for a milestone',
      'epic belongs to tickets only: leave it out for a milestone',
      'milestone belongs to tickets and epics only: leave it out for a milestone',
    ]);
    const patch = { version: 1, acceptance_criteria: [], title: ' ' };
    expect(refusal(() => parse(itemPatchFor('epic'), patch)).split('\n')).toEqual([
      '2 problems:',
      'title is blank',
      'acceptance_criteria belongs to tickets only: leave it out for an epic',
    ]);
  });

  test('unknown fields are named, nested ones too', () => {
    expect(create({ colour: 'red', policy: { speed: 1 } })).toBe(
      '2 problems:\npolicy has unknown field "speed"\nunknown field "colour"',
    );
    expect(refusal(() => parse(newItem, JSON.parse('{"kind":"ticket","title":"T","__proto__":{"a":1}}')))).toBe(
      'unknown field "__proto__"',
    );
  });

  test('what PostgreSQL could not store becomes U+FFFD', () => {
    expect(parse(newItem, { kind: 'ticket', title: 'a\0b\ud800' }).title).toBe('a\ufffdb\ufffd');
  });

  test('an update changes at least one field; an empty link unlinks', () => {
    expect(refusal(() => parse(itemPatchFor('ticket'), { version: 1 }))).toContain('names nothing to change');
    expect(refusal(() => parse(itemPatchFor('ticket'), { title: 'x' }))).toBe('version is required');
    expect(parse(itemPatchFor('ticket'), { version: 1, epic: '' })).toEqual({ version: 1, epic: '' });
  });
});

describe('spec: planner 1: transitions', () => {
  const table: Record<'ticket' | 'epic' | 'milestone', Partial<Record<ItemState, string>>> = {
    ticket: {
      backlog: 'ready cancelled done',
      ready: 'backlog paused cancelled done',
      in_progress: 'paused cancelled',
      waiting_for_answer: 'paused cancelled',
      paused: 'ready backlog cancelled done',
      done: 'backlog',
      cancelled: 'backlog',
    },
    epic: { open: 'done cancelled', done: 'open', cancelled: 'open' },
    milestone: { open: 'done cancelled', done: 'open', cancelled: 'open' },
  };

  test('spec: planner 1.4, 1.14, 1.15: humans move items exactly as the table says', () => {
    for (const kind of itemKinds) {
      for (const state of itemStates) {
        expect([kind, state, movesFrom('human', kind, state).join(' ')]).toEqual([kind, state, table[kind][state] ?? '']);
      }
    }
  });

  test('spec: planner 1.16: services move tickets exactly through execution', () => {
    const moves = itemStates.flatMap((from) => movesFrom('service', 'ticket', from).map((to) => `${from} ${to}`));
    expect(moves.sort()).toEqual([
      'in_progress done',
      'in_progress ready',
      'in_progress waiting_for_answer',
      'ready in_progress',
      'waiting_for_answer in_progress',
    ]);
    expect(itemStates.flatMap((from) => movesFrom('service', 'epic', from))).toEqual([]);
  });

  test('spec: planner 1.17: a refused move says what is possible', () => {
    expect(moveViolation('human', { key: 'WEB-1', kind: 'ticket', state: 'backlog' }, 'in_progress')).toBe(
      'WEB-1 is backlog and can\'t become "in_progress": it may become ready, cancelled, done.',
    );
  });
});

describe('spec: planner 1: dependencies', () => {
  const blocks = (from: string, to: string): Edge => ({ type: 'blocks', from, to });

  test('reports f05, spec: planner 1.19, 1.20: a cycle of three is refused with its path; so is a self edge', () => {
    const graph = new Graph([blocks('A', 'B'), blocks('B', 'C')]);
    expect(graph.violation(blocks('C', 'A'))).toEqual({
      reason: 'cycle',
      message: 'C blocks A would close a cycle: C -> A -> B -> C',
    });
    expect(graph.violation(blocks('A', 'A'))?.reason).toBe('self');
    expect(graph.violation(blocks('A', 'C'))).toBeUndefined();
  });

  test('spec: planner 1.19, 1.20: relates has no direction, is stored once and closes no cycle', () => {
    const graph = new Graph([blocks('A', 'B'), { type: 'relates', from: 'A', to: 'B' }]);
    expect(graph.violation({ type: 'relates', from: 'B', to: 'A' })?.reason).toBe('duplicate');
    expect(graph.violation({ type: 'relates', from: 'B', to: 'C' })).toBeUndefined();
    expect(graph.violation(blocks('A', 'B'))?.reason).toBe('duplicate');
  });

  test('spec: planner 1.19: whatever edges are offered, the accepted blocks edges can be put in an order', () => {
    const name = fc.constantFrom(...'ABCDEFG');
    fc.assert(
      fc.property(fc.array(fc.tuple(name, name), { maxLength: 40 }), (offered) => {
        const graph = new Graph();
        const accepted = offered.map(([from, to]) => blocks(from, to)).filter((edge) => {
          if (graph.violation(edge)) return false;
          graph.add(edge);
          return true;
        });
        // Kahn: what is left when no item without blockers remains is a cycle.
        let left = accepted;
        for (let size = -1; size !== left.length; ) {
          size = left.length;
          const blocked = new Set(left.map(({ to }) => to));
          left = left.filter(({ from }) => blocked.has(from));
        }
        expect(left).toEqual([]);
        const refusedWithoutReason = offered.filter(([from, to]) => {
          const reason = graph.violation(blocks(from, to))?.reason;
          return reason === undefined;
        });
        expect(refusedWithoutReason).toEqual([]);
      }),
    );
  });
});
