// The event reader: bytes to visible text, records and findings, whatever the chunks (spec: bounded-claude 4, 5, 7).

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Fact } from '../domain/bounded/events.ts';
import { bytes, fixture, plan, randomText } from './support/bounded.ts';
import {
  assistant, delta, detailOf, failure, good, goOn, init, kindOf, lines, model, ping, read, readEvents, result, retry,
  session, start, stop, stream, synthetic, thinking,
} from './support/claude-stream.ts';

/** The visible text as a watcher builds it from the changes. */
const shown = (facts: Fact[]): string =>
  facts.reduce((text, fact) => (fact.kind === 'text' ? text.slice(0, fact.at) + fact.text : text), '');

const findings = (facts: Fact[]): string[] => facts.flatMap(
  (fact) => (fact.kind === 'finding' ? [fact.failure_kind] : []),
);
const contents = (facts: Fact[]): boolean[] => facts.flatMap((fact) => (fact.kind === 'event' ? [fact.content] : []));

describe('spec: bounded-claude 4.11: bytes are decoded across chunk borders', () => {
  const text = lines([init(), start(), delta('# Plan 🧭 é'), assistant('# Plan 🧭 é'), stop(), result('# Plan 🧭 é')]);
  test('split at every byte, the facts are the same', () => {
    const input = bytes(text);
    const whole = read([input]);
    for (let cut = 0; cut <= input.length; cut++) {
      expect(read([input.subarray(0, cut), input.subarray(cut)]).facts).toEqual(whole.facts);
    }
    expect(read([...input].map((byte) => new Uint8Array([byte]))).facts).toEqual(whole.facts);
  });
  test('any chunks of any recording give the same facts and the same verdict', () => {
    const names = ['ok', 'L-cut', 'f-refusal', 'f-tool', 'f-think', 'f-maxtok', 's-int-stall'];
    fc.assert(fc.property(fc.constantFrom(...names), fc.array(
      fc.integer({ min: 1, max: 5000 }),
      { maxLength: 30 },
    ), (name, sizes) => {
      const input = fixture(`claude-cli/${name}.jsonl`);
      const chunks: Uint8Array[] = [];
      let at = 0;
      for (const size of sizes) chunks.push(input.subarray(at, (at += size)));
      chunks.push(input.subarray(at));
      const whole = read([input]);
      const parts = read(chunks);
      expect(parts.facts).toEqual(whole.facts);
      expect(parts.judge()).toEqual(whole.judge());
    }), { numRuns: 60 });
  });
  test('a chunk that its owner overwrites later does no harm', () => {
    const buffer = bytes(text.slice(0, 700));
    const reader = read([]).reader;
    const facts: Fact[] = [];
    reader.push(buffer, (fact) => facts.push(fact));
    buffer.fill(0x41);
    reader.push(bytes(text.slice(700)), (fact) => facts.push(fact));
    expect(facts).toEqual(read([text]).facts);
  });
  test('b23: a 200 kB line with a three-byte character over each 65,536-byte border holds no U+FFFD', () => {
    const long = '€'.repeat(70_000);
    const input = bytes(lines([init(), result(long)]));
    const chunks = Array.from(
      { length: Math.ceil(input.length / 65_536) },
      (_, i) => input.subarray(i * 65_536, (i + 1) * 65_536),
    );
    const { facts, judge } = read(chunks);
    expect(facts.filter((fact) => fact.kind === 'result')).toHaveLength(1);
    expect(JSON.stringify(facts)).not.toContain('\ufffd');
    expect(detailOf(judge())).toContain('# Plan Checkpoint');
  });
  test('a character cut at the end of the stream is an incomplete line', () => {
    const input = bytes(lines([init()]) + JSON.stringify(delta('é')));
    const cut = input.subarray(0, input.lastIndexOf(0xc3) + 1);
    expect(detailOf(read([cut]).judge())).toContain('incomplete');
  });
});

