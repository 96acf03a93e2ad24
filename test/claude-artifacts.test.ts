// What a run leaves in the repository: never overwritten, never outside, one winner (spec: bounded-claude 1, 7).

import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  ArtifactError,
  assertInside,
  assertSpace,
  claimFile,
  claimPlan,
  completeOrphanedRuns,
  createRunDir,
  foresee,
  publishPlan,
  releaseClaim,
  removeRaw,
  told,
  writeMetadata,
  writeRecovery,
} from '../claude/artifacts.ts';
import { canMount, readOnly, tinyDisk } from './support/mounts.ts';

let root: string;
let repo: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(path.join(tmpdir(), 'artifacts-')));
  repo = path.join(root, 'repo');
  mkdirSync(repo);
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const codeOf = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    (error: unknown) => (error instanceof ArtifactError ? error.code : String(error)),
  );
const running = async (): Promise<boolean> => false;
const ended = async (): Promise<boolean> => true;

describe('spec: bounded-claude 7.1: the directory of a run', () => {
  test('has mode 0700, and each resumed attempt its own', async () => {
    expect(await createRunDir(repo, 'A', 1, 0)).toBe(path.join(repo, '.partner/runs/A'));
    const second = await createRunDir(repo, 'A', 2, 0);
    expect(second).toBe(path.join(repo, '.partner/runs/A.r2'));
    expect(statSync(second).mode & 0o777).toBe(0o700);
  });

  test('is never taken twice, whatever the case of its id', async () => {
    await createRunDir(repo, 'Plan', 1, 0);
    expect(await codeOf(createRunDir(repo, 'Plan', 1, 0))).toBe('exists');
    expect(await codeOf(createRunDir(repo, 'pLAN', 1, 0))).toBe('exists');
    expect(readdirSync(path.join(repo, '.partner/runs'))).toEqual(['Plan']);
  });

  test('of ten that race for one id exactly one wins', async () => {
    const codes = await Promise.all(Array.from({ length: 10 }, () => codeOf(createRunDir(repo, 'race', 1, 0))));
    expect(codes.filter((code) => code === 'done')).toHaveLength(1);
    expect(new Set(codes)).toEqual(new Set(['done', 'exists']));
  });

  test('is not created behind a link that leads out of the repository', async () => {
    symlinkSync(root, path.join(repo, '.partner'));
    expect(await codeOf(createRunDir(repo, 'A', 1, 0))).toBe('outside');
  });

  test('too little space, a missing and a read-only folder are told before the CLI starts', async () => {
    expect(await codeOf(createRunDir(repo, 'A', 1, Number.MAX_SAFE_INTEGER))).toBe('disk_full');
    expect(existsSync(path.join(repo, '.partner/runs/A'))).toBe(false);
    expect(await codeOf(createRunDir(path.join(root, 'none'), 'A', 1, 0))).toBe('missing');
    expect(await codeOf(assertSpace('/proc/self', 0))).toBe('read_only');
    const found = await foresee('/proc/self', { folders: ['.partner/runs'] });
    expect(found.map(({ code }) => code)).toEqual(['read_only']);
    expect(found[0]?.message).not.toContain('resume');
  });

  test.each([
    ['EROFS', 'read_only', 'its file system is read-only. Make it writable, or use a copy of the repository elsewhere.'],
    ['EACCES', 'read_only', "can't be written by this user. Give the right to write."],
    ['ENOSPC', 'disk_full', 'The disk that holds /repo/plan.md is full. Free some space.'],
    ['EDQUOT', 'disk_full', 'The disk that holds /repo/plan.md is full. Free some space.'],
    ['EIO', 'io', "/repo/plan.md can't be written (EIO)."],
  ])('%s is %s, in words that say what, where and how to mend it', (code, kind, words) => {
    const error = told(Object.assign(new Error('raw words'), { code }), '/repo/plan.md');
    expect(error.code).toBe(kind);
    expect(error.message).toContain(words);
    expect(error.message).toContain('/repo/plan.md');
    expect(error.message).not.toContain('raw words');
  });

  test('on a read-only file system: said before anything is written, by every door', async () => {
    // Whoever may not mount has a file system of the kernel's that refuses alike.
    const where = canMount ? repo : '/proc/self';
    const undo = canMount ? readOnly(repo) : () => undefined;
    try {
      const found = await foresee(where, { plan: 'docs/plan.md', folders: ['.partner/runs', '.partner/plans'] });
      expect(found.length).toBeGreaterThan(0);
      expect(new Set(found.map(({ code }) => code))).toEqual(new Set(['read_only']));
      expect(await codeOf(createRunDir(where, 'A', 1, 0))).toMatch(canMount ? /^read_only$/ : /^(read_only|missing)$/);
      if (canMount) {
        for (const { message } of found) expect(message).toContain('its file system is read-only. Make it writable');
        expect(await codeOf(claimPlan(path.join(repo, 'docs/plan.md'), 'A', ended))).toBe('read_only');
      }
    } finally {
      undo();
    }
    expect(readdirSync(repo)).toEqual([]);
  });

  test('on a disk that is too small or full: said before anything is written, and where it fills up later', async () => {
    // Whoever may not mount asks for more than any disk has; what is said of ENOSPC itself is told above.
    const undo = canMount ? tinyDisk(repo) : () => undefined;
    const needed = canMount ? undefined : Number.MAX_SAFE_INTEGER;
    try {
      const told = await createRunDir(repo, 'A', 1, needed).catch((error: unknown) => error);
      expect(told).toMatchObject({ code: 'disk_full', message: expect.stringMatching(/has \d+ MiB free, a run needs \d+/) });
      expect(existsSync(path.join(repo, '.partner/runs/A'))).toBe(false);
      if (canMount) {
        const folder = await createRunDir(repo, 'B', 1, 0);
        await writeMetadata(folder, { text: 'first' });
        const later = await writeMetadata(folder, { text: 'x'.repeat(100_000) }).catch((error: unknown) => error);
        expect(later).toMatchObject({ code: 'disk_full', message: expect.stringContaining('is full. Free some space.') });
        // What was there stays whole, and no draft takes the last bytes.
        expect(JSON.parse(readFileSync(path.join(folder, 'metadata.json'), 'utf8'))).toEqual({ text: 'first' });
        expect(readdirSync(folder)).toEqual(['metadata.json']);
      }
    } finally {
      undo();
    }
  });

  test('spec: bounded-claude 7.3: metadata and recovery are whole at any moment, mode 0600, and leave no draft', async () => {
    const folder = await createRunDir(repo, 'A', 1, 0);
    await writeMetadata(folder, { run_id: 'A' });
    await writeMetadata(folder, { run_id: 'A', resumes: ['A.r2'] });
    await writeRecovery(folder, 'partner plan --resume A\n');
    expect(readdirSync(folder).toSorted()).toEqual(['metadata.json', 'recovery.md']);
    expect(JSON.parse(readFileSync(path.join(folder, 'metadata.json'), 'utf8'))).toEqual({
      run_id: 'A',
      resumes: ['A.r2'],
    });
    expect(statSync(path.join(folder, 'metadata.json')).mode & 0o777).toBe(0o600);
  });

  test('spec: bounded-claude 7.7: one whose run ended without metadata is completed; one that runs or is complete is left alone', async () => {
    for (const [id, attempt] of [
      ['lost', 1],
      ['lost', 2],
      ['live', 1],
      ['done', 1],
    ] as const)
      await createRunDir(repo, id, attempt, 0);
    const folder = (name: string): string => path.join(repo, '.partner/runs', name);
    await writeMetadata(folder('done'), { status: 'succeeded' });
    writeFileSync(path.join(folder('lost'), 'stdout.jsonl'), 'raw');
    const completed = await completeOrphanedRuns(repo, async ({ runId, attempt }) =>
      runId === 'lost' ? { metadata: { status: 'failed', attempt }, recovery: 'again' } : undefined,
    );
    expect(completed.toSorted()).toEqual([folder('lost'), folder('lost.r2')]);
    expect(readdirSync(folder('lost')).toSorted()).toEqual(['metadata.json', 'recovery.md']);
    expect(readFileSync(path.join(folder('lost.r2'), 'metadata.json'), 'utf8')).toContain('"attempt": 2');
    expect(readdirSync(folder('live'))).toEqual([]);
  });

  test('raw output goes once the artifacts are complete', async () => {
    const folder = await createRunDir(repo, 'A', 1, 0);
    for (const name of ['stdout.jsonl', 'exit.json', 'guard.json', 'outcome.json', 'events.jsonl'])
      writeFileSync(path.join(folder, name), '');
    await removeRaw(folder);
    expect(readdirSync(folder)).toEqual(['events.jsonl']);
  });
});

