// Skills without a database: their limits, and what a project resolves (spec: planner 3).

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parse } from '../domain/input.ts';
import {
  newSkill,
  resolveSkills,
  skillName,
  skillPatch,
  skillPinInput,
  skillScopes,
  type Candidate,
  type SkillPin,
} from '../domain/skill.ts';

function complaint(schema: Parameters<typeof parse>[0], input: unknown): string | undefined {
  try {
    parse(schema, input);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}
const skill = (fields: Record<string, unknown> = {}) => ({
  scope: 'platform',
  name: 'planner',
  description: 'How we plan.',
  body: 'Plan.',
  ...fields,
});
const refused = (fields: Record<string, unknown>) => complaint(newSkill, skill(fields));
const files = (...paths: string[]) => ({ files: paths.map((path) => ({ path, content: 'x' })) });

describe('spec: planner 3: what a skill may hold', () => {
  test('spec: planner 3.1: a name has 2-64 of a-z, 0-9 and -, a letter first', () => {
    for (const name of ['ab', 'planner', 'a1-', 'a'.repeat(64)]) expect(complaint(skillName, name)).toBeUndefined();
    for (const name of ['', 'a', '1a', '-a', 'Ab', 'a_b', 'a b', 'ab\n', 'ä-b', 'a'.repeat(65)]) {
      expect(complaint(skillName, name)).toContain('2-64 of a-z, 0-9 and -');
    }
  });

  test('spec: planner 3.2: a description has 1-1,024 characters and is not blank; a body at most 100,000', () => {
    expect(refused({ description: '\u{1f680}'.repeat(1_024), body: '\u{1f680}'.repeat(100_000) })).toBeUndefined();
    expect(refused({ body: '' })).toBeUndefined();
    for (const description of ['', ' \n', '\u200b']) expect(refused({ description })).toBe('description is blank');
    expect(refused({ description: 'x'.repeat(1_025) })).toContain('description has 1025 characters; at most 1024');
    expect(refused({ body: 'x'.repeat(100_001) })).toBe('body has 100001 characters; at most 100000 are allowed');
    expect(refused({ description: undefined })).toBe('description is required');
  });

  test('spec: planner 3.2: at most 50 further files, at most 1 MiB of UTF-8 together', () => {
    const many = (count: number) => files(...Array.from({ length: count }, (_, index) => `file-${index}`));
    expect(refused(many(50))).toBeUndefined();
    expect(refused(many(51))).toBe('files has more than 50 entries');
    const two = (bytes: number) => ({
      files: [
        { path: 'a', content: 'x'.repeat(bytes / 2) },
        { path: 'b', content: '\u00e9'.repeat(bytes / 4) },
      ],
    });
    expect(refused(two(1024 * 1024))).toBeUndefined();
    expect(refused(two(1024 * 1024 + 4))).toBe('files have 1048580 bytes together; at most 1048576 are allowed');
  });

  test('spec: planner 3.2: paths are clean and relative', () => {
    const good = ['a', 'templates/epic.md', '.hidden', 'a b/c d.txt', 'übersicht.md', '\u{1f680}/x', 'x/SKILL.md'];
    expect(refused(files(...good))).toBeUndefined();
    const bad = ['', '/a', 'a/', 'a//b', '.', '..', '../a', 'a/../b', './a', 'a/.', 'a\\b', 'C:a', 'a\nb', 'a\0b'];
    for (const path of [...bad, ' a', 'a ', 'a/ b', 'a.', '\u200b', 'a\u2028b', 'a?', '~\u0007']) {
      expect([path, refused(files(path))]).toEqual([path, expect.stringContaining('clean relative path')]);
    }
    expect(refused(files('x'.repeat(256)))).toContain('at most 255');
  });

  test('a path is there once, whatever its case; SKILL.md is the body; no file is another one\'s folder', () => {
    expect(refused(files('a', 'a'))).toBe('files[1].path "a" is there twice');
    expect(refused(files('Read.md', 'READ.md'))).toBe('files[1].path "READ.md" is there twice');
    expect(refused(files('caf\u00e9', 'cafe\u0301'))).toContain('is there twice');
    expect(refused(files('skill.md'))).toContain('SKILL.md is the body');
    expect(refused(files('a/b', 'a'))).toContain('one is a file where the other needs a folder');
    expect(refused(files('a', 'a/b'))).toContain('one is a file where the other needs a folder');
    expect(refused(files('a-b', 'a'))).toBeUndefined();
  });

  test('a scope names its owner and nobody else; all violations are told together', () => {
    expect(refused({ scope: 'organization' })).toContain('organization is required');
    expect(refused({ scope: 'project', organization: 'acme' })?.split('\n')).toEqual([
      '2 problems:',
      'organization must be left out for a skill of scope project',
      'project is required: the key of the project that the skill is for',
    ]);
    expect(refused({ project: 'WEB', colour: 1, name: 'X', description: '' })?.split('\n')[0]).toBe('4 problems:');
    expect(refused({ files: [{ path: 'a', content: 'x', mode: 7 }] })).toContain('unknown field "mode"');
  });

  test('a patch names the version that was read and something to change; a pin has a version and a flag', () => {
    expect(complaint(skillPatch, { version: 1 })).toBe('names nothing to change: send one of description, body, files');
    expect(complaint(skillPatch, { body: 'x' })).toBe('version is required');
    expect(complaint(skillPatch, { version: 1, name: 'other' })).toContain('unknown field "name"');
    expect(parse(skillPinInput, {})).toEqual({ version: 0, disabled: false });
    for (const version of [-1, 1.5, '1', 2 ** 31]) expect(complaint(skillPinInput, { version })).toContain('version');
  });
});

const names = ['ab', 'cd', 'ef', 'gh'];
const candidate: fc.Arbitrary<Candidate> = fc.record({
  id: fc.uuid(),
  scope: fc.constantFrom(...skillScopes),
  name: fc.constantFrom(...names),
  latest: fc.integer({ min: 0, max: 3 }),
});
/** At most one skill a name and scope, as in the store. */
const candidates = fc.uniqueArray(candidate, { selector: ({ scope, name }) => `${scope} ${name}` });
const pin = fc.record({
  name: fc.constantFrom(...names, 'unknown'),
  version: fc.integer({ min: 0, max: 4 }),
  disabled: fc.boolean(),
});
const pins: fc.Arbitrary<Omit<SkillPin, 'updated_at'>[]> = fc.uniqueArray(pin, { selector: ({ name }) => name });

describe('spec: planner 3: resolution', () => {
  test('spec: planner 3.6, 3.7, 3.8: each name is resolved by the rules, one at a time', () => {
    fc.assert(
      fc.property(candidates, pins, (known, pinned) => {
        const resolved = new Map(resolveSkills(known, pinned).map((entry) => [entry.name, entry]));
        for (const name of [...names, 'unknown']) {
          const published = (scope: string) =>
            known.find((each) => each.name === name && each.scope === scope && each.latest > 0);
          const best = published('project') ?? published('organization') ?? published('platform');
          const mine = pinned.find((each) => each.name === name);
          const entry = resolved.get(name);
          if (!best) {
            expect(entry).toEqual(mine && { name, version: 0, problem: expect.stringContaining('no published skill') });
          } else if (mine?.disabled) {
            expect(entry).toBeUndefined();
          } else if (mine && mine.version > best.latest) {
            const problem = expect.stringContaining(`Version ${mine.version} is pinned`);
            expect(entry).toEqual({ name, id: best.id, scope: best.scope, version: 0, problem });
          } else {
            const version = mine?.version || best.latest;
            expect(entry).toEqual({ name, id: best.id, scope: best.scope, version });
          }
        }
      }),
    );
  });

  test('spec: planner 3.9: entries are sorted by name, each once, whatever the order of what went in', () => {
    fc.assert(
      fc.property(candidates, pins, fc.nat(), (known, pinned, seed) => {
        const resolved = resolveSkills(known, pinned);
        expect(resolved.map(({ name }) => name)).toEqual([...new Set(resolved.map(({ name }) => name))].sort());
        const turned = known.slice(seed % 5).concat(known.slice(0, seed % 5));
        expect(resolveSkills(turned, [...pinned].reverse())).toEqual(resolved);
      }),
    );
  });

  test('spec: planner 3.6: a draft never hides a published parent', () => {
    fc.assert(
      fc.property(candidates, pins, (known, pinned) => {
        const drafts = skillScopes.flatMap((scope) =>
          names.map((name) => ({ id: 'draft', scope, name, latest: 0 }) satisfies Candidate),
        );
        const taken = new Set(known.map(({ scope, name }) => `${scope} ${name}`));
        const fresh = drafts.filter(({ scope, name }) => !taken.has(`${scope} ${name}`));
        expect(resolveSkills([...known, ...fresh], pinned)).toEqual(resolveSkills(known, pinned));
      }),
    );
  });
});