describe('spec: bounded-claude 4.11: caps', () => {
  const lineOf = (size: number): string => {
    const empty = JSON.stringify(ping());
    const padded = JSON.stringify({ ...ping(), pad: '' });
    return padded.replace(
      '"pad":""',
      `"pad":"${'x'.repeat(size - padded.length)}"`,
    ).padEnd(Math.min(size, empty.length));
  };
  test.each([1_048_575, 1_048_576])('b01: a line of %d bytes is read, also without a line feed at the end', (size) => {
    expect(lineOf(size)).toHaveLength(size);
    expect(contents(read([lines([init()]), lineOf(size), '\n']).facts)).toEqual([false, false]);
    expect(contents(read([lines([init()]), lineOf(size)]).facts)).toEqual([false, false]);
  });
  test('b01: a line of 1,048,577 bytes ends the run with its measured size, complete or not', () => {
    for (const end of ['', '\n']) {
      const { facts, judge } = read([lines([init()]), lineOf(1_048_577), end]);
      expect(findings(facts)).toEqual(['output_too_large']);
      expect(detailOf(judge())).toContain('1048577 bytes');
    }
  });
  test('b03: the limit is per line: 3,000 lines of 1 kB are fine', () => {
    const many = Array.from({ length: 3000 }, () => lineOf(1024));
    expect(kindOf(readEvents([init(), ...many, result()]).judge())).toBe('success');
  });
  test('exactly 100,000 visible characters pass, one more ends the run and is cut off', () => {
    const pass = readEvents([init(), start(), delta('🧭'.repeat(99_999)), delta('🧭')]);
    expect(findings(pass.facts)).toEqual([]);
    const over = readEvents([init(), start(), delta('🧭'.repeat(99_999)), delta('🧭🧭'), delta('x')]);
    expect(findings(over.facts)).toEqual(['output_too_large']);
    expect([...over.reader.visibleText()]).toHaveLength(100_000);
    expect(shown(over.facts)).toBe(over.reader.visibleText());
  });
  test('committed text takes the room of its deltas, not more', () => {
    const text = 'x'.repeat(60_000);
    expect(
      findings(
        readEvents([init(), start(), delta(text), assistant(text), start('m2'), delta(text.slice(0, 40_000))]).facts,
      ),
    ).toEqual([]);
  });
  test('an over-long result ends the run', () => {
    expect(findings(readEvents([init(), result('x'.repeat(100_001))]).facts)).toEqual(['output_too_large']);
  });
  test('the event log is capped; what is over is not emitted', () => {
    const { facts } = readEvents([init(), ...Array.from({ length: 100 }, ping), result()], { maxLogBytes: 2000 });
    const size = facts.flatMap(
      (fact) => (fact.kind === 'event' ? [JSON.stringify(fact.envelope).length + 1] : []),
    ).reduce((a, b) => a + b, 0);
    expect(findings(facts)).toEqual(['output_too_large']);
    expect(size).toBeLessThanOrEqual(2000);
  });
  test('b05: one write with 5,000 deltas followed by the result: success, order kept', () => {
    const parts = Array.from({ length: 5000 }, (_, i) => `${i} `);
    const text = plan({ Steps: parts.join('') });
    const at = text.indexOf('0 1 2');
    const deltas = [text.slice(0, at), ...parts, text.slice(at + parts.join('').length)].map((part) => delta(part));
    const { facts, judge } = readEvents([init(), start(), ...deltas, assistant(text), stop(), result(text)]);
    expect(shown(facts)).toBe(text);
    expect(judge()).toMatchObject({ success: true, text });
  });
  test('a burst of 10 MiB in one go is read with bounded memory', () => {
    const burst = Buffer.from(
      lines([init(), start()]) + lines([thinking('x'.repeat(200))]).repeat(28_000) + lines(
        [assistant(plan()), result()],
      ),
    );
    expect(burst.length).toBeGreaterThan(10 * 1024 * 1024);
    const reader = read([]).reader;
    const before = process.memoryUsage().heapUsed;
    let most = 0;
    let count = 0;
    reader.push(burst, () => {
      if (++count % 5000 === 0) most = Math.max(most, process.memoryUsage().heapUsed - before);
    });
    expect(count).toBeGreaterThan(28_000);
    expect(most).toBeLessThan(100 * 1024 * 1024);
    expect(reader.judge({ exitCode: 0, signal: null, stderrTail: '' }).success).toBe(true);
  });
});

