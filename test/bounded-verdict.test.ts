// The verdict on an attempt: success needs all, failures have one kind by a fixed precedence (spec: bounded-claude 5).

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { shortened } from '../domain/bounded/envelope.ts';
import { failureKinds } from '../domain/bounded/failures.ts';
import { characters } from '../domain/text.ts';
import { fixture, fixtureJson, plan } from './support/bounded.ts';
import {
  assistant, delta, detailOf, failure, good, goOn, init, kindOf, model, read, readEvents, result, retry, start, stop,
  synthetic,
} from './support/claude-stream.ts';

interface Recording {
  name: string;
  args: string[];
  exit_code: number | null;
  signal: string | null;
  stderr: string;
}

/**
 * What the specification makes of each recording. Their texts are no valid plans, so a good run is a protocol_error.
 */
const expected: Record<string, string> = {
  ok: 'protocol_error',
  'L-429': 'upstream_error',
  'L-cut': 'protocol_error',
  'L-pingstall': 'protocol_error',
  'L-stall': 'protocol_error',
  'f-401': 'authentication',
  'f-404': 'claude_error',
  'f-big': 'budget_exceeded',
  'f-ctxwin': 'claude_error',
  'f-cutnodelta': 'upstream_error',
  'f-empty': 'protocol_error',
  'f-maxtok': 'claude_error',
  'f-miderror': 'protocol_error',
  'f-refusal': 'refusal',
  'f-think': 'protocol_error',
  'f-tool': 'tool_use_violation',
  'fb-529': 'identity_mismatch',
  'v-oauth': 'protocol_error',
  'm2-plan-haiku': 'identity_mismatch',
  'r-term': 'protocol_error',
  'r-unknown': 'session_lost',
  'r-reuse': 'session_lost',
  's-int-stall': 'claude_error',
  's-term-stall': 'claude_error',
};

const recordings = fixtureJson('claude-cli/manifest.json') as Recording[];
const option = (recording: Recording, ...names: string[]): string =>
  names.map(
    (name) => recording.args.indexOf(name),
  ).filter((at) => at >= 0).map((at) => recording.args[at + 1] ?? '')[0] ?? '';

function readRecording(recording: Recording) {
  const sessionId = option(recording, '--session-id', '--resume');
  const input = fixture(`claude-cli/${recording.name}.jsonl`);
  const { judge, reader } = read([input], { sessionId, model: option(recording, '--model') });
  const ending = { exitCode: recording.exit_code, signal: recording.signal, stderrTail: recording.stderr };
  return { reader, judge: (more = {}) => judge({ ...ending, ...more }) };
}

describe('what the real CLI 2.1.332 printed in 24 situations', () => {
  test('all of them are here', () => {
    expect(recordings.map(({ name }) => name).sort()).toEqual(Object.keys(expected).sort());
  });
  test.each(recordings)('$name is read, and its kind follows', (recording) => {
    const { judge, reader } = readRecording(recording);
    expect(kindOf(judge())).toBe(expected[recording.name]);
    expect(reader.observed().notes).toEqual([]);
  });
  test.each(
    recordings.filter(({ name }) => name.startsWith('s-')),
  )('$name, ended by us: the kind is the cause that we recorded before', (recording) => {
    const cause = { failure_kind: 'idle_timeout', detail: 'No event for 180 s.' } as const;
    expect(readRecording(recording).judge({ cause })).toMatchObject(
      { failure_kind: 'idle_timeout', detail: cause.detail },
    );
  });
  test('with a valid plan as its text, the recorded good run is a success', () => {
    const recording = recordings[0]!;
    const text = new TextDecoder().decode(fixture('claude-cli/ok.jsonl'));
    const end = text.trimEnd().lastIndexOf('\n') + 1;
    const last = JSON.parse(text.slice(end)) as Record<string, unknown>;
    const { judge } = read(
      [text.slice(0, end), JSON.stringify({ ...last, result: plan() })],
      { sessionId: option(recording, '--session-id') },
    );
    expect(judge()).toEqual({ success: true, text: plan(), notes: [] });
  });
});

