// The turn's workflow where the engine gives a compaction up: time is skipped, the activities are stand-ins that say
// what the real ones say. (spec: orchestration "compact": failure is no reason to fail the turn)

import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fetchTool } from '../cli/stack/tools.ts';
import { plannerTaskQueue, turnWorkflow, turnWorkflowId, type CallModelInput, type TurnActivities } from '../domain/turn.ts';
import { workflowBundle } from '../worker/bundle.ts';

Runtime.install({ logger: new DefaultLogger('ERROR') });

let environment: TestWorkflowEnvironment;
beforeAll(async () => {
  const path = await fetchTool('test-server', () => undefined);
  environment = await TestWorkflowEnvironment.createTimeSkipping({ server: { executable: { type: 'existing-path', path } } });
}, 60_000);
afterAll(() => environment?.teardown());

test('spec: orchestration: a compaction that is out of time is left, and the model is called as it is', async () => {
  const asked: CallModelInput['compaction'][] = [];
  let attempts = 0;
  let end: (() => void) | undefined;
  const silence = new Promise<void>((resolve) => (end = resolve));
  const activities: TurnActivities = {
    callModel: async ({ compaction }) => {
      asked.push(compaction);
      return compaction === 'possible' ? { kind: 'compact' } : { kind: 'ended', reason: 'end_turn' };
    },
    compact: async () => {
      attempts = Context.current().info.attempt;
      // All but the last seconds of its time go by in one wait; then it falls silent.
      if (attempts === 1) throw ApplicationFailure.create({ type: 'overloaded', message: 'overloaded', nextRetryDelay: '1195s' });
      await silence;
      return { kind: 'compacted' };
    },
    runTool: async () => 'ok',
    endTurn: async ({ reason }) => reason,
  };
  const worker = await Worker.create({
    connection: environment.nativeConnection,
    taskQueue: plannerTaskQueue,
    workflowBundle: { codePath: await workflowBundle() },
    activities,
  });
  const args = [{ session: 'a', turn: 'b' }];
  const options = { taskQueue: plannerTaskQueue, workflowId: turnWorkflowId('b'), args };
  const result = await worker.runUntil(() => environment.client.workflow.execute(turnWorkflow, options).finally(() => end!()));

  expect(attempts).toBe(2);
  expect(result).toEqual({ reason: 'end_turn', model_calls: 1 });
  expect(asked).toEqual(['possible', 'tried']);
}, 60_000);
