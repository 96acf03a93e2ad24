// Times, packets, findings and claims of re-validations, without any server (spec: bounded-claude 9).

import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readPacket } from '../domain/bounded/packet.ts';
import { claimOf, findingsOf, staleReasons, type Judged, type JudgedAttempt } from '../domain/revalidation/claim.ts';
import { nextTimes, readCron } from '../domain/revalidation/cron.ts';
import { makePackets, type SourceFile } from '../domain/revalidation/packets.ts';
import { reportJsonSchema } from '../domain/revalidation/report.ts';
import { randomText } from './support/bounded.ts';

describe('a schedule that cannot be parsed is refused, in words that say how to mend it', () => {
  test.each([
    ['', /it has 0 fields/],
    ['0 3 * *', /it has 4 fields/],
    ['0 0 3 * * 1', /it has 6 fields/],
    ['60 3 * * 1', /"60" is no minute/],
    ['0 24 * * 1', /"24" is no hour/],
    ['0 3 0 * *', /"0" is no day of the month/],
    ['0 3 * 13 *', /"13" is no month/],
    ['0 3 * * funday', /"funday" is no day of the week/],
    ['*/0 3 * * *', /"\*\/0" is no minute/],
    ['5-1 3 * * *', /"5-1" is no minute/],
    ['0 3 1 * 1', /both a day of the month and a day of the week/],
    ['0 3 31 2 *', /it never comes/],
    ['@sometimes', /"@sometimes" is not known/],
    ['@every 1h', /"@every 1h" is not known/],
  ])('%j', (cron, why) => {
    const read = readCron(cron);
    expect(read.ok).toBe(false);
    expect(!read.ok && read.problem).toMatch(why);
    expect(!read.ok && read.problem).toContain('minute hour day-of-month month day-of-week');
  });
});

test.each([
  ['0 3 * * 1', '2026-12-07T03:00:00.000Z'],
  ['0 3 * * mon', '2026-12-07T03:00:00.000Z'],
  ['@daily', '2026-12-03T00:00:00.000Z'],
  ['*/20 * * * *', '2026-12-02T10:20:00.000Z'],
  ['0 0 29 feb *', '2028-02-29T00:00:00.000Z'],
  ['30 22 1-7/3 * *', '2026-12-04T22:30:00.000Z'],
  ['0 0 * * 7', '2026-12-06T00:00:00.000Z'],
])('the next time of %j after Wednesday, 2 December 2026, 10:05 is %s', (cron, next) => {
  const read = readCron(cron);
  expect(read.ok && nextTimes(read.cron, new Date('2026-12-02T10:05:30Z'), 1).map(String)).toEqual([String(new Date(next))]);
});

test('next times ascend, lie behind the given one, and the plain form of a schedule means the same', () => {
  const field = (least: number, most: number) =>
    fc.oneof(fc.constant('*'), fc.integer({ min: least, max: most }).map(String), fc.integer({ min: 1, max: 9 }).map((step) => `*/${step}`));
  const cron = fc.tuple(field(0, 59), field(0, 23), field(1, 28), field(1, 12)).map((parts) => `${parts.join(' ')} *`);
  fc.assert(
    fc.property(cron, fc.date({ min: new Date('2026-01-01'), max: new Date('2030-01-01'), noInvalidDate: true }), (text, after) => {
      const read = readCron(text);
      if (!read.ok) throw new Error(read.problem);
      const times = nextTimes(read.cron, after, 4);
      expect(times).toHaveLength(4);
      expect([...times].sort((a, b) => a.getTime() - b.getTime())).toEqual(times);
      expect(times[0]!.getTime()).toBeGreaterThan(after.getTime());
      const plain = readCron(read.cron.text);
      expect(plain.ok && nextTimes(plain.cron, after, 4)).toEqual(times);
    }),
    { numRuns: 60 },
  );
});

const source = (name: string, lines: number, more = ''): SourceFile => ({
  path: `src/${name}.ts`,
  text: `${Array.from({ length: lines }, (_, line) => `export const ${name}${line} = ${line};`).join('\n')}\n${more}`,
});
const token = (): string => ['gh', 'p_'].join('') + randomText(36);