describe('spec: bounded-claude 5.5: success needs all', () => {
  test('exit 0, a completed result with a valid plan, the session and the model everywhere', () => {
    expect(readEvents(good()).judge()).toEqual({ success: true, text: plan(), notes: [] });
  });
  test.each([
    ['no init', good().slice(1), 'identity_mismatch'],
    ['no session in init', [init({ session_id: undefined }), result()], 'identity_mismatch'],
    ['another session in init', [init({ session_id: 'other' }), result()], 'identity_mismatch'],
    ['no session in the result', [init(), result(plan(), { session_id: undefined })], 'identity_mismatch'],
    ['another session in the result', [init(), result(plan(), { session_id: 'other' })], 'identity_mismatch'],
    ['another model in init', [init({ model: 'claude-other-1' }), result()], 'identity_mismatch'],
    [
      'another model in an assistant event', [init(), assistant('x', 'm', 'claude-other-1'), result()],
      'identity_mismatch',
    ],
    [
      'another model in modelUsage', [init(), result(plan(), { modelUsage: { 'claude-other-1': {} } })],
      'identity_mismatch',
    ],
    [
      'another model beside ours in modelUsage',
      [init(), result(plan(), { modelUsage: { [model]: {}, 'claude-other-1': {} } })], 'identity_mismatch',
    ],
    ['no modelUsage', [init(), result(plan(), { modelUsage: {} })], 'identity_mismatch'],
    ['an error', [init(), result(plan(), { is_error: true })], 'claude_error'],
    ['not completed', [init(), result(plan(), { terminal_reason: 'max_turns' })], 'protocol_error'],
    ['no terminal_reason', [init(), result(plan(), { terminal_reason: undefined })], 'protocol_error'],
    ['stopped by a stop sequence', [init(), result(plan(), { stop_reason: 'stop_sequence' })], 'protocol_error'],
    ['a synthetic continuation', [init(), assistant('a'), goOn(), result()], 'protocol_error'],
    ['no text', [init(), result('')], 'protocol_error'],
    ['a malformed plan', [init(), result(plan({ Risks: null }))], 'protocol_error'],
    ['text before the plan', [init(), result(`Here it is:\n${plan()}`)], 'protocol_error'],
    ['no result', good().slice(0, -1), 'protocol_error'],
  ])('not with: %s', (_name, events, kind) => {
    expect(kindOf(readEvents(events).judge())).toBe(kind);
  });
  test('stop_reason counts where it is present', () => {
    expect(kindOf(readEvents([init(), result(plan(), { stop_reason: null })]).judge())).toBe('success');
  });
  test('a malformed plan: the detail says what is wrong', () => {
    expect(
      detailOf(readEvents([init(), result(plan({ Risks: null }))]).judge()),
    ).toContain('Section `Risks` is missing');
  });
  test('a29: a suffix such as [1m] is tolerated and noted; an alias fails closed and says what to configure', () => {
    const events = [
      init({ model: 'claude-m-1[1m]' }), assistant('x', 'm', 'claude-m-1'),
      result(plan(), { modelUsage: { 'claude-m-1[1m]': {} } }),
    ];
    const long = readEvents(events, { model: 'claude-m-1[1m]' }).judge();
    expect(long).toMatchObject({ success: true, notes: [expect.stringContaining('claude-m-1')] });
    expect(kindOf(readEvents(events, { model: 'claude-m-1' }).judge())).toBe('success');
    const alias = readEvents([init({ model: 'claude-opus-5' }), result()], { model: 'opus' }).judge();
    expect(alias).toMatchObject(
      { failure_kind: 'identity_mismatch', detail: expect.stringContaining('configure exactly claude-opus-5') },
    );
  });
  test('a37: success with another exit code is a protocol error that names it', () => {
    expect(readEvents(good()).judge({ exitCode: 1 })).toMatchObject(
      { failure_kind: 'protocol_error', detail: expect.stringContaining('exit code 1') },
    );
    expect(detailOf(readEvents(good()).judge({ exitCode: null, signal: 'SIGSEGV' }))).toContain('SIGSEGV');
  });
  test('spec: bounded-claude 4.12: a result and no exit within 5 s: ended by us, the result still counts', () => {
    expect(kindOf(readEvents(good()).judge({ exitCode: null, signal: 'SIGKILL', lingered: true }))).toBe('success');
  });
});

