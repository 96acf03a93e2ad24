// What is refused before anything is paid, by the API and by the repository's host (spec: bounded-claude 1-4, 7).

import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { assertSpace, claimFile, claimPlan } from '../claude/artifacts.ts';
import type { NewRunRequest } from '../bounded/runs.ts';
import { packet } from './support/bounded-attempt.ts';
import { randomText } from './support/bounded.ts';
import { canMount, readOnly, tinyDisk } from './support/mounts.ts';
import { listAll, model, startTestRuns, testMachine, type TestRuns } from './support/runs.ts';
import { startHostWorker } from '../worker/host-worker.ts';

let runs: TestRuns;
beforeAll(async () => {
  runs = await startTestRuns();
  await runs.startHost();
  runs.play('success');
});
afterAll(async () => {
  await runs.close();
});

const token = (): string => ['gh', 'p_'].join('') + randomText(36);
const identity = (role: string, name: string, more = 'effort = "high"\nverified = true'): string =>
  `[hosts.codex.identities.${role}]\nbackend = "claude"\nmodel = "${name}"\n${more}\n`;
const configure = (...identities: string[]): void =>
  writeFileSync(config(), `schema_version = 2\n${identities.join('')}`);
const config = () => path.join(runs.repo, '.partner', 'config.toml');
const inside = (name: string): string => path.join(runs.repo, name);
/** Everything in the repository but its configuration. */
const written = (): string[] =>
  readdirSync(runs.repo, { recursive: true, encoding: 'utf8' })
    .filter((name) => !/config\.toml$|^\.partner(\/(runs|plans))?$/.test(name))
    .sort();

