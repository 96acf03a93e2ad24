// The workflow of a re-validation where time is skipped: order, hosts that are away, stops, runs that somebody else has
// started; its activities and its runs are stand-ins that say what the real ones say (spec: orchestration "Re-validation").

import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fetchTool } from '../cli/stack/tools.ts';
import {
  revalidationWorkflow,
  revalidationWorkflowId,
  type HostTimings,
  type RevalidationActivities,
  type RevalidationHostActivities,
  type RevalidationStatus,
} from '../domain/revalidation/contract.ts';
import { runTimings, type HostActivities, type RunActivities } from '../domain/run.ts';
import { plannerTaskQueue } from '../domain/turn.ts';
import { dataConverter } from '../planner/engine.ts';
import { workflowBundle } from '../worker/bundle.ts';

Runtime.install({ logger: new DefaultLogger('ERROR') });

let environment: TestWorkflowEnvironment;
beforeAll(async () => {
  const path = await fetchTool('test-server', () => undefined);
  environment = await TestWorkflowEnvironment.createTimeSkipping({ server: { executable: { type: 'existing-path', path } } });
}, 60_000);
afterAll(() => environment?.teardown());

interface Change {
  shared?: Partial<RevalidationActivities>;
  host?: Partial<RevalidationHostActivities>;
  run?: Partial<HostActivities>;
  /** Without a worker of the host. */
  away?: boolean;
  timings?: HostTimings;
}

let names = 0;

/** Runs it to its end; `called` tells what was asked for, in order. */
async function revalidated(change: Change = {}, meanwhile?: (id: string) => Promise<void>) {
  const validation = `validation-${++names}`;
  const queue = `bounded-${validation}`;
  const called: string[] = [];
  const note = <T extends object>(activities: T): T =>
    Object.fromEntries(
      Object.entries(activities).map(([name, act]) => [
        name,
        (input: { position?: number; phase?: string; end?: unknown }) => {
          const more = input.position ?? (name === 'concludeValidation' ? input.end : undefined);
          if (!/^tell/.test(name)) called.push(more === undefined ? name : `${name} ${String(more)}`);
          return (act as (input: unknown) => unknown)(input);
        },
      ]),
    ) as T;
  const child = (position: number, cycle: number) => ({
    next: 'run' as const,
    workflowId: `run-${validation}-${position}`,
    input: { run: `${validation}-${position}`, cycle, queue, timings: { ...runTimings } },
  });
  const shared: RevalidationActivities = {
    openValidation: async () => ({
      next: 'go',
      validation,
      queue,
      timings: change.timings ?? { hostPatience: 300_000, hostGiveUp: 86_400_000 },
    }),
    tellValidation: async () => undefined,
    openValidationRun: async ({ position }) => child(position, 0),
    resumeValidationRun: async ({ position }) => child(position, 1),
    validationRunEnded: async () => true,
    concludeValidation: async ({ end }) => (end === 'completed' ? 'holds' : 'pending'),
    ...change.shared,
  };
  const host: RevalidationHostActivities = {
    prepareValidation: async () => 'go',
    confirmValidation: async () => undefined,
    writeValidationReport: async () => undefined,
    ...change.host,
  };
  const runHost: HostActivities = {
    preflight: async ({ cycle }) => ({ next: 'start', attempt: cycle + 1, resumeAttempts: 0 }),
    superviseClaude: async ({ run, cycle }) =>
      run.endsWith('-2') && cycle === 0 ? { kind: 'failed', failure: 'cancelled' } : { kind: 'plan' },
    recoverClaude: async () => ({ kind: 'not_begun' }),
    publishPlan: async () => ({ kind: 'plan' }),
    ...change.run,
  };
  const ends: RunActivities = { tellRun: async () => undefined, endRun: async ({ end }) => end };
  const connection = environment.nativeConnection;
  const own = await Worker.create({
    connection,
    taskQueue: plannerTaskQueue,
    workflowBundle: { codePath: await workflowBundle() },
    activities: { ...note(shared), ...ends },
    dataConverter,
  });
  const hosts = await Worker.create({
    connection,
    taskQueue: change.away ? `${queue}-elsewhere` : queue,
    activities: { ...note(host), superviseClaude: note(runHost).superviseClaude, ...without(runHost) },
    dataConverter,
  });
  const start = () =>
    environment.client.workflow.start(revalidationWorkflow, {
      taskQueue: plannerTaskQueue,
      workflowId: revalidationWorkflowId(validation),
      args: [{ validation }],
    });
  const began = await environment.currentTimeMs();
  const claim = await own.runUntil(
    hosts.runUntil(async () => {
      const handle = await start();
      await meanwhile?.(handle.workflowId);
      return (await handle.result()) as string | null;
    }),
  );
  return { claim, called, elapsed: (await environment.currentTimeMs()) - began, id: revalidationWorkflowId(validation) };
}

const without = ({ superviseClaude: _, ...rest }: HostActivities) => rest;

