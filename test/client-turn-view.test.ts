// The view of a running turn: what a person sees of its outputs (spec: planner 7).

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { emptyView, fold, openText, proposedChangesets, textSoFar, type TurnView } from '../client/turn-view.ts';
import type { Output } from '../client/wire.ts';

const session = '01900000-0000-7000-8000-000000000001';
const turn = '01900000-0000-7000-8000-000000000002';
const other = '01900000-0000-7000-8000-000000000003';

type Body = Output extends infer Each
  ? Each extends Output
    ? Omit<Each, 'subscription' | 'session' | 'turn' | 'attempt' | 'output'> & { attempt?: number; turn?: string }
    : never
  : never;

function outputs(bodies: readonly Body[]): Output[] {
  return bodies.map(
    (body, index) => ({ subscription: 's', session, turn, attempt: 1, output: index + 1, ...body }) as Output,
  );
}

function view(...bodies: Body[]): TurnView {
  return outputs(bodies).reduce(fold, emptyView);
}

const call = (id: string, tool = 'list_items'): Body => ({ type: 'tool_call', tool, tool_use_id: id, input: {} });
const result = (id: string, text = '{}', tool = 'list_items', is_error = false): Body => ({
  type: 'tool_result',
  tool,
  tool_use_id: id,
  text,
  is_error,
});

