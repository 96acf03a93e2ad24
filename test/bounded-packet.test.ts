// Packets: read as bytes, accepted whole or rejected with every problem at once (spec: bounded-claude 2).

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { packetTemplate } from '../domain/bounded/packet-template.ts';
import { maxPacketCharacters, packetSections, packetTitle, readPacket } from '../domain/bounded/packet.ts';
import { bytes, fixture, fixtureJson, packet, randomText, type Case } from './support/bounded.ts';

const cases = fixtureJson('packets/manifest.json') as Case[];

async function codes(text: string | Uint8Array): Promise<string[]> {
  const read = await readPacket(typeof text === 'string' ? bytes(text) : text);
  return read.ok ? [] : read.problems.map((problem) => problem.code);
}

async function messages(text: string): Promise<string> {
  const read = await readPacket(bytes(text));
  return read.ok ? '' : read.problems.map((problem) => problem.message).join('\n');
}

describe('spec: bounded-claude 2: cases from the field', () => {
  test.each(cases)('$expected: $file: $reason', async ({ file, expected, code_points, sha256 }) => {
    const read = await readPacket(fixture(`packets/${file}`));
    expect(read.ok).toBe(expected === 'accept');
    if (read.ok) expect(read.packet).toMatchObject({ characters: code_points, sha256 });
    else expect(read.problems.every((problem) => problem.message.length > 10)).toBe(true);
  });
});

describe('spec: bounded-claude 2.1: UTF-8, LF or CRLF, at most 24,000 code points', () => {
  test('a BOM is accepted and counts as nothing', async () => {
    const read = await readPacket(bytes(`\ufeff${packet()}`));
    expect(read).toMatchObject({ ok: true, packet: { text: packet(), characters: packet().length } });
  });
  test('CRLF is accepted', async () => {
    expect(await codes(packet().replaceAll('\n', '\r\n'))).toEqual([]);
  });
  test('h09, a choice: a lone CR is rejected, with its line', async () => {
    const read = await readPacket(bytes(packet({ Goal: 'one\rtwo' })));
    expect(read).toMatchObject({ ok: false, problems: [{ code: 'line_ending', line: 4 }] });
  });
  test('h05: a form feed, U+0085 and U+2028 end no line', async () => {
    expect(await codes(packet({ Goal: 'text\f## Goal\u2028## Goal\u0085## Goal' }))).toEqual([]);
  });
  test('exactly 24,000 characters pass, 24,001 do not, whatever their size in bytes', async () => {
    const room = maxPacketCharacters - [...packet({ Goal: '' })].length;
    expect(await codes(packet({ Goal: '🧭'.repeat(room) }))).toEqual([]);
    expect(await codes(packet({ Goal: '🧭'.repeat(room + 1) }))).toEqual(['too_long']);
  });
  test('the limit may be lowered, never raised', async () => {
    const lower = await readPacket(bytes(packet()), { maxCharacters: 100 });
    expect(lower).toMatchObject({ ok: false, problems: [{ code: 'too_long' }] });
    const long = bytes(packet({ Goal: 'x '.repeat(15_000) }));
    expect((await readPacket(long, { maxCharacters: 100_000 })).ok).toBe(false);
  });
  test('spec: bounded-claude 2.5: NUL and bytes that are not UTF-8 are rejected with their line', async () => {
    expect(await readPacket(bytes(packet({ Goal: 'a\0b' })))).toMatchObject({ problems: [{ code: 'nul', line: 4 }] });
    const text = bytes(packet());
    text[text.length - 8] = 0xff;
    expect(await codes(text)).toContain('not_utf8');
  });
  test('UTF-16 is named as such', async () => {
    const read = await readPacket(new Uint8Array([0xff, 0xfe, 0x23, 0]));
    expect(read.ok ? '' : read.problems[0]?.message).toContain('UTF-16');
  });
});