test('spec: bounded-claude 9.1: prepare, three runs, the second one ended on purpose and resumed, confirm, conclude, report', async () => {
  const { claim, called } = await revalidated();
  expect(claim).toBe('holds');
  expect(called).toEqual([
    'openValidation',
    'prepareValidation',
    'openValidationRun 1',
    'superviseClaude',
    'openValidationRun 2',
    'superviseClaude',
    'resumeValidationRun 2',
    'superviseClaude',
    'openValidationRun 3',
    'superviseClaude',
    'confirmValidation',
    'concludeValidation completed',
    'writeValidationReport',
  ]);
}, 60_000);

describe('whatever becomes of a run', () => {
  test('the next one is made: a failed run says something, too', async () => {
    const { called, claim } = await revalidated({ run: { superviseClaude: async () => ({ kind: 'failed', failure: 'refusal' }) } });
    expect(called.filter((name) => /Run/.test(name))).toEqual([
      'openValidationRun 1', 'openValidationRun 2', 'resumeValidationRun 2', 'openValidationRun 3',
    ]);
    expect(claim).toBe('holds');
  }, 60_000);

  test('none to make, and none to resume: it goes on to its end', async () => {
    const none = async () => ({ next: 'none' as const });
    const { called } = await revalidated({ shared: { openValidationRun: none, resumeValidationRun: none } });
    expect(called).toContain('concludeValidation completed');
    expect(called).not.toContain('superviseClaude');
  }, 60_000);

  test('one that a sweep was faster to start is waited for, not started twice', async () => {
    let looks = 0;
    const { called, elapsed } = await revalidated({
      shared: {
        async openValidationRun({ validation, position }) {
          const input = { run: `${validation}-${position}`, cycle: 0, queue: 'nobody', timings: runTimings };
          const workflowId = `taken-${validation}`;
          if (position === 1) {
            await environment.client.workflow.start('boundedClaudePlan', { taskQueue: 'nobody', workflowId, args: [input] });
            return { next: 'run', workflowId, input };
          }
          return { next: 'none' };
        },
        resumeValidationRun: async () => ({ next: 'none' }),
        validationRunEnded: async () => ++looks > 3,
      },
    });
    expect(looks).toBe(4);
    expect(elapsed).toBeGreaterThanOrEqual(6_000);
    expect(called).toContain('concludeValidation completed');
  }, 60_000);
});

test('rejected by its host: no run is opened', async () => {
  const { called } = await revalidated({ host: { prepareValidation: async () => 'rejected' } });
  expect(called).toEqual(['openValidation', 'prepareValidation', 'concludeValidation rejected', 'writeValidationReport']);
}, 60_000);

test('nothing to do: nothing is done', async () => {
  const { claim, called } = await revalidated({ shared: { openValidation: async () => ({ next: 'skipped' }) } });
  expect(claim).toBeNull();
  expect(called).toEqual(['openValidation']);
}, 60_000);

test('a host that is away is waited for, which is told, and given up in the end', async () => {
  const told: string[] = [];
  const { called, elapsed } = await revalidated({
    away: true,
    // An activity that waits for a worker lets no time be skipped.
    timings: { hostPatience: 500, hostGiveUp: 2_000 },
    shared: { tellValidation: async ({ phase }) => void told.push(phase) },
  });
  expect(told).toEqual(Array(3).fill("waiting for the repository's host"));
  expect(called).toEqual(['openValidation', 'concludeValidation failed']);
  expect(elapsed).toBeGreaterThanOrEqual(2_000);
}, 60_000);

test('a host that fails again and again ends it as failed, and the report is for later', async () => {
  // The last of its attempts.
  const failure = { type: 'internal', message: 'internal', nonRetryable: true };
  const broken = async () => Promise.reject(ApplicationFailure.create(failure));
  const { called, claim } = await revalidated({ host: { prepareValidation: broken, writeValidationReport: broken } });
  expect(claim).toBe('pending');
  expect(called).toContain('concludeValidation failed');
}, 60_000);

describe('a stop', () => {
  const stopped = (stop: (id: string) => Promise<unknown>) => {
    let supervised: () => void = () => undefined;
    const running = new Promise<void>((resolve) => (supervised = resolve));
    return revalidated(
      {
        run: {
          async superviseClaude() {
            supervised();
            const context = Context.current();
            const beat = setInterval(() => context.heartbeat(), 100);
            await context.cancelled.catch(() => undefined).finally(() => clearInterval(beat));
            return { kind: 'failed', failure: 'cancelled' };
          },
        },
      },
      async (id) => {
        await running;
        const status = await environment.client.workflow.getHandle(id).query<RevalidationStatus>('status');
        expect(status).toMatchObject({ phase: 'run 1 of 3: fresh', runs: 1, cancelled: false });
        await stop(id);
      },
    );
  };

  test('by its signal ends the run that goes on, and nothing more is begun', async () => {
    const { called } = await stopped((id) => environment.client.workflow.getHandle(id).signal('cancel', { by: 'ada' }));
    expect(called.slice(-2)).toEqual(['concludeValidation cancelled', 'writeValidationReport']);
    expect(called).not.toContain('openValidationRun 2');
  }, 60_000);

  test('by an operator in the Temporal UI is the same', async () => {
    const { called } = await stopped((id) => environment.client.workflow.getHandle(id).cancel());
    expect(called.slice(-2)).toEqual(['concludeValidation cancelled', 'writeValidationReport']);
    expect(called).not.toContain('openValidationRun 2');
  }, 60_000);
});
