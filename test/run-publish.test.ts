// What a run's host could not do, a finished plan's file above all: told in true words, Claude blamed for nothing, and
// mended by a resume (spec: bounded-claude 5 and 7).

import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readArtifact } from '../bounded/index.ts';
import { canMount, readOnly, tinyDisk } from './support/mounts.ts';
import { ada } from './support/planner.ts';
import { startTestRuns, type TestRuns } from './support/runs.ts';

let runs: TestRuns;
beforeAll(async () => {
  runs = await startTestRuns();
  await runs.startHost();
});
let undo = (): void => undefined;
afterAll(async () => {
  undo();
  await runs.close();
});

const inside = (name: string): string => path.join(runs.repo, name);
const left = (folder: string): string[] => readdirSync(inside(folder)).filter((name) => /\.tmp$/.test(name));

interface Blocked {
  what: string;
  id: string;
  block(): void;
  free(): void;
  says: RegExp;
}

const outside = mkdtempSync(path.join(tmpdir(), 'outside-'));
const moved = (name: string): string => path.join(outside, name);

const blocked: Blocked[] = [
  {
    what: "somebody else's file is there",
    id: 'foreign',
    block: () => writeFileSync(inside('docs/foreign.md'), 'somebody was faster'),
    free: () => {
      expect(runs.file('docs/foreign.md')).toBe('somebody was faster');
      rmSync(inside('docs/foreign.md'));
    },
    says: /foreign\.md exists already; .* Move that file away, then resume\./,
  },
  {
    what: 'its folder became a link that leads out',
    id: 'outward',
    block: () => {
      renameSync(inside('docs'), moved('docs'));
      symlinkSync(moved('docs'), inside('docs'));
    },
    free: () => {
      expect(existsSync(moved('docs/outward.md'))).toBe(false);
      rmSync(inside('docs'));
      renameSync(moved('docs'), inside('docs'));
    },
    says: /leads out of the repository .* Put a folder of the repository back in its place, then resume\./,
  },
  {
    what: 'the repository is gone',
    id: 'gone',
    block: () => renameSync(runs.repo, moved('repo')),
    free: () => {
      expect(existsSync(runs.repo)).toBe(false);
      renameSync(moved('repo'), runs.repo);
    },
    says: /repo does not exist\. Bring it back, then resume\./,
  },
];

/** Where nobody may mount, the words alone are checked (`claude-artifacts`). */
if (canMount) {
  const free = (): void => undo();
  blocked.push(
    {
      what: 'its file system became read-only',
      id: 'read-only',
      block: () => void (undo = readOnly(runs.repo)),
      free,
      says: /its file system is read-only\. Make it writable, or .*\. Then resume\./,
    },
    {
      what: 'its disk is full',
      id: 'disk-full',
      block: () => void (undo = tinyDisk(inside('docs'), { filled: true })),
      free,
      says: /The disk that holds .*disk-full\.md is full\. Free some space\. Then resume\./,
    },
  );
}