describe('spec: bounded-claude 2.2: the title and the seven sections in order', () => {
  test.each(packetSections)('a missing or empty %s is rejected', async (name) => {
    expect(await codes(packet({ [name]: null }))).toEqual(['missing_section']);
    expect(await codes(packet({ [name]: ' \n\t\n' }))).toEqual(['empty_section']);
    expect(await codes(packet({ [name]: '<!-- to be\n\nfilled -->' }))).toEqual(['empty_section']);
    expect(await codes(packet({ [name]: '\u200b\u200c\u200d\u2060\ufeff\u00ad' }))).toEqual(['empty_section']);
  });
  test('a choice: an empty fence or a rule alone is empty, as a reader sees nothing', async () => {
    expect(await codes(packet({ Goal: '```\n```' }))).toEqual(['empty_section']);
    expect(await codes(packet({ Goal: '\n---\n' }))).toEqual(['empty_section']);
  });
  test('a repeated, an extra and a reordered section are told together', async () => {
    const text = packet({ Goal: 'a\n\n## Goal\nb\n\n## Notes\nc\n\n## Acceptance\nd' });
    expect(await codes(text)).toEqual(
      ['repeated_section', 'extra_section', 'section_order', 'section_order', 'section_order', 'repeated_section'],
    );
  });
  test('reports h01, h03, spec: bounded-claude 2.3: headings and comments of code inside a fence are text, also as the only "section"', async () => {
    expect(await codes(packet({ Goal: '```sh\n## build\n# Goal\n```\n~~~~\n```\n## Acceptance\n~~~~' }))).toEqual([]);
    expect(
      await codes(packet({ Goal: 'x\n\n```python\n## Non-goals\npass\n```', 'Non-goals': null })),
    ).toEqual(['missing_section']);
    expect(
      await messages(packet({ Goal: 'x\n\n```\n## Non-goals\ny\n```', 'Non-goals': null })),
    ).toContain('code fence');
  });
  test('a fence that is closed by another kind or a shorter run stays open', async () => {
    expect(await codes(packet({ Goal: '````\n```\n~~~~\n## Non-goals\n````' }))).toEqual([]);
  });
  test('headings in lists, quotes, comments and HTML blocks are text', async () => {
    expect(
      await codes(packet({ Goal: '- ## Goal\n> ## Goal\n\n<!--\n## Goal\n-->\nx\n\n<div>\n## Goal\n</div>' })),
    ).toEqual([]);
  });
  test('spec: bounded-claude 6.2: a line over --- is text, not a heading', async () => {
    expect(await codes(packet({ Goal: 'Rollback\n---\ntext' }))).toEqual([]);
    expect(await messages(packet({ 'Non-goals': null, Goal: 'a\n\nNon-goals\n---\nb' }))).toContain('underlined');
  });
  test('h23, a choice: closing hashes are no part of a name; an indented heading is text', async () => {
    expect(await codes(packet().replace('## Goal\n', '##\tGoal ##  \n'))).toEqual([]);
    expect(await messages(packet().replace('## Goal\n', ' ## Goal\n'))).toContain('indented');
  });
  test('h21: dashes that look alike are rejected, and the message names the character', async () => {
    for (const dash of ['\u2010', '\u2011', '\u2012', '\u2013', '\u2014', '\u2015', '\u2212', '\u00ad']) {
      const name = `U+${dash.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`;
      expect(await messages(packet().replace('Non-goals', `Non${dash}goals`))).toContain(name);
    }
  });
  test('hints: a colon, other case, an invisible character, a bold line', async () => {
    expect(await messages(packet().replace('## Goal\n', '## Goal:\n'))).toContain('ends with a colon');
    expect(await messages(packet().replace('## Goal\n', '## goal\n'))).toContain('upper and lower case');
    expect(await messages(packet().replace('## Goal\n', '## Goal\u200b\n'))).toContain('U+200B');
    expect(await messages(packet().replace('## Goal\n', '**Goal**\n'))).toContain('bold');
  });
  test('h11, h17, h19: what stands before the title is told as what it is', async () => {
    expect(await codes(`Here is the packet:\n\n${packet()}`)).toEqual(['preamble']);
    expect(await codes(`\n${packet()}`)).toEqual(['preamble']);
    expect(await codes(`\`\`\`markdown\n${packet()}\`\`\`\n`)).toContain('fenced');
    expect(await codes(packet().replace(`# ${packetTitle}`, `# ${packetTitle}: search`))).toEqual(['title']);
  });
});

describe('spec: bounded-claude 2.4: Truncation', () => {
  test.each(
    [
      'none', '  none  ', 'none\n\n', '<!-- why -->\nnone', 'present: 400 lines of the log, too long',
      'present: a, b\nand c',
    ],
  )(
    'accepts %j',
    async (body) => {
      expect(await codes(packet({ Truncation: body }))).toEqual([]);
    },
  );
  test.each(['None', 'none.', 'none\nbut logs were cut', 'present:', 'present: ', 'present:\nthe log', 'present',
    'present: none',
    'Some logs were shortened.', '```\nnone\n```', '- none', 'Present: the log'])('rejects %j', async (body) => {
    expect(await codes(packet({ Truncation: body }))).toEqual(['truncation']);
  });
});

describe('spec: bounded-claude 2: secret-like text', () => {
  test('spec: bounded-claude 2.6: is rejected with line and kind, never the value', async () => {
    const value = `gh${'p_'}${randomText(36)}`;
    const read = await readPacket(bytes(packet({ Goal: `first\nuse ${value} here` })));
    expect(read).toMatchObject({ ok: false, problems: [{ code: 'secret', line: 5 }] });
    expect(JSON.stringify(read)).toContain('github-token');
    expect(JSON.stringify(read)).not.toContain(randomText(8));
  });
  test('all problems of all kinds are told together', async () => {
    const found = await codes(
      packet({ Goal: `A_TOKEN=${randomText(30)}\0`, Constraints: null, Truncation: 'perhaps' }),
    );
    expect(found.sort()).toEqual(['missing_section', 'nul', 'secret', 'truncation']);
  });
});

test('spec: bounded-claude 1.4: the template of `packet init` is rejected only until it is filled', async () => {
  const found = await codes(packetTemplate());
  expect(found).toEqual(packetSections.map(() => 'empty_section'));
  const filled = packetTemplate().replaceAll(/(## (?!Truncation).*)\n/g, '$1\n\nText.\n').replace(
    '## Truncation\n',
    '## Truncation\n\nnone\n',
  );
  expect(await codes(filled)).toEqual([]);
});

test('any text is read without an exception, and a valid packet stays valid under any fenced text', async () => {
  await fc.assert(fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), async (input) => {
    expect((await readPacket(input)).ok).toBe(false);
  }), { numRuns: 50 });
  const inner = fc.string({ maxLength: 80 }).filter((text) => !/[\0\r`~]/.test(text));
  await fc.assert(fc.asyncProperty(inner, async (text) => {
    const found = await codes(packet({ Goal: `x\n\n\`\`\`\n## Goal\n${text}\n\`\`\`` }));
    expect(found.filter((code) => code !== 'secret')).toEqual([]);
  }), { numRuns: 100 });
});
