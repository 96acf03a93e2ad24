// Bounded runs through REST, realtime and the client (spec: bounded-claude 1, planner 5, 10, 11).

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startApi, type Api } from '../api/server.ts';
import { run, runDetails, startedRun } from '../api/contracts/index.ts';
import { rpcNotifications } from '../api/contracts/realtime.ts';
import { connect, createRest, type Rest } from '../client/index.ts';
import type { RunOutput } from '../client/wire.ts';
import { systemActor } from '../domain/actor.ts';
import { transaction } from '../store/database.ts';
import { listen, type Listener } from '../store/listener.ts';
import { projectByKey } from '../store/projects.ts';
import { bindRole } from '../store/role-bindings.ts';
import { createSubject, createToken } from '../store/tokens.ts';
import { packet } from './support/bounded-attempt.ts';
import { until } from './support/planner.ts';
import { startTestRuns, testMachine, type TestRuns } from './support/runs.ts';

let runs: TestRuns;
let api: Api;
let listener: Listener;
const rest = {} as Record<'ada' | 'viewer' | 'stranger', Rest>;
const tokens = {} as Record<'ada' | 'viewer' | 'stranger', string>;

beforeAll(async () => {
  runs = await startTestRuns();
  await runs.startHost();
  const { database } = runs.planner;
  await transaction(database, async (tx) => {
    const project = await projectByKey(tx, 'WEB');
    for (const subject of ['viewer', 'stranger']) await createSubject(tx, { subject, kind: 'human', name: subject });
    await bindRole(tx, systemActor, { subject: 'viewer', role: 'viewer', project_id: project.id });
    for (const subject of ['ada', 'viewer', 'stranger'] as const) {
      tokens[subject] = (await createToken(tx, { subject, expires_at: new Date(Date.now() + 3_600_000) })).token;
    }
  });
  listener = await listen(database.url);
  api = await startApi({
    database,
    listener,
    engine: runs.planner.engine,
    port: 0,
    model: { name: 'none', demo: true },
    checkAnswers: true,
    temporal: { ui: 'http://127.0.0.1:8233', namespace: 'default' },
  });
  for (const subject of ['ada', 'viewer', 'stranger'] as const) {
    rest[subject] = createRest({ address: api.address, token: tokens[subject] });
  }
});
afterAll(async () => {
  await api.close();
  await listener.close();
  await runs.close();
});

const request = { repo: 'shop', host: 'codex', role: 'deep_reasoner', packet } as const;

/** What a watcher of these outputs sees. */
const shownBy = (got: RunOutput[]): string =>
  got.reduce((text, one) => (one.type !== 'text' ? text : one.replace ? one.text : text + one.text), '');

const ended = (id: string) =>
  until('the run to end', async () => {
    const now = await rest.ada.run(id);
    return now.ended_at !== undefined && now;
  });