describe('the view of a turn', () => {
  it('shows a plain turn: message, text..., message, done (spec: planner 7)', () => {
    const plain = view(
      { type: 'message', seq: 1 },
      { type: 'text', text: 'Hel' },
      { type: 'text', text: 'lo' },
      { type: 'message', seq: 2 },
      { type: 'done', text: 'end_turn' },
    );
    expect(plain).toEqual({
      session,
      turn,
      status: 'ended',
      parts: [{ type: 'text', text: 'Hello', open: false }],
      attempt: 0,
      messages: [1, 2],
      reason: 'end_turn',
      last: 5,
    });
  });

  it('keeps text open, so voidable, until its message is stored', () => {
    expect(openText(view({ type: 'text', text: 'draft' }))).toBe('draft');
    expect(openText(view({ type: 'text', text: 'draft' }, { type: 'message', seq: 2 }))).toBe('');
  });

  it('voids what a failed attempt streamed, as soon as the retry is announced', () => {
    const retried = view({ type: 'text', text: 'lost' }, { type: 'retrying', reason: 'cut_stream', attempt: 2 });
    expect(textSoFar(retried)).toBe('');
    expect(retried.retrying).toEqual({ attempt: 2, reason: 'cut_stream' });
    const again = fold(retried, { ...outputs([{ type: 'text', text: 'kept', attempt: 2 }])[0]!, output: 3 });
    expect(textSoFar(again)).toBe('kept');
    expect(again.retrying).toBeUndefined();
  });

  it('knows up to where the conversation was summarized in the turn', () => {
    const compacted = view({ type: 'message', seq: 9 }, { type: 'compacted', up_to: 8 }, { type: 'text', text: 'Yes.' });
    expect(compacted).toMatchObject({ compacted: 8, messages: [9] });
    expect(textSoFar(compacted)).toBe('Yes.');
  });

  it('voids earlier text on a higher attempt even where the announcement was missed, and keeps earlier rounds', () => {
    const second = view(
      { type: 'text', text: 'Looking. ' },
      call('a'),
      { type: 'message', seq: 2 },
      result('a'),
      { type: 'text', text: 'wrong' },
      { type: 'text', text: 'right', attempt: 2 },
    );
    expect(textSoFar(second)).toBe('Looking. \n\nright');
    expect(second.parts.map((part) => part.type)).toEqual(['text', 'tool', 'text']);
  });

  it('drops a late delta of an attempt that is over', () => {
    const late = view(
      { type: 'retrying', reason: 'worker_lost', attempt: 2 },
      { type: 'text', text: 'new', attempt: 2 },
      { type: 'text', text: 'old', attempt: 1 },
    );
    expect(textSoFar(late)).toBe('new');
  });

  it('counts attempts anew in each round', () => {
    const rounds = view(
      { type: 'retrying', reason: 'overloaded', attempt: 3 },
      { type: 'text', text: 'one', attempt: 3 },
      { type: 'message', seq: 2 },
      { type: 'text', text: 'two', attempt: 1 },
    );
    expect(textSoFar(rounds)).toBe('one\n\ntwo');
  });

  it('begins a stream in progress with one replacing text after a resync (spec: planner 11)', () => {
    const replaced = view(
      { type: 'text', text: 'Hel' },
      { type: 'text', text: 'Hello wor', replace: true },
      { type: 'text', text: 'ld' },
    );
    expect(textSoFar(replaced)).toBe('Hello world');
    expect(replaced.parts).toHaveLength(1);
  });

  it('joins each tool call with its result, also when a later round uses the id again', () => {
    const calls = view(call('a'), call('b'), result('b', 'B'), result('a', 'A'), call('a'), result('a', 'again'));
    const results = calls.parts.map((part) => (part.type === 'tool' ? part.result?.text : part.text));
    expect(results).toEqual(['A', 'B', 'again']);
  });

  it('shows an error and the reason of the end', () => {
    const failed = view({ type: 'error', text: 'The key was refused.' }, { type: 'done', text: 'error' });
    expect(failed).toMatchObject({ status: 'ended', error: 'The key was refused.', reason: 'error' });
  });

  it('drops text that no message holds when the turn ends', () => {
    const failed = view(
      { type: 'text', text: 'half an ans' },
      { type: 'error', text: 'The provider keeps failing.' },
      { type: 'done', text: 'error' },
    );
    expect(textSoFar(failed)).toBe('');
    const stored: Body[] = [{ type: 'text', text: 'half' }, { type: 'message', seq: 2 }];
    const cancelled = view(...stored, { type: 'done', text: 'cancelled' });
    expect(textSoFar(cancelled)).toBe('half');
  });

  it('begins anew with the next turn', () => {
    const next = view({ type: 'text', text: 'first' }, { type: 'done', text: 'end_turn' }, {
      type: 'text',
      text: 'second',
      turn: other,
    });
    expect(next).toMatchObject({ turn: other, status: 'running' });
    expect(textSoFar(next)).toBe('second');
  });

  it('begins anew with another session, whose outputs are numbered on their own', () => {
    const elsewhere = { ...outputs([{ type: 'text', text: 'hi', turn: other }])[0]!, session: other };
    const next = fold(view({ type: 'text', text: 'a' }, { type: 'done', text: 'end_turn' }), elsewhere);
    expect(next).toMatchObject({ session: other, last: 1 });
    expect(textSoFar(next)).toBe('hi');
  });

  it('names the changesets that were proposed, not those that failed', () => {
    const proposed = view(
      call('a', 'propose_changeset'),
      result('a', 'operation 1: unknown reference', 'propose_changeset', true),
      call('b', 'propose_changeset'),
      result('b', JSON.stringify({ changeset: 'c1', status: 'proposed' }), 'propose_changeset'),
      call('c'),
      result('c', JSON.stringify({ changeset: 'no' })),
    );
    expect(proposedChangesets(proposed)).toEqual(['c1']);
  });

  it('is the same however often an output is repeated', () => {
    const body: fc.Arbitrary<Body> = fc.oneof(
      fc.record({ type: fc.constant('text' as const), text: fc.string(), attempt: fc.integer({ min: 1, max: 3 }) }),
      fc.record({ type: fc.constant('message' as const), seq: fc.nat() }),
      fc.constantFrom(call('a'), result('a')),
      fc.record({
        type: fc.constant('retrying' as const),
        reason: fc.constant('timeout'),
        attempt: fc.integer({ min: 1, max: 3 }),
      }),
    );
    fc.assert(
      fc.property(fc.array(body), fc.array(fc.nat()), (bodies, repeats) => {
        const all = outputs(bodies);
        const once = all.reduce(fold, emptyView);
        const noisy = all.flatMap((output, index) => [
          output,
          ...repeats.filter((at) => at % all.length <= index).map((at) => all[at % all.length]!),
        ]);
        expect(noisy.reduce(fold, emptyView)).toEqual(once);
      }),
    );
  });
});