describe('spec: bounded-claude 1: the API refuses at once, with all problems together', () => {
  const refused: [string, Partial<NewRunRequest>, RegExp][] = [
    ['a run id that climbs', { run_id: 'a..b' }, /must not contain `\.\.`/],
    ['a run id that names an attempt', { run_id: 'a.r2' }, /must not end in `\.r`/],
    ['a host that is none', { host: 'moon' }, /host must be one of/],
    ['a role that is none', { role: 'king' }, /role must be one of/],
    ['a budget too high', { max_budget_usd: 11 }, /--max-budget-usd must be greater than 0 and at most 10/],
    ['a raised limit', { wall_timeout: 601 }, /may be lowered, never raised/],
    ['too many resume attempts', { resume_attempts: 4 }, /from 0 to 3/],
    ['an output outside', { output: '../plan.md' }, /leads out of the repository/],
    ['an absolute output', { output: '/repo/docs/plan.md' }, /must be relative to the repository/],
    ['an output that would be the configuration', { output: '.partner/config.toml' }, /only files in .partner\/plans/],
    ['an output with a secret', { output: `docs/${token()}.md` }, /^The output holds .* \(github-token\)/],
    ['a run id with a secret', { run_id: token() }, /^The run id holds .* \(github-token\)/],
    ['a packet named with a secret', { packet_name: `/x/${token()}` }, /^The packet's name holds .* \(github-token\)/],
    ['a packet with a secret', { packet: packet.replace('No new package.', token()) }, /looks like a secret/],
    ['a packet too long for a lowered limit', { max_input_chars: 50 }, /at most 50 are allowed/],
  ];
  test.each(refused)('%s', async (_, request, message) => {
    await expect(runs.start(request)).rejects.toThrow(message);
  });

  test('several at once', async () => {
    const error = await runs.start({ role: 'king', wall_timeout: 601, packet: '# Hello' }).catch((one: Error) => one);
    expect((error as Error).message).toMatch(/role must be one of[^]*never raised[^]*Partner Bounded Planning Packet/);
  });

  test('spec: bounded-claude 1.7: a repository that is not registered', async () => {
    await expect(runs.start({ repo: '/etc' })).rejects.toThrow(/There is no repository "\/etc"/);
  });
});

describe("spec: bounded-claude 3: the host refuses before a CLI starts, and nothing is written", () => {
  const refusedBy = async (request: Partial<NewRunRequest>, message: RegExp): Promise<void> => {
    await runs.tidied();
    const before = written();
    const starts = runs.starts().length;
    const ended = await runs.ended(await runs.start(request));
    expect(ended).toMatchObject({ status: 'rejected', attempts: 0, cost_usd: 0 });
    expect(ended.problems!.join('\n')).toMatch(message);
    await runs.tidied();
    expect(written()).toEqual(before);
    expect(runs.starts().length).toBe(starts);
  };

  test('spec: bounded-claude 3.3: no identity: with the command that mends it', () =>
    refusedBy({ role: 'fast_worker', run_id: 'no-identity' }, /partner config set --host codex --role fast_worker/));

  test('a rejected run keeps nothing: its run id is free again', async () => {
    await refusedBy({ role: 'fast_worker', run_id: 'no-identity' }, /No identity is configured/);
    expect(await runs.ended(await runs.start({ run_id: 'no-identity' }))).toMatchObject({ status: 'succeeded' });
  });

  test('a rejected run that is tidied late takes nothing from the run that has its id now', async () => {
    const rejected = await runs.ended(await runs.start({ role: 'fast_worker', run_id: 'Heir' }));
    await runs.tidied();
    runs.play('idle');
    const heir = await runs.start({ run_id: 'heir', idle_timeout: 20 });
    await runs.seen(heir, (now) => now.attempts === 1);
    // Both ids name one claim: file names are compared without case.
    const { database } = runs.planner;
    await database.query(
      `UPDATE bounded_runs SET artifacts_done = false, run_id = 'heir', output = '.partner/plans/heir.md' WHERE id = $1`,
      [rejected.id],
    );
    database.notifier.add({ channel: 'run_ends', id: rejected.id });
    await runs.tidied();
    expect(existsSync(claimFile(inside('.partner/plans/heir.md')))).toBe(true);
    await runs.cancel(heir);
    expect(await runs.ended(heir)).toMatchObject({ status: 'cancelled' });
    runs.play('success');
  });

  test('a rejected run can be read by its run id, the newest of it, until an accepted one takes the id', async () => {
    const first = await runs.ended(await runs.start({ role: 'fast_worker', run_id: 'Listed' }));
    expect(await runs.read('listed')).toMatchObject({ id: first.id, status: 'rejected', problems: first.problems });
    const second = await runs.ended(await runs.start({ role: 'fast_worker', run_id: 'listed' }));
    expect((await runs.read('LISTED')).id).toBe(second.id);
    for (const { id, run_id, status } of (await listAll(runs)).items) {
      if (status === 'rejected') expect((await runs.read(run_id)).run_id.toLowerCase()).toBe(run_id.toLowerCase());
      expect((await runs.read(id)).id).toBe(id);
    }
    await expect(runs.resume('listed')).rejects.toThrow(/was rejected before it began. Start it again/);
    const accepted = await runs.start({ run_id: 'listed' });
    expect((await runs.read('listed')).id).toBe(accepted);
    await runs.ended(accepted);
    expect((await runs.read('listed')).id).toBe(accepted);
  });

  test('an identity that is not verified, unless that is allowed, which is recorded', async () => {
    configure(identity('deep_reasoner', model), identity('fast_worker', model, 'effort = "low"'));
    await refusedBy({ role: 'fast_worker', run_id: 'unverified' }, /is not verified[^]*partner verify/);
    const run = await runs.start({ role: 'fast_worker', run_id: 'unverified', allow_unverified: true });
    expect(await runs.ended(run)).toMatchObject({ status: 'succeeded' });
    expect(runs.metadata('unverified')).toMatchObject({ configured: { verified: false, allow_unverified: true } });
  });

  test('spec: bounded-claude 8: what a run was allowed at its start holds for a role that is approved later', async () => {
    configure(identity('deep_reasoner', model), identity('arbiter', 'claude-fable-5', 'effort = "low"'));
    const approved = { role: 'arbiter', approval: 'ada: the first one refuses' };
    runs.play('auth', 'auth', 'success');
    const strict = await runs.start({ run_id: 'strict' });
    await runs.ended(strict);
    await runs.resume(strict, approved);
    const refused = await runs.ended(strict);
    expect(refused).toMatchObject({ status: 'failed', attempts: 1 });
    expect(refused.problems).toEqual([expect.stringMatching(/is not verified[^]*--host codex --role arbiter$/)]);
    const lenient = await runs.start({ run_id: 'lenient', allow_unverified: true });
    await runs.ended(lenient);
    await runs.resume(lenient, approved);
    expect(await runs.ended(lenient)).toMatchObject({ status: 'succeeded', attempts: 2 });
    expect(runs.metadata('lenient.r2')).toMatchObject({ role: 'arbiter', configured: { verified: false, allow_unverified: true } });
    configure(identity('deep_reasoner', model), identity('fast_worker', model, 'effort = "low"'));
    runs.play('success');
  });

  test('an output that a symbolic link leads out of the repository', async () => {
    symlinkSync(mkdtempSync(path.join(tmpdir(), 'outside-')), inside('out'));
    await refusedBy({ run_id: 'link', output: 'out/plan.md' }, /leads out of the repository/);
    rmSync(inside('out'));
  });

  test('an output that a symbolic link leads to the configuration or to git', async () => {
    symlinkSync('.partner', inside('linked'));
    await refusedBy({ run_id: 'linked', output: 'linked/other.toml' }, /leads to .*only files in .partner\/plans may/);
    rmSync(inside('linked'));
    symlinkSync('.git', inside('linked'));
    mkdirSync(inside('.git'));
    await refusedBy({ run_id: 'linked', output: 'linked/hook' }, /leads to .*git's own directory/);
    rmSync(inside('linked'));
    rmSync(inside('.git'), { recursive: true });
  });

  test('an output that exists', async () => {
    writeFileSync(inside('there.md'), 'mine');
    await refusedBy({ run_id: 'there', output: 'there.md' }, /exists already; a plan is never overwritten/);
    expect(runs.file('there.md')).toBe('mine');
  });

  test('a claim of a run that nobody knows is stale: it refuses nothing', async () => {
    await claimPlan(inside('claimed.md'), 'other', async () => false);
    const ended = await runs.ended(await runs.start({ run_id: 'late', output: 'claimed.md' }));
    expect(ended.status).toBe('succeeded');
  });

  test("spec: bounded-claude 1.9: a directory of that name, whatever its case", async () => {
    mkdirSync(inside('.partner/runs/Theirs'), { recursive: true });
    await refusedBy({ run_id: 'theirs' }, /A run "Theirs" is in .* already/);
  });

  test('a folder that cannot be written', async () => {
    if (process.getuid?.() === 0) {
      rmSync(inside('.partner/blocked'), { force: true });
      writeFileSync(inside('file'), '');
      await refusedBy({ run_id: 'blocked', output: 'file/plan.md' }, /can't be written|leads out/);
      return;
    }
    chmodSync(inside('.partner/runs'), 0o500);
    await refusedBy({ run_id: 'blocked' }, /can't be written by this user/);
    chmodSync(inside('.partner/runs'), 0o700);
  });

  test('a repository that is read-only, a disk that is too small: said before a CLI starts', async () => {
    mkdirSync(inside('.partner/runs'), { recursive: true });
    if (!canMount) return expect(await assertSpace(runs.repo, Number.MAX_SAFE_INTEGER).catch(String)).toMatch(/MiB free/);
    const free = readOnly(runs.repo);
    await refusedBy({ run_id: 'read-only' }, /its file system is read-only. Make it writable/).finally(free);
    const enlarge = tinyDisk(inside('.partner/runs'));
    await refusedBy({ run_id: 'small-disk' }, /has 0 MiB free, a run needs 64 MiB. Free some space/).finally(enlarge);
  });

  test('no CLI: with how to mend it', async () => {
    await runs.planner.database.query(`UPDATE repositories SET machine = 'bare-host' WHERE alias = 'shop'`);
    const env = { ...runs.env, PARTNER_CLAUDE_BIN: '/nonexistent/claude' };
    const { database, temporal } = runs.planner;
    const warn = (): void => undefined;
    const bare = await startHostWorker({ database, temporal, machine: 'bare-host', env, shutdownGraceMs: 100, warn });
    await refusedBy({ run_id: 'no-cli' }, /PARTNER_CLAUDE_BIN names \/nonexistent\/claude, which does not exist/);
    await bare.close();
    await database.query('UPDATE repositories SET machine = $1', [testMachine]);
  });
});

describe('two that race: one wins before anything is paid, the other is told', () => {
  test('for one run id, whatever its case', async () => {
    runs.play('slow-success');
    const both = await Promise.allSettled([runs.start({ run_id: 'Race' }), runs.start({ run_id: 'race' })]);
    const won = both.filter((one) => one.status === 'fulfilled');
    const lost = both.find((one) => one.status === 'rejected');
    expect(won.length).toBe(1);
    expect(String(lost!.reason)).toMatch(/A run "(Race|race)" of shop is under way; nothing is overwritten/);
    expect(await runs.ended(won[0]!.value)).toMatchObject({ status: 'succeeded' });
    expect(runs.starts().length).toBe(1);
    await expect(runs.start({ run_id: 'RACE' })).rejects.toThrow(/has ended \(succeeded\)/);
  });

  test('spec: bounded-claude 7.4: for one output', async () => {
    runs.play('slow-success');
    const output = 'docs/same.md';
    const both = await Promise.allSettled(['one', 'two', 'three'].map((run_id) => runs.start({ run_id, output })));
    const begun = both.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    const ends = await Promise.all(begun.map((run) => runs.ended(run)));
    expect(ends.filter((run) => run.status === 'succeeded').length).toBe(1);
    expect(runs.starts().length).toBe(1);
    for (const end of ends.filter((run) => run.status !== 'succeeded')) {
      expect(end.status).toBe('rejected');
      expect(end.problems!.join()).toMatch(/is about to write|exists already/);
    }
    const refused = both.flatMap((one) => (one.status === 'rejected' ? [String(one.reason)] : []));
    for (const reason of refused) expect(reason).toMatch(/is about to write docs\/same\.md/);
    expect(existsSync(inside('docs/same.md'))).toBe(true);
  });
});

test('spec: bounded-claude 3.5: a resume goes on with the model that it began with, or not at all', async () => {
  runs.play('malformed-plan', 'success');
  const run = await runs.start({ run_id: 'changed' });
  await runs.ended(run);
  configure(identity('deep_reasoner', 'claude-fable-5'));
  await runs.resume(run);
  const rejected = await runs.ended(run);
  expect(rejected).toMatchObject({ status: 'failed', failure_kind: 'protocol_error', attempts: 1 });
  expect(rejected.problems!.join()).toMatch(/A resume changes no model/);
  expect((await runs.outputs(run)).at(-1)!.body).toEqual({ type: 'done', status: 'rejected' });
  expect(runs.starts().length).toBe(1);
  configure(identity('deep_reasoner', model));
  await runs.resume(run);
  const ended = await runs.ended(run);
  expect(ended).toMatchObject({ status: 'succeeded' });
  expect(ended.problems).toBeUndefined();
});
