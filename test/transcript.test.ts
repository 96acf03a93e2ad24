// What a model is shown of a transcript, as sentences and as properties. (spec: planner 7)

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  interruptedText,
  modelView,
  textOf,
  toolUses,
  type Block,
  type ModelMessage,
  type ToolResultBlock,
} from '../domain/transcript.ts';

const text = (words: string): Block => ({ type: 'text', text: words });
const call = (id: string): Block => ({ type: 'tool_use', tool_use_id: id, name: 'list_items', input: {} });
const result = (id: string, words = `result of ${id}`): Block => ({
  type: 'tool_result',
  tool_use_id: id,
  text: words,
  is_error: false,
});
const user = (...blocks: Block[]): ModelMessage => ({ role: 'user', blocks });
const assistant = (...blocks: Block[]): ModelMessage => ({ role: 'assistant', blocks });
const interrupted = (id: string): Block => ({
  type: 'tool_result',
  tool_use_id: id,
  text: interruptedText,
  is_error: true,
});

describe('spec: planner 7: the model sees', () => {
  test('spec: planner 7.21: the summary and the messages after it', () => {
    const [first, ...rest] = modelView([assistant(text('Hm.')), user(text('Go on.'))], 'We agreed on tea.');
    expect(first!.role).toBe('user');
    expect(textOf(first!.blocks)).toContain('We agreed on tea.');
    expect(rest).toEqual([assistant(text('Hm.')), user(text('Go on.'))]);
  });

  test('spec: planner 7.21: no leading assistant message, and no result of its calls', () => {
    const view = modelView([assistant(text('Hm.'), call('a')), user(result('a')), user(text('Hi'))]);
    expect(view).toEqual([user(text('Hi'))]);
  });

  test('spec: planner 7.21: no empty messages, and neighbours of one role as one', () => {
    expect(modelView([user(text('One')), assistant(text(' \n')), user(text('Two')), assistant()])).toEqual([
      user(text('One'), text('Two')),
    ]);
  });

  test('reports c01, spec: planner 7.21: an interrupted call with an error result, also where a human went on', () => {
    const asked = [user(text('Go')), assistant(call('a'), call('b'))];
    expect(modelView([...asked, user(result('b')), user(text('And?'))])).toEqual([
      user(text('Go')),
      assistant(call('a'), call('b')),
      user(interrupted('a'), result('b'), text('And?')),
    ]);
  });

  test('an unanswered call at the very end answered', () => {
    expect(modelView([user(text('Go')), assistant(call('a'))]).at(-1)).toEqual(user(interrupted('a')));
  });
});

// Transcripts as bad as they come: ids of calls are unique per answer only, as providers repeat theirs.
const words = fc.oneof(fc.constantFrom('', ' ', '\n'), fc.string({ minLength: 1, maxLength: 8 }));
const id = fc.constantFrom('a', 'b', 'c', 'd');
const anyMessage: fc.Arbitrary<ModelMessage> = fc.oneof(
  fc
    .tuple(fc.array(words, { maxLength: 3 }), fc.uniqueArray(id, { maxLength: 4 }), fc.boolean())
    .map(([texts, ids, callsFirst]) => {
      const blocks = [texts.map(text), ids.map(call)];
      return assistant(...(callsFirst ? blocks.reverse() : blocks).flat());
    }),
  fc
    .tuple(fc.array(words, { maxLength: 3 }), fc.uniqueArray(id, { maxLength: 4 }))
    .map(([texts, ids]) => user(...ids.map((each) => result(each)), ...texts.map(text))),
);
const transcripts = fc.array(anyMessage, { maxLength: 12 });
const summaries = fc.constantFrom('', 'What was said before.');

const shownText = (message: ModelMessage): string[] =>
  message.blocks.flatMap((block) => (block.type === 'text' && block.text.trim() !== '' ? [block.text] : []));