describe('spec: bounded-claude 1.10: --output stays inside the repository', () => {
  test.each(['.partner/plans/a.md', 'docs/plan.md', 'a..b/plan.md'])('%s is inside', async (output) => {
    expect(await assertInside(repo, output)).toBe(path.join(repo, output));
  });

  test.each(['..', '../plan.md', 'docs/../../plan.md', '/etc/plan.md', '.', ''])(
    '"%s" leads out, or is the repository itself',
    async (output) => {
      expect(await codeOf(assertInside(repo, output))).toBe('outside');
    },
  );

  test('no link leads out: on the way, at the end, to nowhere, or in a folder that does not exist yet', async () => {
    mkdirSync(path.join(root, 'other'));
    symlinkSync(path.join(root, 'other'), path.join(repo, 'away'));
    symlinkSync(path.join(root, 'other', 'plan.md'), path.join(repo, 'plan.md'));
    symlinkSync(path.join(root, 'nowhere'), path.join(repo, 'broken'));
    for (const output of ['away/plan.md', 'away/new/plan.md', 'plan.md', 'broken', 'broken/plan.md']) {
      expect([output, await codeOf(assertInside(repo, output))]).toEqual([output, 'outside']);
    }
  });

  test('a link that stays inside is resolved, and so is one to the repository', async () => {
    mkdirSync(path.join(repo, 'docs'));
    symlinkSync('docs', path.join(repo, 'd'));
    symlinkSync(repo, path.join(root, 'link'));
    expect(await assertInside(path.join(root, 'link'), 'd/plan.md')).toBe(path.join(repo, 'docs/plan.md'));
  });
});