describe('spec: bounded-claude 5.3: lines that are no events', () => {
  test('a banner before the first event is skipped and noted', () => {
    const { facts, judge } = readEvents(['Welcome!', '', '  ', '{broken', '42', ...good()]);
    expect(facts.filter((fact) => fact.kind === 'note')).toHaveLength(3);
    expect(kindOf(judge())).toBe('success');
  });
  test.each(
    ['oops', '42', '"text"', '[]', 'null', 'true', '{"type":'],
  )('%s after the first event is a protocol error, and ends nothing at once', (line) => {
    const { facts, judge } = readEvents([init(), line, ...good().slice(1)]);
    expect(findings(facts)).toEqual([]);
    expect(kindOf(judge())).toBe('protocol_error');
  });
  test('a19, a choice: an event broken in two is noted, the text stays, a later result does not win', () => {
    const broken = JSON.stringify(assistant(plan()));
    const { reader, judge } = readEvents(
      [
        init(), start(), delta('early text'), `${broken.slice(0, 80)}{"type":"rate_limit_event"}`, broken.slice(80),
        result(),
      ],
    );
    expect(reader.visibleText()).toBe('early text');
    expect(kindOf(judge())).toBe('protocol_error');
    expect(reader.observed().notes).toHaveLength(2);
  });
  test('a23: a result cut at 65,536 bytes with exit 0 names an incomplete line', () => {
    const cut = JSON.stringify(result(`${plan()}${'x'.repeat(70_000)}`)).slice(0, 65_536);
    expect(detailOf(read([lines([init()]), cut]).judge())).toMatch(/last line of 65536 bytes is incomplete/);
  });
  test('invalid UTF-8 in a line is a broken line', () => {
    const bad = bytes(lines([ping()]));
    bad[10] = 0xff;
    expect(kindOf(read([lines([init()]), bad, lines([result()])]).judge())).toBe('protocol_error');
  });
  test('a result in the last line, without its line feed, counts', () => {
    expect(kindOf(read([lines(good()).trimEnd()]).judge())).toBe('success');
  });
  test('CRLF ends lines, too', () => {
    expect(kindOf(read([lines(good()).replaceAll('\n', '\r\n')]).judge())).toBe('success');
  });
  test('reports a21, spec: bounded-claude 5.1: unknown types are recorded without content and end nothing', () => {
    const strange = [
      'tool_progress', 'control_request', 'keep_alive', 'foo', '__proto__',
    ].map((type) => ({ type, secret: 'private words', tool_use_id: 't' }));
    const user = { type: 'user', message: { role: 'user', content: 'private words' } };
    const { facts, judge } = readEvents([init(), ...strange, { no: 'type' }, user, ...good().slice(1)]);
    expect(findings(facts)).toEqual([]);
    expect(JSON.stringify(facts)).not.toContain('private words');
    expect(kindOf(judge())).toBe('success');
  });
});

describe('spec: bounded-claude 5.2: tool use of any kind ends the run', () => {
  test.each([
    ['a tool in init', [init({ tools: ['Bash'] })]],
    [
      'a tool_use block that starts',
      [
        init(), start(),
        stream({ type: 'content_block_start', index: 0, content_block: { type: 'tool_use', name: 'Bash' } }),
      ],
    ],
    [
      "a tool's input",
      [
        init(), start(),
        stream({ type: 'content_block_delta', delta: { type: 'input_json_delta', partial_json: '{' } }),
      ],
    ],
    [
      'a tool_use block in an assistant event',
      [init(), { type: 'assistant', message: { id: 'm', model, content: [{ type: 'tool_use', name: 'Read' }] } }],
    ],
    [
      'a server tool',
      [
        init(),
        { type: 'assistant', message: { id: 'm', model, content: [{ type: 'server_tool_use', name: 'web_search' }] } },
      ],
    ],
    [
      'a tool_result',
      [init(), { type: 'user', message: { role: 'user', content: [{ type: 'tool_result', content: 'x' }] } }],
    ],
    ['a tool_use of an unknown type of event', [init(), { type: 'foo', content: [{ type: 'tool_use', name: 'X' }] }]],
    ['a stop for a tool', [init(), start(), stop('tool_use')]],
    ['a denied permission', [init(), result(plan(), { permission_denials: [{ tool_name: 'Bash' }] })]],
    ['a subagent', [init(), { ...assistant('x'), parent_tool_use_id: 't1' }]],
  ])('%s', (_name, events) => {
    const { facts, judge } = readEvents([...events, result()]);
    expect(findings(facts)).toEqual(['tool_use_violation']);
    expect(kindOf(judge())).toBe('tool_use_violation');
  });
});

