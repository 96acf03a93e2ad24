// The table of retries (spec: orchestration "Retries").

import { describe, expect, test } from 'vitest';
import { retryOf } from '../activities/retry.ts';
import { failureClasses } from '../domain/turn.ts';
import { ModelError, type ModelErrorClass } from '../models/gateway.ts';
import { CallFailure } from '../planner/model-call.ts';

const left = 900_000;
const modelError = (name: ModelErrorClass, retryAfterMs?: number): ModelError =>
  new ModelError(name, { text: 'what to do', ...(retryAfterMs === undefined ? {} : { retryAfterMs }) });

describe('which failures make another attempt', () => {
  test.for(['rate_limited', 'overloaded', 'server_error', 'timeout', 'connection', 'cut_stream', 'silent_stream'] as const)(
    '%s does',
    (name) => expect(retryOf(modelError(name), 50, left)).toMatchObject({ failure: name, retryable: true }),
  );
  test.for(['authentication', 'permission', 'not_found', 'invalid_request', 'context_length'] as const)('%s does not', (name) =>
    expect(retryOf(modelError(name), 1, left)).toMatchObject({ failure: name, retryable: false, text: 'what to do' }),
  );
  test.for(['hole', 'forbidden'] as const)('%s does not', (name) =>
    expect(retryOf(new CallFailure(name), 1, left)).toMatchObject({ failure: name, retryable: false }),
  );
  test('a lost database connection does', () => {
    const error = Object.assign(new Error('gone'), { code: 'ECONNREFUSED' });
    expect(retryOf(error, 1, left)).toMatchObject({ failure: 'database', retryable: true });
  });
  test('an answer that cannot be read does twice', () => {
    expect(retryOf(modelError('bad_response'), 2, left).retryable).toBe(true);
    expect(retryOf(modelError('bad_response'), 3, left).retryable).toBe(false);
  });
});

test('a Retry-After of nothing, or a small one again and again, is no hammer: the back-off is the least', () => {
  expect(retryOf(modelError('rate_limited', 0), 1, left)).toMatchObject({ retryable: true, delayMs: 200 });
  expect(retryOf(modelError('server_error', 1), 4, left).delayMs).toBe(1_600);
  expect(retryOf(modelError('rate_limited', 2_000), 30, left).delayMs).toBe(30_000);
});

test('Retry-After is the delay; beyond the remaining time it ends the turn and says when to try again', () => {
  expect(retryOf(modelError('rate_limited', 5_000), 1, left)).toMatchObject({ retryable: true, delayMs: 5_000 });
  const late = retryOf(modelError('rate_limited', left + 1), 1, left);
  expect(late.retryable).toBe(false);
  expect(late.text).toMatch(/^what to do\. The provider accepts requests again at \d{4}-/);
});

test('whatever is thrown has a known class, and no detail of it is told', () => {
  for (const thrown of [new Error('password=hunter2'), 'text', null, { a: 1 }]) {
    const { failure, text, reason } = retryOf(thrown, 1, left);
    expect(failureClasses).toContain(failure);
    expect(text + reason).not.toMatch(/hunter2/);
  }
});