describe('spec: bounded-claude 7.4: the claim beside a plan', () => {
  let output: string;
  beforeEach(() => void (output = path.join(repo, '.partner/plans/p.md')));

  test('of two runs that race for one output one wins, and the other is told by which run', async () => {
    const runs = ['one', 'two', 'three', 'four'];
    const codes = await Promise.all(runs.map((run) => codeOf(claimPlan(output, run, running))));
    expect(codes.toSorted()).toEqual(['claimed', 'claimed', 'claimed', 'done']);
    const winner = runs[codes.indexOf('done')];
    const loser = runs.find((run) => run !== winner) ?? '';
    await expect(claimPlan(output, loser, running)).rejects.toThrow(`Run "${winner}" is about to write`);
    expect(await codeOf(claimPlan(output, winner ?? '', running))).toBe('done');
  });

  test('is foreseen where its run is known to be open, and a run that goes on is not held by its own', async () => {
    await claimPlan(output, 'one', running);
    const asked = { plan: '.partner/plans/p.md', folders: [] };
    const told = await foresee(repo, { ...asked, isOpen: async (run) => run === 'one' });
    expect(told.map(({ message }) => message)).toEqual([expect.stringContaining('Run "one" is about to write')]);
    expect(await foresee(repo, { ...asked, isOpen: async () => false })).toEqual([]);
    expect(await foresee(repo, { ...asked, runId: 'one', isOpen: async () => true })).toEqual([]);
  });

  test('of a run that has ended is stale: of those that take it over exactly one wins', async () => {
    await claimPlan(output, 'old', running);
    const hasEnded = async (run: string): Promise<boolean> => run === 'old';
    const codes = await Promise.all(['a', 'b', 'c', 'd', 'e'].map((run) => codeOf(claimPlan(output, run, hasEnded))));
    expect(codes.filter((code) => code === 'done')).toHaveLength(1);
  });

  test('that is unreadable is stale, and a lock left by a crash holds nobody for long', async () => {
    mkdirSync(path.dirname(output), { recursive: true });
    writeFileSync(claimFile(output), '{"run_id":');
    const lock = `${claimFile(output)}.lock`;
    // Before the clock was set back it was written in what is the future now.
    for (const at of [Date.now() - 60_000, Date.now() + 3_600_000]) {
      writeFileSync(lock, '');
      utimesSync(lock, new Date(at), new Date(at));
      expect(await codeOf(claimPlan(output, 'new', ended))).toBe('done');
      expect(existsSync(lock)).toBe(false);
    }
  });

  test('is given back by its owner alone', async () => {
    await claimPlan(output, 'mine', running);
    await releaseClaim(output, 'other');
    expect(existsSync(claimFile(output))).toBe(true);
    await releaseClaim(output, 'mine');
    await releaseClaim(output, 'mine');
    expect(readdirSync(path.dirname(output))).toEqual([]);
  });

  test('is refused where the plan exists', async () => {
    mkdirSync(path.dirname(output), { recursive: true });
    writeFileSync(output, 'kept');
    expect(await codeOf(claimPlan(output, 'new', ended))).toBe('exists');
  });
});

