// Re-validation end to end: workflow, child runs, scripted CLI, report and claim (spec: bounded-claude 9).

import { chmodSync, copyFileSync, cpSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { acknowledgeRevalidation, cancelRevalidation, revalidationReport } from '../../bounded/revalidations.ts';
import { readPacket, sha256 } from '../../domain/bounded/packet.ts';
import { reportSchema } from '../../domain/revalidation/report.ts';
import { randomText } from '../support/bounded.ts';
import { ada, until } from '../support/planner.ts';
import { model } from '../support/runs.ts';
import { startTestRevalidations, testMachine, type TestRevalidations } from '../support/revalidation.ts';

const minute = 120_000;
let runs: TestRevalidations;
beforeAll(async () => {
  runs = await startTestRevalidations();
  // A CLI of its own, which a test may replace.
  const support = fileURLToPath(new URL('../support/', import.meta.url));
  const text = readFileSync(path.join(support, 'scripted-claude.mjs'), 'utf8');
  const demo = new URL('../../claude/demo-cli.mjs', import.meta.url).href;
  writeFileSync(cli(), text.replace('../../claude/demo-cli.mjs', demo), { mode: 0o755 });
  runs.env['PARTNER_CLAUDE_BIN'] = cli();
  await runs.startHost({ claimsMs: 300, tidyMs: 300 });
});
afterAll(async () => {
  expect(runs.living()).toEqual([]);
  await runs.close();
});

const cli = (): string => path.join(runs.home, 'claude.mjs');
const flag = (args: string[], name: string): string | undefined => args[args.indexOf(name) + 1];
const acknowledge = (id: string, more: { failure?: number; note?: string } = {}) =>
  acknowledgeRevalidation(runs.planner.database, ada, id, more);
/** The third CLI of four is the recovery. */
const whole = (): void => runs.play('success', 'slow-success', 'success');

test('spec: bounded-claude 9.1, 9.6: three near-limit runs, one ended on purpose and recovered in its session: the claim holds', async () => {
  whole();
  const id = await runs.validate();
  const ended = await runs.concluded(id);
  expect(ended).toMatchObject({ status: 'completed', claim: 'holds', failures: [], model, phase: 'ended' });
  expect(ended.attempts.map(({ purpose, outcome, kind }) => [purpose, outcome, kind])).toEqual([
    ['fresh', 'valid', null],
    ['interrupted', 'interrupted', 'interrupted'],
    ['recovery', 'valid', null],
    ['fresh', 'valid', null],
  ]);
  const [, interrupted, recovery] = ended.attempts;
  expect(recovery).toMatchObject({ session: 'resume', session_id: interrupted!.session_id });
  const [, second, third] = runs.starts();
  expect(flag(third!.args, '--resume')).toBe(flag(second!.args, '--session-id'));
  expect(ended.hashes!.packets).toHaveLength(3);
  for (const packet of ended.hashes!.packets) {
    const bytes = readFileSync(path.join(runs.repo, packet.file));
    expect(await sha256(bytes)).toBe(packet.sha256);
    const read = await readPacket(bytes);
    expect(read.ok && read.packet.characters).toBe(packet.characters);
    expect(packet.characters).toBeGreaterThanOrEqual(23_000);
    expect(packet.characters).toBeLessThanOrEqual(24_000);
  }
  const report = reportSchema.parse(JSON.parse(await runs.reported(id, 'holds')));
  expect(report.attempts).toEqual(ended.attempts);
  const text = runs.file(`.partner/validations/${id}/report.md`);
  expect(text).toContain('The claim **holds**');
  for (const hash of [report.hashes!.runner_sha256, report.hashes!.cli_sha256]) expect(text).toContain(hash);
}, minute);

test('spec: bounded-claude 9.8: its events and its history hold ids, counts and classes, no word of packet or plan', async () => {
  const { database, client } = runs.planner;
  const [row] = await database.query<{ id: string; workflow_id: string }>(
    `SELECT id, workflow_id FROM revalidations WHERE status = 'completed' LIMIT 1`,
  );
  const events = await database.query<{ type: string; payload: Record<string, unknown> }>(
    'SELECT type, payload FROM events WHERE entity_id = $1 ORDER BY seq',
    [row!.id],
  );
  expect(events.map(({ type }) => type)).toEqual(['revalidation.started', 'revalidation.ended']);
  expect(events[1]!.payload).toMatchObject({ status: 'completed', claim: 'holds', role: 'deep_reasoner' });
  const handle = client.workflow.getHandle(row!.workflow_id);
  expect(await handle.result()).toBe('holds');
  const history = await handle.fetchHistory();
  const text = JSON.stringify(history, (_, value: unknown) =>
    value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : value);
  const decoded = text + Buffer.from(text.match(/[A-Za-z0-9+/=]{40,}/g)?.join('\n') ?? '', 'base64').toString('latin1');
  for (const word of ['Bounded Planning Packet', 'Plan Checkpoint', 'export const part']) expect(decoded).not.toContain(word);
  const children = history.events!.filter((event) => event.startChildWorkflowExecutionInitiatedEventAttributes);
  expect(children.map((event) => event.startChildWorkflowExecutionInitiatedEventAttributes!.workflowType!.name)).toEqual(
    Array(4).fill('boundedClaudePlan'),
  );
});

describe('failures', () => {
  test('each is listed and waits for somebody; then a claim with a valid recovery and last attempt holds', async () => {
    runs.play('overloaded', 'slow-success', 'success');
    const id = await runs.validate();
    const ended = await runs.concluded(id);
    expect(ended.claim).toBe('pending');
    expect(ended.failures).toMatchObject([{ id: `${id}.1`, attempt: 1, kind: 'upstream_error', inspected_by: null }]);
    await expect(acknowledge(id, { failure: 2 })).rejects.toThrow(/has no failure 2/);
    const secret = ['gh', 'p_'].join('') + randomText(36);
    await expect(acknowledge(id, { note: secret })).rejects.toThrow(/^The note holds .* \(github-token\)/);
    await acknowledge(id, { failure: 1, note: 'the API was overloaded' });
    await expect(acknowledge(id)).rejects.toThrow(/are acknowledged already/);
    const now = await runs.validation(id);
    expect(now.claim).toBe('holds');
    expect(now.failures).toMatchObject([{ inspected_by: 'ada', note: 'the API was overloaded' }]);
    const report = reportSchema.parse(JSON.parse(await runs.reported(id, 'holds')));
    expect(report.failures).toMatchObject([{ inspected_by: 'ada', note: 'the API was overloaded' }]);
    expect(runs.file(`.partner/validations/${id}/report.md`)).toMatch(/upstream_error .*ada, .* the API was overloaded/);
  }, minute);

  test('a last fresh attempt that failed: acknowledged, the claim fails; the recovery is there all the same', async () => {
    runs.play('success', 'slow-success', 'success', 'malformed-plan');
    const id = await runs.validate();
    const ended = await runs.concluded(id);
    expect(ended).toMatchObject({ claim: 'pending', failures: [{ attempt: 4, kind: 'protocol_error' }] });
    await acknowledge(id);
    expect(await runs.validation(id)).toMatchObject({
      claim: 'fails',
      reasons: ['The last fresh attempt gave no valid plan.'],
    });
    await runs.reported(id, 'fails');
  }, minute);

  test('a recovery whose session is lost is none, though a new session gave a plan', async () => {
    runs.play('success', 'slow-success', 'no-session', 'success');
    const id = await runs.validate();
    const ended = await runs.concluded(id);
    expect(ended.failures.map(({ kind }) => kind)).toEqual(['session_lost', 'other_session']);
    expect(ended.attempts.map(({ purpose, outcome }) => `${purpose} ${outcome}`)).toEqual([
      'fresh valid', 'interrupted interrupted', 'recovery failed', 'recovery valid', 'fresh valid',
    ]);
    await acknowledge(id);
    expect(await runs.validation(id)).toMatchObject({ claim: 'fails' });
  }, minute);
});

test('a stop ends the run that goes on and the re-validation, and what was made is reported', async () => {
  runs.play('success', 'slow-success', 'idle');
  const id = await runs.validate();
  await until('the recovery', async () => (await runs.validation(id)).attempts.length === 3);
  await cancelRevalidation(runs.planner.database, ada, id);
  const ended = await runs.concluded(id);
  expect(ended.status).toBe('cancelled');
  expect(ended.failures.map(({ kind }) => kind)).toEqual(['cancelled', 'not_run']);
  await until('the CLI to be gone', async () => runs.living().length === 0);
  await runs.reported(id, 'pending');
}, minute);

test('one at a time a role: another one is refused while it is under way', async () => {
  runs.play('success', 'idle');
  const id = await runs.validate();
  await expect(runs.validate()).rejects.toThrow(new RegExp(`Re-validation ${id} of this role is under way`));
  await cancelRevalidation(runs.planner.database, ada, id);
  await runs.concluded(id);
}, minute);

describe('a changed hash makes an earlier claim stale, in what is shown, and in its report', () => {
  let id: string;
  beforeAll(async () => {
    whole();
    id = await runs.validate();
    expect(await runs.concluded(id)).toMatchObject({ claim: 'holds' });
    await runs.reported(id, 'holds');
  }, minute);
  const stale = (reason: RegExp) =>
    until('the claim to be stale', async () => {
      const now = await runs.validation(id);
      return now.claim === 'stale' && reason.test(now.reasons.join(' '));
    });

  test('the runner', async () => {
    const { database } = runs.planner;
    // What a runner of another version had left.
    const set = 'UPDATE revalidations SET runner_sha256 = $2 WHERE id = $1';
    const [{ runner_sha256 } = { runner_sha256: '' }] = await database.query<{ runner_sha256: string }>(
      'SELECT runner_sha256 FROM revalidations WHERE id = $1',
      [id],
    );
    await database.query(set, [id, 'a'.repeat(64)]);
    await stale(/The runner has changed since/);
    await runs.reported(id, 'stale');
    expect((await revalidationReport(database, ada, id, 'md')).text).toContain('The claim is **stale**');
    await database.query(set, [id, runner_sha256]);
    await runs.reported(id, 'holds');
  });

  test('the CLI', async () => {
    copyFileSync(cli(), `${cli()}.old`);
    writeFileSync(`${cli()}.new`, `${readFileSync(cli(), 'utf8')}// another one\n`, { mode: 0o755 });
    renameSync(`${cli()}.new`, cli());
    await stale(/The CLI has changed since/);
    rmSync(cli());
    await stale(/The CLI is not there any more/);
    renameSync(`${cli()}.old`, cli());
    chmodSync(cli(), 0o755);
    await runs.reported(id, 'holds');
  });

  test('the identity, by what is asked of Claude and not by a comment', async () => {
    const file = path.join(runs.repo, '.partner/config.toml');
    const before = readFileSync(file, 'utf8');
    writeFileSync(file, before.replace('effort = "high"', 'effort = "low"'));
    await stale(/The role's identity .* has changed since/);
    writeFileSync(file, `# a comment\n${before}`);
    await until('the claim to hold', async () => (await runs.validation(id)).claim === 'holds');
    writeFileSync(file, before);
  });

  test('a kept packet', async () => {
    const file = path.join(runs.repo, `.partner/validations/${id}/packets/packet-2.md`);
    const before = readFileSync(file);
    writeFileSync(file, `${before.toString()}\n`);
    await stale(/A kept packet has changed or is gone/);
    writeFileSync(file, before);
    await runs.reported(id, 'holds');
  });
});

describe('what its host finds wrong is said, and nothing is paid', () => {
  const rejected = async (request: Parameters<typeof runs.validate>[0], why: RegExp): Promise<void> => {
    whole();
    const id = await runs.validate(request);
    const ended = await runs.concluded(id);
    expect(ended).toMatchObject({ status: 'rejected', claim: 'pending', attempts: [], cost_usd: 0, hashes: null });
    expect(ended.problems.join('\n')).toMatch(why);
    expect(ended.failures).toMatchObject([{ kind: 'rejected' }]);
    expect(runs.starts()).toEqual([]);
  };

  test('a role that is not verified', async () => {
    const file = path.join(runs.repo, '.partner/config.toml');
    const before = readFileSync(file, 'utf8');
    writeFileSync(file, before.replaceAll('verified = true', 'verified = false'));
    await rejected({}, /is not verified.*\n?.*partner verify --host codex --role deep_reasoner/);
    writeFileSync(file, before);
    await rejected({ role: 'fast_worker' }, /No identity is configured for fast_worker on codex/);
  }, minute);

  test('packets that cannot be made without secret-like text', async () => {
    cpSync(path.join(runs.repo, 'src'), path.join(runs.home, 'src'), { recursive: true });
    const secret = ['gh', 'p_'].join('') + randomText(36);
    for (let index = 0; index < 40; index++) {
      const file = path.join(runs.repo, 'src', `module-${String(index).padStart(2, '0')}.ts`);
      writeFileSync(file, `// ${secret}\n${readFileSync(file, 'utf8')}`);
    }
    await rejected({}, /No packet of 23,000 to 24,000 characters .* secret-like text were left out: src\/module-00\.ts/);
    const [row] = await runs.planner.database.query('SELECT 1 FROM revalidations t WHERE strpos(t::text, $1) > 0', [secret]);
    expect(row).toBeUndefined();
    cpSync(path.join(runs.home, 'src'), path.join(runs.repo, 'src'), { recursive: true });
  }, minute);

  test('a repository that is gone', async () => {
    renameSync(runs.repo, `${runs.repo}-away`);
    await rejected({}, /The repository .* is gone\. Put it back/);
    renameSync(`${runs.repo}-away`, runs.repo);
  }, minute);
});

test('what can be seen where the request is made is refused at once: nothing is written', async () => {
  const { startRevalidation } = await import('../../bounded/revalidations.ts');
  const { database } = runs.planner;
  const place = { machine: testMachine, env: runs.env };
  const count = async () => (await database.query('SELECT 1 FROM revalidations')).length;
  const before = await count();
  const asked = { repo: 'shop', host: 'codex', role: 'fast_worker' };
  await expect(startRevalidation(database, ada, asked, { place })).rejects.toMatchObject({
    code: 'invalid_argument',
    message: expect.stringMatching(/No identity is configured for fast_worker/),
  });
  await expect(startRevalidation(database, ada, { ...asked, role: 'king', max_budget_usd: 11 }, { place })).rejects.toThrow(
    /role must be one of[^]*--max-budget-usd/,
  );
  await expect(startRevalidation(database, ada, { ...asked, repo: 'nowhere' }, { place })).rejects.toMatchObject({ code: 'not_found' });
  const stranger = { subject: 'eve', kind: 'human' } as const;
  await expect(startRevalidation(database, stranger, asked, { place })).rejects.toMatchObject({ code: 'not_found' });
  expect(await count()).toBe(before);
});

test('a demonstration asks no model and says so', async () => {
  const id = await runs.validate({ demo: true, role: 'arbiter' });
  const ended = await runs.concluded(id, 90_000);
  expect(ended).toMatchObject({ demo: true, claim: 'holds', model: 'claude-demo-1', cost_usd: 0 });
  expect((await revalidationReport(runs.planner.database, ada, id, 'md')).text).toContain('it claims nothing of one');
}, minute);