describe('spec: bounded-claude 5.4: visible text', () => {
  const text = (...events: Record<string, unknown>[]): string => {
    const { reader, facts } = readEvents([init(), ...events]);
    expect(shown(facts)).toBe(reader.visibleText());
    return reader.visibleText();
  };
  test('is the committed blocks in order, deltas only for the block in progress', () => {
    expect(text(start(), delta('# Pl'), delta('an'))).toBe('# Plan');
    expect(text(start(), delta('# Pl'), assistant('# Plan\n'), delta('more', 1))).toBe('# Plan\nmore');
    expect(
      text(start(), delta('a'), assistant('a'), delta('b', 1), assistant('b'), stop(), start('m2'), delta('c')),
    ).toBe('abc');
  });
  test('a committed block that equals its deltas changes nothing', () => {
    const { facts } = readEvents([init(), start(), delta('ab'), assistant('ab')]);
    expect(facts.filter((fact) => fact.kind === 'text')).toHaveLength(1);
  });
  test('an attempt that the CLI abandoned and sent again counts once, and stays until the new one has text', () => {
    expect(text(start(), delta('half of'), retry(null, 'unknown'))).toBe('half of');
    expect(text(start(), delta('half of'), retry(null, 'unknown'), start('m2'))).toBe('half of');
    expect(text(start(), delta('half of'), retry(null, 'unknown'), start('m2'), delta('ha'))).toBe('ha');
    expect(text(start(), delta('half of'), assistant('whole', 'ns'))).toBe('whole');
    expect(text(start(), delta('a'), assistant('a'), delta('b', 1), start('m2'), delta('ab'))).toBe('ab');
  });
  test('a continuation goes on where the text stops; a refused answer gives way', () => {
    expect(
      text(start(), delta('one '), assistant('one '), stop('max_tokens'), goOn(), start('m2'), delta('two')),
    ).toBe('one two');
    expect(text(start(), delta('one '), goOn(), start('m2'), delta('two'))).toBe('one two');
    expect(
      text(start(), assistant('bad'), stop('refusal'), goOn({ refusal_retry: true }), start('m2'), delta('good')),
    ).toBe('good');
  });
  test('thinking and messages of the CLI itself are no visible text', () => {
    expect(text(start(), thinking('hidden'), delta('seen'), synthetic('API Error'))).toBe('seen');
  });
  test('L-cut: ten attempts and a whole answer are one answer', () => {
    const { reader } = read([fixture('claude-cli/L-cut.jsonl')], { sessionId: 'a9a45584-6b6e-4778-be21-16cad241eb53' });
    expect(reader.visibleText().match(/# Plan Checkpoint/g)).toHaveLength(1);
    expect(reader.visibleText()).toContain('(non-streaming)');
  });
});

describe('spec: bounded-claude 4.10: what counts as content', () => {
  test('b21: thinking does; ping, status and api_retry do not', () => {
    const { facts } = readEvents(
      [
        init(), ping(), retry(529, 'overloaded'), start(), thinking('x'), delta('y'),
        { type: 'system', subtype: 'thinking_tokens' }, synthetic('e'),
      ],
    );
    expect(contents(facts)).toEqual([false, false, false, false, true, true, true, false]);
  });
  test('a result is told, so that an exit can be waited for', () => {
    expect(readEvents(good()).facts.filter((fact) => fact.kind === 'result')).toHaveLength(1);
  });
});

describe('spec: bounded-claude 7.2: envelopes', () => {
  test('hold no thinking, no packet and no text, but kinds, sizes, identity, errors and usage', () => {
    const echo = { type: 'user', message: { role: 'user', content: [{ type: 'text', text: 'THE PACKET' }] } };
    const { facts } = readEvents(
      [init(), echo, start(), thinking('THOUGHT'), delta('VISIBLE'), assistant('VISIBLE'), stop(), result('RESULT')],
    );
    const log = facts.flatMap((fact) => (fact.kind === 'event' ? [fact.envelope] : []));
    for (const word of ['THE PACKET', 'THOUGHT', 'VISIBLE', 'RESULT']) expect(JSON.stringify(log)).not.toContain(word);
    expect(log.map((envelope) => envelope.n)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect(log[4]).toMatchObject({ type: 'stream_event', delta: 'text_delta', characters: 7 });
    expect(log[7]).toMatchObject({ type: 'result', is_error: false, total_cost_usd: 0.25, models: [model] });
  });
  test('a secret in an error of the CLI is redacted in record, note and detail', () => {
    const secret = ['gh', 'p_', randomText(36)].join('');
    const { facts, judge } = readEvents([init(), failure({ errors: [`bad token ${secret}`] })]);
    const told = judge({ exitCode: 1, stderrTail: `token ${secret}` });
    expect(JSON.stringify([facts, told])).not.toContain(secret.slice(4));
    expect(detailOf(told)).toContain('[redacted: github-token]');
  });
  test('what was observed is told, usage once', () => {
    const { reader } = readEvents(good());
    expect(reader.observed()).toMatchObject({
      session_ids: [session], models: [model], cli_version: '2.1.332', total_cost_usd: 0.25, num_turns: 1,
      usage: {
        input_tokens: 1200,
        output_tokens: 150,
      }, streamed: { input_tokens: 1200, output_tokens: 150 }, events: 7, results: 1,
    });
  });
});