describe('spec: bounded-claude 7.3: the plan is created by link', () => {
  const output = 'docs/plan.md';
  beforeEach(() => mkdirSync(path.join(repo, 'docs')));

  test('of eight publishers in as many processes exactly one wins, and its text stands', async () => {
    const program = fileURLToPath(new URL('../claude/artifacts.ts', import.meta.url));
    const one = `import { publishPlan } from ${JSON.stringify(program)};
      const [repo, output, at, text] = process.argv.slice(1);
      while (Date.now() < Number(at));
      await publishPlan(repo, output, text).then(() => console.log('done'), (error) => console.log(error.code));`;
    const at = Date.now() + 3_000;
    const script = Array.from(
      { length: 8 },
      (_, index) => `"$0" --input-type=module -e "$1" "$2" "$3" "$4" text-${index} &`,
    ).join('\n');
    const said = execFileSync('/bin/sh', [
      '-c',
      `${script}\nwait`,
      process.execPath,
      one,
      repo,
      output,
      String(at),
    ]).toString();
    expect(said.trim().split('\n').toSorted()).toEqual(['done', ...Array.from({ length: 7 }, () => 'exists')]);
    expect(readFileSync(path.join(repo, output), 'utf8')).toMatch(/^text-\d$/);
    expect(readdirSync(path.join(repo, 'docs'))).toEqual(['plan.md']);
  });

  test('again with the same text changes nothing; with another it is refused, and the first stays', async () => {
    await publishPlan(repo, output, 'plan');
    await publishPlan(repo, output, 'plan');
    expect(await codeOf(publishPlan(repo, output, 'another'))).toBe('exists');
    expect(readFileSync(path.join(repo, output), 'utf8')).toBe('plan');
  });

  test('not into a folder that became a link which leads out', async () => {
    rmSync(path.join(repo, 'docs'), { recursive: true });
    symlinkSync(root, path.join(repo, 'docs'));
    expect(await codeOf(publishPlan(repo, output, 'plan'))).toBe('outside');
    expect(existsSync(path.join(root, 'plan.md'))).toBe(false);
  });
});