describe('packets', () => {
  test('spec: bounded-claude 9.2: they are near the limit, valid, and each begins elsewhere', async () => {
    const files = Array.from({ length: 30 }, (_, index) => source(`part${index}x`, 60));
    const made = await makePackets('shop', files);
    expect(made.ok && made.packets.length).toBe(3);
    const packets = made.ok ? made.packets : [];
    for (const { text, characters } of packets) {
      expect(characters).toBeGreaterThanOrEqual(23_000);
      expect(characters).toBeLessThanOrEqual(24_000);
      expect((await readPacket(new TextEncoder().encode(text))).ok).toBe(true);
      expect(text).toContain('present: excerpts of ');
    }
    expect(new Set(packets.map(({ sha256 }) => sha256)).size).toBe(3);
    expect(packets.map(({ text }) => /`(src\/\w+\.ts):/.exec(text)![1])).toEqual([
      'src/part0x.ts', 'src/part10x.ts', 'src/part20x.ts',
    ]);
  });

  test('hold what files hold: fences, headings and endings of lines do no harm', async () => {
    const odd = fc.array(fc.constantFrom('```', '## Goal', '# x', '````js', '<!-- ', '-->', 'text\r', '  ~~~', '\u{1F600}', '|', ''), {
      minLength: 40,
      maxLength: 80,
    });
    await fc.assert(
      fc.asyncProperty(fc.array(odd, { minLength: 4, maxLength: 6 }), async (bodies) => {
        const files = bodies.map((lines, index) => ({ path: `f${index}.md`, text: lines.join('\n') }));
        const made = await makePackets('shop', [...files, ...Array.from({ length: 20 }, (_, index) => source(`p${index}x`, 80))]);
        expect(made.ok).toBe(true);
      }),
      { numRuns: 25 },
    );
  });

  test('spec: bounded-claude 9.2: they leave a file with secret-like text out', async () => {
    const secret = token();
    const files = Array.from({ length: 30 }, (_, index) => source(`part${index}x`, 60, index === 0 ? `// ${secret}\n` : ''));
    const made = await makePackets('shop', files);
    expect(made.ok).toBe(true);
    const all = made.ok ? made.packets.map(({ text }) => text).join('\n') : '';
    expect(all).not.toContain(secret);
    expect(all).not.toContain('part0x');
  });

  test('cannot be made where nothing else is left: that is said, with the files and never a value', async () => {
    const secret = token();
    const files = Array.from({ length: 30 }, (_, index) => source(`part${index}x`, 60, `// ${secret}\n`));
    const made = await makePackets('shop', files);
    expect(made.ok).toBe(false);
    const problem = made.ok ? '' : made.problem;
    expect(problem).toMatch(/No packet of 23,000 to 24,000 characters can be made from the text files of shop\. Files with secret/);
    expect(problem).toContain('src/part0x.ts');
    expect(problem).not.toContain(secret);
  });
});

const attempt = (number: number, more: Partial<JudgedAttempt> = {}): JudgedAttempt => ({
  number,
  position: [1, 2, 2, 3][number - 1]!,
  purpose: (['fresh', 'interrupted', 'recovery', 'fresh'] as const)[number - 1]!,
  status: number === 2 ? 'failed' : 'succeeded',
  interrupted: number === 2,
  failure_kind: number === 2 ? 'cancelled' : null,
  failure_detail: null,
  session_id: number === 3 ? 's2' : `s${number}`,
  same_hashes: true,
  ...more,
});
const judged = (changes: Partial<Record<1 | 2 | 3 | 4, Partial<JudgedAttempt>>> = {}, more: Partial<Judged> = {}): Judged => ({
  status: 'completed',
  problems: [],
  confirmed: true,
  attempts: ([1, 2, 3, 4] as const).map((number) => attempt(number, changes[number])),
  ...more,
});
const failed = { status: 'failed', failure_kind: 'upstream_error', failure_detail: 'It failed.' } as const;
const claim = (what: Judged, open = 0, stale: string[] = []) => claimOf(what, open, stale).claim;

