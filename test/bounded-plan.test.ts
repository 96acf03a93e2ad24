// Plans: valid and complete, or every problem (spec: bounded-claude 6).

import { describe, expect, test } from 'vitest';
import { checkPlan, planSections, redactPlan } from '../domain/bounded/plan.ts';
import { fixture, fixtureJson, plan, randomText, type Case } from './support/bounded.ts';
import { demoPlanOf } from './support/demo-plan.ts';

const cases = fixtureJson('plans/manifest.json') as Case[];

const codes = (text: string): string[] => {
  const checked = checkPlan(text);
  return checked.ok ? [] : checked.problems.map((problem) => problem.code);
};
const messages = (text: string): string => {
  const checked = checkPlan(text);
  return checked.ok ? '' : checked.problems.map((problem) => problem.message).join('\n');
};

describe('spec: bounded-claude 6: cases from the field', () => {
  test.each(cases)('$expected: $file: $reason', ({ file, expected }) => {
    expect(checkPlan(new TextDecoder().decode(fixture(`plans/${file}`))).ok).toBe(expected === 'accept');
  });
  test('no accepted plan holds anything that would be redacted', async () => {
    for (const { file } of cases.filter(({ expected }) => expected === 'accept')) {
      const text = new TextDecoder().decode(fixture(`plans/${file}`));
      expect(await redactPlan(text)).toEqual({ text, warnings: [] });
    }
  });
});

describe('spec: bounded-claude 6.1: eight sections in order, none empty', () => {
  test.each(planSections)('a missing or empty %s is an error', (name) => {
    expect(codes(plan({ [name]: null }))).toEqual(['missing_section']);
    expect(codes(plan({ [name]: '' }))).toEqual(['empty_section']);
    expect(codes(plan({ [name]: '<!-- x -->\u200b' }))).toEqual(['empty_section']);
  });
  test('`Acceptance Checks (binary)` is the same section, and not a second one', () => {
    expect(codes(plan().replace('## Acceptance Checks', '## Acceptance Checks (binary)'))).toEqual([]);
    expect(codes(plan({ 'Acceptance Checks': 'a\n\n## Acceptance Checks (binary)\nb' }))).toEqual(['repeated_section']);
  });
  test('an extra, a repeated and a reordered section are errors', () => {
    expect(codes(plan({ Steps: 'a\n\n## Notes\nb' }))).toEqual(['extra_section']);
    expect(codes(plan({ Steps: 'a\n\n## Steps\nb' }))).toEqual(['repeated_section']);
    expect(
      codes(plan().replace('## Steps', '## X').replace('## Risks', '## Steps').replace('## X', '## Risks')),
    ).toEqual(['section_order']);
  });
  test('`Goal:` is an error whose message says so', () => {
    expect(messages(plan().replace('## Goal\n', '## Goal:\n'))).toContain('ends with a colon; write `## Goal`');
  });
  test('a hyphen that looks alike is an error whose message names it', () => {
    expect(messages(plan().replace('Non-goals', 'Non\u2011goals'))).toContain('U+2011');
  });
  test('spec: bounded-claude 6.2: a heading only counts at the margin, outside of fences, and with hashes', () => {
    expect(codes(plan({ Steps: '```\n## Extra\n```\n- ## Extra\n\nExtra\n---\n' }))).toEqual([]);
    expect(codes(plan().replace('## Risks', '   ## Risks'))).toEqual(['missing_section']);
  });
});

describe('spec: bounded-claude 6.4: anything before the title is an error', () => {
  test('h19: a preamble', () => {
    expect(codes(`Here is the plan:\n\n${plan()}`)).toEqual(['preamble']);
  });
  test('h17: the whole answer in a fence is told once', () => {
    expect(codes(`\`\`\`markdown\n${plan()}\`\`\`\n`)).toEqual(['fenced']);
    expect(messages(`~~~\n${plan()}~~~`)).toContain('code fence');
  });
  test('h11, a choice: a BOM and blank lines before the title are nothing, and no part of the plan', () => {
    expect(checkPlan(`\ufeff\n \r\n${plan()}`)).toEqual({ ok: true, text: plan() });
  });
  test('lines in problems are those of the answer', () => {
    expect(checkPlan(`\n\n${plan({ Goal: '' })}`)).toMatchObject({ ok: false, problems: [{ line: 5 }] });
  });
  test('a second plan in one answer', () => {
    expect(codes(plan() + plan())).toContain('title');
  });
  test('nothing at all, or nothing that can be seen', () => {
    for (const text of ['', ' \n', '\u200b\ufeff']) expect(codes(text)).toEqual(['title']);
  });
});

test('spec: bounded-claude 6: CRLF is kept, the last line gets its end', () => {
  const crlf = plan().replaceAll('\n', '\r\n');
  expect(checkPlan(crlf)).toEqual({ ok: true, text: crlf });
  expect(checkPlan(plan().trimEnd())).toEqual({ ok: true, text: `${plan().trimEnd()}\n` });
});

test('spec: bounded-claude 6.3: secrets are redacted, with a warning; the plan stays valid', async () => {
  const value = `sk${'-ant-'}api03-${randomText(80)}`;
  const { text, warnings } = await redactPlan(plan({ Steps: `1. call it with ${value}` }));
  expect(text).toContain('1. call it with [redacted: anthropic-key]\n');
  expect(text).not.toContain(randomText(8));
  expect(warnings).toEqual([expect.stringMatching(/^Line \d+: .*anthropic-key/)]);
  expect(checkPlan(text).ok).toBe(true);
});

test.each(['>', '_a*', 'a\n=\n', '+ - ', '1. 2) ', '[', '![', '<!-- ', '`', '&', '\\', 'a\n> '])(
  'a text of nothing but %j is judged in no long time',
  (unit) => {
    const started = performance.now();
    expect(checkPlan(plan({ Steps: unit.repeat(60_000 / unit.length) })).ok).toBeTypeOf('boolean');
    expect(performance.now() - started).toBeLessThan(8000);
  },
);

test('the demonstration makes a valid plan also of a packet whose evidence quotes headings in code', () => {
  const quoted = 'Goal\n\n## Current-State Evidence\n\n````md\n```sh\nls\n## A heading in code\n```\n````\n\n## Acceptance\n\nIt works.\n';
  expect(checkPlan(demoPlanOf(`## Goal\n\n${quoted}`))).toMatchObject({ ok: true });
});