describe('spec: bounded-claude 1: REST', () => {
  test('spec: bounded-claude 1.7: starts a run, shows it, lists it', async () => {
    runs.play('slow-success');
    const started = await rest.ada.startRun({ ...request, run_id: 'rest' });
    expect(startedRun.parse(started)).toMatchObject({ run_id: 'rest' });
    expect(started.workflow_id).toMatch(/^bounded-claude-[0-9a-f]{8}-rest$/);
    expect(started.workflow_url).toContain(`/workflows/${started.workflow_id}`);
    const details = runDetails.parse(await ended(started.run));
    expect(details).toMatchObject({ status: 'succeeded', repo: 'shop', project: 'WEB', machine: testMachine, packet });
    const { items } = await rest.viewer.runs({ project: 'WEB' });
    expect(items.map((item) => run.parse(item).run_id)).toContain('rest');
    expect(await rest.viewer.run('REST')).toMatchObject({ id: started.run });
    const { items: known } = await rest.ada.repositories();
    expect(known).toEqual([{ alias: 'shop', project: 'WEB', machine: testMachine, path: runs.repo }]);
  });

  test('spec: bounded-claude 1.7: serves the artifacts as they are', async () => {
    expect(await rest.viewer.runArtifact('rest', 'plan.md')).toBe(runs.file('.partner/plans/rest.md'));
    expect(await rest.viewer.runArtifact('rest', 'checkpoint.md')).toBe(runs.file('.partner/plans/rest.md'));
    expect(JSON.parse(await rest.viewer.runArtifact('rest', 'metadata.json'))).toEqual(runs.metadata('rest'));
    await expect(rest.viewer.runArtifact('rest', 'recovery.md')).rejects.toMatchObject({ status: 404 });
    await expect(rest.viewer.runArtifact('rest', 'guard.json')).rejects.toThrow(/There is no such artifact/);
    await expect(rest.viewer.runArtifact('rest', '../../../etc/passwd')).rejects.toMatchObject({ status: 404 });
    const elsewhere = new RegExp(`kept on ${testMachine} only`);
    await expect(rest.viewer.runArtifact('rest', 'events.jsonl')).rejects.toThrow(elsewhere);
  });

  test('one answer a key: a repeated start is the same run', async () => {
    runs.play('success');
    const again = (): Promise<Response> =>
      fetch(`${api.address}/api/v1/bounded-runs`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${tokens.ada}`,
          'content-type': 'application/json',
          'idempotency-key': 'one',
        },
        body: JSON.stringify({ ...request, run_id: 'keyed' }),
      });
    const [first, second] = [await again(), await again()];
    expect([first.status, second.status]).toEqual([201, 201]);
    expect(await second.json()).toEqual(await first.json());
    await ended('keyed');
  });

  test('spec: bounded-claude 1.7: refuses a bad request with all its problems, and a path in the place of an alias', async () => {
    const bad = { ...request, packet: '# Hello', wall_timeout: 700, run_id: 'bad..id' };
    const all = /must not contain[^]*never raised[^]*Partner Bounded Planning Packet/;
    await expect(rest.ada.startRun(bad)).rejects.toThrow(all);
    await expect(rest.ada.startRun({ ...request, repo: runs.repo })).rejects.toMatchObject({ status: 404 });
    const strange = { ...request, path: '/etc' } as unknown as typeof request;
    await expect(rest.ada.startRun(strange)).rejects.toMatchObject({ status: 400 });
  });

  test('spec: planner 5: only who may start, cancel, read does', async () => {
    await expect(rest.viewer.startRun(request)).rejects.toMatchObject({ status: 403 });
    await expect(rest.viewer.cancelRun('rest')).rejects.toMatchObject({ status: 403 });
    await expect(rest.viewer.resumeRun('rest')).rejects.toMatchObject({ status: 403 });
    await expect(rest.stranger.run('rest')).rejects.toMatchObject({ status: 404 });
    await expect(rest.stranger.startRun(request)).rejects.toMatchObject({ status: 404 });
    expect((await rest.stranger.runs()).items).toEqual([]);
    expect((await rest.stranger.repositories()).items).toEqual([]);
  });

  test('spec: bounded-claude 1.7: cancels and resumes', async () => {
    runs.play('idle', 'success');
    const { run: id } = await rest.ada.startRun({ ...request, run_id: 'stop-and-go' });
    await runs.seen(id, (now) => now.phase === 'writing');
    await rest.ada.cancelRun(id);
    expect(await ended(id)).toMatchObject({ status: 'cancelled' });
    expect(await rest.viewer.runArtifact(id, 'recovery.md')).toContain('--resume stop-and-go');
    const approval = `Ada, by ${tokens.ada}`;
    const refused: unknown = await rest.ada.resumeRun(id, { role: 'arbiter', approval }).catch((error: unknown) => error);
    expect(refused).toMatchObject({ status: 400, message: expect.stringContaining('(planner-token)') });
    expect(JSON.stringify(refused) + String(refused)).not.toContain(tokens.ada);
    const kept = `SELECT 1 FROM bounded_runs b WHERE strpos(b::text, $1) > 0`;
    expect(await runs.planner.database.query(kept, [tokens.ada])).toEqual([]);
    const again = await rest.ada.resumeRun(id);
    expect(again.run).toBe(id);
    expect(await ended(id)).toMatchObject({ status: 'succeeded', attempts: 2 });
    const first = JSON.parse(await rest.viewer.runArtifact(id, 'metadata.json', { attempt: 1 })) as unknown;
    expect(first).toMatchObject({ attempt: 1, status: 'cancelled' });
  });
});

describe('spec: planner 11: run.watch', () => {
  test('spec: planner 11.13: status, visible text and checkpoint, in order, without gap, to the end', async () => {
    runs.play('slow-success');
    const { run: id, output_number } = await rest.ada.startRun({ ...request, run_id: 'watched' });
    const realtime = connect({ address: api.address, token: tokens.viewer });
    const got: RunOutput[] = [];
    const onOutput = (output: RunOutput): void => void got.push(output);
    const watch = realtime.watchRun(id, { onOutput }, { from_output: output_number });
    expect(await watch.ready).toMatchObject({ running: id });
    await until('the end', async () => got.some((output) => output.type === 'done'));
    for (const output of got) rpcNotifications['run.output'].parse(output);
    expect(got.map((output) => output.output)).toEqual(got.map((_, index) => index + 1));
    const shown = shownBy(got);
    expect(shown).toBe(runs.file('.partner/plans/watched.md'));
    expect(got.find((output) => output.type === 'checkpoint')).toMatchObject({ text: shown, attempt: 1 });
    expect(got.some((output) => output.type === 'status' && output.elapsed_ms !== undefined)).toBe(true);
    realtime.close();
  });

  test('a client that comes in mid-run has the attempt from its start', async () => {
    runs.play('idle');
    const { run: id } = await rest.ada.startRun({ ...request, run_id: 'late' });
    await runs.seen(id, (now) => now.phase === 'writing');
    const realtime = connect({ address: api.address, token: tokens.ada });
    const late: RunOutput[] = [];
    await realtime.watchRun(id, { onOutput: (output) => void late.push(output) }).ready;
    await until('the text', async () => late.some((output) => output.type === 'text'));
    expect(late[0]).toMatchObject({ attempt: 1 });
    await realtime.cancelRun(id);
    await until('the end', async () => late.some((output) => output.type === 'done'));
    realtime.close();
  });

  test('a client that read the run and goes on from its newest number has the text so far with the next one', async () => {
    runs.play('secret-split-deltas');
    const { run: id } = await rest.ada.startRun({ ...request, run_id: 'reloaded' });
    await until('some text', async () => (await runs.outputs(id)).some((output) => output.body.type === 'text'));
    const { output_number, status } = await rest.ada.run(id);
    expect(status).toBe('running');
    const realtime = connect({ address: api.address, token: tokens.ada });
    const got: RunOutput[] = [];
    realtime.watchRun(id, { onOutput: (output) => void got.push(output) }, { from_output: output_number });
    await until('the end', async () => got.some((output) => output.type === 'done'));
    expect(got.find((output) => output.type === 'text')).toMatchObject({ replace: true });
    const shown = shownBy(got);
    expect(shown).toBe(runs.file('.partner/plans/reloaded.md'));
    realtime.close();
  });

  test('is refused to who may not read the run', async () => {
    const realtime = connect({ address: api.address, token: tokens.stranger });
    const watch = realtime.watchRun('watched', { onOutput: () => undefined });
    await expect(watch.ready).rejects.toMatchObject({ code: 'not_found' });
    await expect(realtime.cancelRun('watched')).rejects.toMatchObject({ code: 'not_found' });
    realtime.close();
  });
});