describe('a claim', () => {
  test('spec: bounded-claude 9.3: it holds with a valid recovery and a valid last fresh attempt; the end on purpose is no failure', () => {
    expect(findingsOf(judged())).toEqual([]);
    expect(claim(judged())).toBe('holds');
  });

  test('spec: bounded-claude 9.4: it is pending until each failure is acknowledged, whatever else holds', () => {
    const first = judged({ 1: failed });
    expect(findingsOf(first)).toEqual([{ number: 1, attempt: 1, kind: 'upstream_error', detail: 'It failed.' }]);
    expect(claim(first, 1)).toBe('pending');
    expect(claim(first, 0)).toBe('holds');
    expect(claim(judged({ 4: failed }), 1)).toBe('pending');
  });

  test.each<[string, Judged, string[]]>([
    ['the last fresh attempt failed', judged({ 4: failed }), ['upstream_error']],
    ['the recovery failed', judged({ 3: failed }), ['upstream_error']],
    ['the recovery was in another session', judged({ 3: { session_id: 'other' } }), ['other_session']],
    ['nothing was interrupted', judged({}, { attempts: [attempt(1), attempt(2, { status: 'succeeded', interrupted: false, failure_kind: null }), attempt(4)] }), ['not_interrupted']],
    ['an attempt ran with another CLI', judged({ 4: { same_hashes: false } }), ['changed']],
    ['the hashes had changed at the end', judged({}, { confirmed: false }), ['changed']],
    ['a run never began', judged({}, { attempts: [attempt(1), attempt(2), attempt(3)] }), ['not_run']],
    ['the recovery never began', judged({}, { attempts: [attempt(1), attempt(2), attempt(4)] }), ['not_run']],
    ['it was rejected', judged({}, { status: 'rejected', attempts: [], problems: ['No.'], confirmed: null }), ['rejected']],
    ['its workflow was lost', judged({}, { status: 'failed', attempts: [attempt(1)], confirmed: null }), ['lost']],
  ])('fails once everything is acknowledged where %s', (_, what, kinds) => {
    expect(findingsOf(what).map(({ kind }) => kind)).toEqual(kinds);
    expect(claim(what, kinds.length)).toBe('pending');
    expect(claim(what)).toBe('fails');
  });

  test('spec: bounded-claude 9.5: it is stale when a hash has changed since, whatever it was', () => {
    const bound = { runner_sha256: 'a', identity_sha256: 'b', cli_sha256: 'c' };
    expect(staleReasons(bound, bound, true)).toEqual([]);
    expect(staleReasons(bound, { ...bound, runner_sha256: 'x' }, true)).toEqual(['The runner has changed since.']);
    expect(staleReasons(bound, { ...bound, cli_sha256: null }, true)).toEqual(['The CLI is not there any more.']);
    expect(staleReasons(bound, { ...bound, identity_sha256: 'x' }, false)).toHaveLength(2);
    for (const what of [judged(), judged({ 4: failed })]) expect(claim(what, 0, ['The runner has changed since.'])).toBe('stale');
    expect(claim(judged({}, { status: 'running' }), 0, ['The runner has changed since.'])).toBe('pending');
  });

  test('never holds with a failure that nobody inspected, nor without both valid plans', () => {
    const one = (number: number) =>
      fc.record({
        status: fc.constantFrom('succeeded' as const, 'failed' as const, 'running' as const),
        interrupted: fc.boolean(),
        session_id: fc.constantFrom('s1', 's2'),
        same_hashes: fc.boolean(),
        failure_kind: fc.constantFrom(null, 'cancelled' as const, 'upstream_error' as const),
      }).map((more) => attempt(number, more));
    fc.assert(
      fc.property(fc.tuple(one(1), one(2), one(3), one(4)), fc.nat(4), fc.constantFrom(true, false, null), fc.nat(2), (attempts, kept, confirmed, open) => {
        const what = judged({}, { attempts: attempts.slice(0, kept), confirmed });
        if (claim(what, open) !== 'holds') return;
        expect(open).toBe(0);
        expect(confirmed).toBe(true);
        expect(what.attempts[2]).toMatchObject({ status: 'succeeded', session_id: what.attempts[1]!.session_id });
        expect(what.attempts[3]).toMatchObject({ status: 'succeeded', same_hashes: true });
      }),
    );
  });
});

test('spec: bounded-claude 9.6: the JSON Schema of report.json is kept beside it', () => {
  const kept = readFileSync(new URL('../domain/revalidation/report.schema.json', import.meta.url), 'utf8');
  expect(JSON.parse(kept)).toEqual(JSON.parse(JSON.stringify(reportJsonSchema())));
});