describe('spec: bounded-claude 5.6: two results', () => {
  test('a25: a success with a valid plan wins in either order, with exit 0', () => {
    for (const results of [[result(), failure()], [failure(), result()], [result(plan({ Risks: null })), result()]]) {
      expect(kindOf(readEvents([init(), ...results]).judge())).toBe('success');
    }
  });
  test('a25: with exit 1 neither order does, and both give the same kind', () => {
    const kinds = [[result(), failure()], [failure(), result()]].map(
      (results) => kindOf(readEvents([init(), ...results]).judge({ exitCode: 1 })),
    );
    expect(kinds).toEqual(['claude_error', 'claude_error']);
  });
  test('both are recorded', () => {
    const { reader, facts } = readEvents([init(), result(), failure()]);
    expect(reader.observed().results).toBe(2);
    expect(facts.filter((fact) => fact.kind === 'event' && fact.envelope.type === 'result')).toHaveLength(2);
  });
});

describe('spec: bounded-claude 5.7: structured fields first, stderr second, never the visible text', () => {
  const apiError = (more: Record<string, unknown>) => result(
    'API Error: 401 authentication_error',
    { is_error: true, terminal_reason: 'api_error', ...more },
  );
  test.each([
    [
      401, 'authentication',
    ], [
      403, 'authentication',
    ], [404, 'claude_error'], [400, 'claude_error'], [429, 'upstream_error'], [500, 'upstream_error'],
    [503, 'upstream_error'], [529, 'upstream_error'],
  ])('a13: status %d is %s, whatever the text says', (status, kind) => {
    expect(kindOf(readEvents([init(), apiError({ api_error_status: status })]).judge({ exitCode: 1 }))).toBe(kind);
  });
  test('a13: an error in the text only stays claude_error, not authentication', () => {
    expect(kindOf(readEvents([init(), apiError({})]).judge({ exitCode: 1 }))).toBe('claude_error');
    expect(
      kindOf(readEvents([init(), start(), delta('Error 401: please run /login'), failure()]).judge({ exitCode: 1 })),
    ).toBe('claude_error');
  });
  test.each([['rate_limit', 'upstream_error'], ['overloaded', 'upstream_error'], [
    'server_error', 'upstream_error',
  ], ['authentication_failed', 'authentication'],
    [
      'max_output_tokens', 'claude_error',
    ], ['invalid_request', 'claude_error']])("the CLI's own error %s is %s", (error, kind) => {
    expect(
      kindOf(readEvents([init(), synthetic('API Error', { error }), apiError({})]).judge({ exitCode: 1 })),
    ).toBe(kind);
  });
  test('spec: bounded-claude 5.11: a 401 in an api_retry ends the run at once; other retries do not', () => {
    const { facts } = readEvents([init(), retry(429, 'rate_limit'), retry(401, 'authentication_failed')]);
    expect(facts.filter((fact) => fact.kind === 'finding')).toMatchObject([{ failure_kind: 'authentication' }]);
  });
  test('a connection that was refused or cut until the CLI gave up', () => {
    expect(kindOf(readEvents([init(), retry(null, 'unknown')]).judge({ exitCode: 1 }))).toBe('upstream_error');
    expect(
      kindOf(readEvents([init(), retry(null, 'unknown'), start(), delta('x')]).judge({ exitCode: 1 })),
    ).toBe('claude_error');
  });
  test('a15: a lost session by result or by stderr, fresh or resumed', () => {
    const errors = ['No conversation found with session ID: x'];
    expect(
      readEvents([failure({ errors })]).judge({ exitCode: 1 }),
    ).toMatchObject({ failure_kind: 'session_lost', detail: errors[0] });
    expect(kindOf(readEvents([]).judge({ exitCode: 1, stderrTail: errors[0]! }))).toBe('session_lost');
    expect(
      kindOf(readEvents([]).judge({ exitCode: 1, stderrTail: 'Error: Session ID x is already in use.' })),
    ).toBe('session_lost');
  });
  test('a27: a prompt that is too long keeps its message and is not tried again', () => {
    const verdict = readEvents(
      [
        init(), synthetic('Prompt is too long', { error: 'invalid_request', api_error_status: 400 }),
        apiError({ api_error_status: 400 }),
      ],
    ).judge({ exitCode: 1 });
    expect(verdict).toMatchObject({ failure_kind: 'claude_error', detail: 'Prompt is too long' });
  });
  test('a31: a stream that fell silent is upstream_idle, half a plan stays, <synthetic> is no mismatch', () => {
    const { reader, judge } = readEvents(
      [
        init(), start(), delta('# Plan Check'), synthetic('Stream idle timeout - partial response received'),
        apiError({}),
      ],
    );
    expect(kindOf(judge({ exitCode: 1 }))).toBe('upstream_idle');
    expect(reader.visibleText()).toBe('# Plan Check');
  });
  test('stderr decides where nothing else does', () => {
    expect(
      kindOf(readEvents([]).judge({ exitCode: 1, stderrTail: 'Invalid API key · Please run /login' })),
    ).toBe('authentication');
    expect(
      kindOf(readEvents([init()]).judge({ exitCode: 1, stderrTail: 'connect ECONNREFUSED 127.0.0.1:1' })),
    ).toBe('upstream_error');
    expect(readEvents([]).judge({ exitCode: 1, stderrTail: 'error: unknown option --x' })).toMatchObject(
      { failure_kind: 'claude_error', detail: expect.stringContaining('unknown option') },
    );
  });
  test('a11: nothing printed and exit 0 is a protocol error', () => {
    expect(kindOf(read([]).judge())).toBe('protocol_error');
    expect(kindOf(read(['Welcome\n']).judge())).toBe('protocol_error');
  });
  test('ended by a signal that nobody of us sent', () => {
    expect(readEvents([init()]).judge({ exitCode: null, signal: 'SIGKILL' })).toMatchObject(
      { failure_kind: 'claude_error', detail: expect.stringContaining('SIGKILL') },
    );
  });
});