const resultsIn = (message: ModelMessage | undefined): ToolResultBlock[] =>
  (message?.blocks ?? []).filter((block) => block.type === 'tool_result');
const callsIn = (message: ModelMessage): Block[] => toolUses(message.blocks);

/** From the first user message with words on: what comes before is not shown. */
function fromFirstWords(transcript: ModelMessage[]): ModelMessage[] {
  const begins = transcript.findIndex((message) => message.role === 'user' && shownText(message).length > 0);
  return begins < 0 ? [] : transcript.slice(begins);
}

describe('whatever the transcript', () => {
  const holds = (property: (view: ModelMessage[], transcript: ModelMessage[], summary: string) => void): void => {
    fc.assert(
      fc.property(transcripts, summaries, (transcript, summary) => {
        property(modelView(transcript, summary), transcript, summary);
      }),
      { numRuns: 1_000 },
    );
  };

  test('the first message is the user\'s, and roles alternate', () => {
    holds((view) => {
      const expected = view.map((_, index) => (index % 2 === 0 ? 'user' : 'assistant'));
      expect(view.map((message) => message.role)).toEqual(expected);
    });
  });

  test('every call is answered right after it, once, in the order of the calls, before any text', () => {
    holds((view) => {
      for (const [index, message] of view.entries()) {
        const asked = toolUses(message.blocks).map((each) => each.tool_use_id);
        const answer = view[index + 1];
        expect(resultsIn(answer).map((each) => each.tool_use_id)).toEqual(asked);
        const first = answer?.blocks.slice(0, asked.length) ?? [];
        expect(first.map((block) => block.type)).toEqual(asked.map(() => 'tool_result'));
      }
    });
  });

  test('reports c05: only a user\'s message holds results, only an assistant\'s holds calls, and there they are last', () => {
    holds((view) => {
      for (const { role, blocks } of view) {
        if (role === 'user') expect(toolUses(blocks)).toEqual([]);
        else expect(blocks.some((block) => block.type === 'tool_result')).toBe(false);
        const first = blocks.findIndex((block) => block.type === 'tool_use');
        if (first >= 0) expect(blocks.slice(first).every((block) => block.type === 'tool_use')).toBe(true);
      }
    });
  });

  test('no block and no message is empty', () => {
    holds((view) => {
      for (const { blocks } of view) {
        expect(blocks.length).toBeGreaterThan(0);
        expect(blocks.some((block) => block.type === 'text' && block.text.trim() === '')).toBe(false);
      }
    });
  });

  test('no text is lost, none is made up, and its order stays', () => {
    holds((view, transcript, summary) => {
      const kept = summary === '' ? fromFirstWords(transcript) : transcript;
      expect(view.flatMap(shownText).slice(summary === '' ? 0 : 1)).toEqual(kept.flatMap(shownText));
    });
  });

  test('no call is lost, and a result that was recorded right after its call is the one shown', () => {
    holds((view, transcript, summary) => {
      const kept = summary === '' ? fromFirstWords(transcript) : transcript;
      expect(view.flatMap(callsIn)).toEqual(kept.flatMap(callsIn));
      const expected = kept.flatMap((message, index) => {
        const next = kept[index + 1];
        const results = next?.role === 'user' ? resultsIn(next) : [];
        const recorded = new Map(results.map((each) => [each.tool_use_id, each]));
        return toolUses(message.blocks).map(({ tool_use_id }) => recorded.get(tool_use_id) ?? interrupted(tool_use_id));
      });
      expect(view.flatMap(resultsIn)).toEqual(expected);
    });
  });

  test('spec: planner 7.21: the transcript itself is left as it is, and a view of the view is the view', () => {
    holds((view, transcript) => {
      const before = structuredClone(transcript);
      const again = modelView(transcript);
      again.forEach((message) => message.blocks.push(text('changed')));
      expect(transcript).toEqual(before);
      expect(modelView(view)).toEqual(view);
    });
  });
});