describe('spec: bounded-claude 5: a finished plan whose file cannot be created is kept, a resume pays nothing', () => {
  test.each(blocked)('$what', async ({ id, block, free, says }) => {
    runs.play('slow-success', 'auth');
    mkdirSync(inside('docs'), { recursive: true });
    const run = await runs.start({ run_id: id, output: `docs/${id}.md` });
    await runs.seen(run, (now) => now.phase === 'writing');
    block();
    const ended = await runs.ended(run);
    expect(ended).toMatchObject({ status: 'failed', failure_kind: 'host_unavailable' });
    expect(ended.failure_detail).toMatch(/^The plan is finished and kept in PostgreSQL, but its file could not be /);
    expect(ended.failure_detail).toMatch(says);
    const kept = ended.attempt_list[0]!;
    expect(kept.status).toBe('succeeded');
    // A disk that takes nothing keeps the files from being complete, not the words from being known.
    const { recovery } = await runs.seen(run, (now) => now.recovery !== undefined);
    expect(recovery).toContain('`host_unavailable`. The plan is finished, but its file could not be created.');
    expect(recovery).toMatch(/starts no CLI and costs nothing:\n\n {4}partner plan .* --resume /);
    expect(recovery).not.toMatch(/No worker|CLI ended with an error/);
    const { text } = await readArtifact(runs.planner.database, ada, { run, name: 'checkpoint.md' });
    expect(text).toBe(kept.checkpoint);
    free();
    await runs.resume(run);
    const published = await runs.ended(run);
    expect(published).toMatchObject({ status: 'succeeded', attempts: 1, cost_usd: ended.cost_usd });
    expect(published.recovery).toBeUndefined();
    expect(runs.file(`docs/${id}.md`)).toBe(kept.checkpoint);
    expect(runs.starts().length).toBe(1);
    await runs.tidied();
    expect(runs.file(`.partner/runs/${id}/checkpoint.md`)).toBe(kept.checkpoint);
    expect(runs.metadata(id)).toMatchObject({ status: 'succeeded' });
  }, 60_000);

  test('spec: bounded-claude 7: its artifacts are then those of a success, whatever a full disk had left', async () => {
    runs.play('slow-success', 'auth');
    const run = await runs.start({ run_id: 'full', output: 'docs/full.md' });
    await runs.seen(run, (now) => now.phase === 'writing');
    writeFileSync(inside('docs/full.md'), 'in the way');
    await runs.ended(run);
    await runs.tidied();
    const folder = '.partner/runs/full';
    expect(runs.file(`${folder}/recovery.md`)).toContain('--resume full');
    writeFileSync(inside(`${folder}/checkpoint.md`), '# Plan Check');
    const events = runs.file(`${folder}/events.jsonl`);
    appendFileSync(inside(`${folder}/events.jsonl`), '{"at":"2026-');
    const drafts = [`${folder}/.metadata.json.1a2b3c4d.tmp`, 'docs/.full.md.1a2b3c4d.tmp', 'docs/.other.md.5e6f.tmp'];
    for (const name of drafts) writeFileSync(inside(name), 'half');
    rmSync(inside('docs/full.md'));
    await runs.resume(run);
    const { attempt_list: attempts } = await runs.ended(run);
    await runs.tidied();
    expect(runs.file(`${folder}/checkpoint.md`)).toBe(runs.file('docs/full.md'));
    expect(runs.metadata('full')).toMatchObject({ status: 'succeeded', failure_kind: null, failure_detail: null });
    expect(attempts[0]!.failure_detail).toBeUndefined();
    expect(existsSync(inside(`${folder}/recovery.md`))).toBe(false);
    expect(runs.file(`${folder}/events.jsonl`)).toBe(events);
    expect(left(folder)).toEqual([]);
    expect(left('docs')).toEqual(['.other.md.5e6f.tmp']);
  }, 60_000);

  test('however little of the budget is left, and as no other role', async () => {
    runs.play('slow-success', 'auth');
    const run = await runs.start({ run_id: 'poor', output: 'docs/poor.md', max_budget_usd: 0.01 });
    await runs.seen(run, (now) => now.phase === 'writing');
    writeFileSync(inside('docs/poor.md'), 'in the way');
    await runs.ended(run);
    await runs.planner.database.query('UPDATE bounded_runs SET cost_usd = budget_usd WHERE id = $1', [run]);
    rmSync(inside('docs/poor.md'));
    const change = { role: 'arbiter', approval: 'Ada' };
    await expect(runs.resume(run, change)).rejects.toThrow(/is finished. Resume it without/);
    await runs.resume(run);
    expect(await runs.ended(run)).toMatchObject({ status: 'succeeded', attempts: 1 });
  }, 60_000);
});

test('spec: bounded-claude 5: where no CLI could be started, that is said, Claude is blamed for nothing', async () => {
  runs.play('malformed-plan', 'success');
  const run = await runs.start({ run_id: 'unstarted', output: 'docs/unstarted.md' });
  await runs.ended(run);
  await runs.tidied();
  mkdirSync(inside('.partner/runs/unstarted.r2'));
  await runs.resume(run);
  const ended = await runs.ended(run);
  expect(ended).toMatchObject({ status: 'failed', failure_kind: 'host_unavailable', attempts: 2 });
  expect(ended.failure_detail).toMatch(/^The CLI was not started, and nothing was paid for this attempt: .* already/);
  await runs.tidied();
  const { recovery } = await runs.read(run);
  expect(recovery).toContain("`host_unavailable`. The repository's host could not do its part.");
  expect(recovery).toContain('--resume unstarted');
  expect(runs.starts().length).toBe(1);
}, 60_000);