describe('spec: bounded-claude 5.8: precedence', () => {
  test.each(failureKinds)('%s, recorded before the first signal, is above a valid plan and exit 0', (failure_kind) => {
    const cause = { failure_kind, detail: 'ours' };
    expect(readEvents(good()).judge({ cause })).toMatchObject({ success: false, failure_kind, detail: 'ours' });
    expect(kindOf(readEvents([init({ tools: ['X'] })]).judge({ cause }))).toBe(failure_kind);
  });
  test('tool use before identity, in one event', () => {
    expect(kindOf(readEvents([init({ tools: ['X'], model: 'claude-other-1' })]).judge())).toBe('tool_use_violation');
  });
  test('identity before a structured error', () => {
    expect(
      kindOf(
        readEvents(
          [init(), result('', { is_error: true, session_id: 'other', api_error_status: 500 })],
        ).judge({ exitCode: 1 }),
      ),
    ).toBe('identity_mismatch');
  });
  test('a structured error before a refusal, a refusal before protocol', () => {
    const refused = [init(), start(), stop('refusal')];
    expect(
      kindOf(readEvents([...refused, result('', { is_error: true, api_error_status: 529 })]).judge({ exitCode: 1 })),
    ).toBe('upstream_error');
    expect(kindOf(readEvents([...refused, 'oops', result()]).judge())).toBe('refusal');
  });
  test('max_tokens and an exceeded window are claude_error, also with a valid plan', () => {
    for (const reason of ['max_tokens', 'model_context_window_exceeded']) {
      expect(kindOf(readEvents([init(), start(), stop(reason), goOn(), result()]).judge())).toBe('claude_error');
    }
  });
});

describe('a detail is told whole, up to 2,000 characters', () => {
  const detailOf = (errors: string[]): string => {
    const verdict = readEvents([init(), result('', { is_error: true, errors })]).judge({ exitCode: 1 });
    return verdict.success ? '' : verdict.detail;
  };
  test('1,500 characters are all there', () => {
    const text = `${'word '.repeat(299)}last.`;
    expect(detailOf([text])).toContain(text);
  });
  test('a longer one ends with a whole sentence, else with a whole word, and says that there is more', () => {
    expect(shortened('One two. Three four five. Six seven eight nine ten.', 40)).toBe('One two. Three four five. …');
    expect(shortened('one two three four five six seven', 20)).toBe('one two three four …');
    expect(shortened('\u{1f600}'.repeat(50), 20)).toBe(`${'\u{1f600}'.repeat(19)}…`);
    const prose = fc.lorem({ maxCount: 30, mode: 'sentences' });
    fc.assert(fc.property(prose, fc.integer({ min: 20, max: 400 }), (text, most) => {
      const short = shortened(text, most);
      expect(characters(short)).toBeLessThanOrEqual(most);
      expect(short === text || text.startsWith(short.replace(/ ?…$/, ''))).toBe(true);
    }));
    const long = detailOf([`${'A sentence of some words. '.repeat(200)}`]);
    expect(long).toMatch(/words\. … \(completed\)$/);
    expect(characters(long)).toBeGreaterThan(1_900);
    expect(characters(long)).toBeLessThanOrEqual(2_000);
  });
});
