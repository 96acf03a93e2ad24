// A turn's life on real parts: Temporal, PostgreSQL, a scripted model over HTTP.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { fails, says } from './support/scripted-model.ts';
import { brief, startTestPlanner, until, type TestPlanner } from './support/planner.ts';

let planner: TestPlanner;
let session: string;
beforeAll(async () => {
  planner = await startTestPlanner();
  await planner.startWorker();
});
afterAll(() => planner.close());
beforeEach(async () => {
  session = await planner.session();
});

describe('a plain turn', () => {
  test('spec: planner 7.2, 7.19: its outputs are message, text, message, done', async () => {
    planner.model.play(() => [{ words: 'A plan in five words.' }]);
    const turn = await planner.send(session, 'Plan it.');
    expect(await planner.ended(turn)).toMatchObject({ reason: 'end_turn', rounds: 1, message_seq: 1 });
    expect(brief(await planner.outputs(session))).toEqual([
      'message 1',
      'text A plan in five words.',
      'message 2',
      'done end_turn',
    ]);
    expect(await planner.transcript(session)).toMatchObject([
      { seq: 1, role: 'user', author: 'ada', blocks: [{ type: 'text', text: 'Plan it.' }] },
      { seq: 2, role: 'assistant', stop_reason: 'end_turn', blocks: [{ type: 'text', text: 'A plan in five words.' }] },
    ]);
  });

  test('spec: orchestration: it is one activity, its history is small and holds no text', async () => {
    planner.model.play(() => says('sesame answer'));
    const turn = await planner.send(session, 'sesame question');
    await planner.ended(turn);
    const handle = planner.client.workflow.getHandle(`planner-turn-${turn}`);
    await handle.result();
    const history = await handle.fetchHistory();
    const text = JSON.stringify(history);
    expect(history.events!.filter((event) => event.activityTaskScheduledEventAttributes).length).toBe(1);
    expect(text).not.toMatch(/sesame/);
    expect(text).not.toMatch(/c2VzYW1l/); // base64 of it
    expect(history.events!.length).toBeLessThan(15);
  });

  test('spec: planner 7.10: the session is free before done is told', async () => {
    planner.model.play(() => says('one'));
    const first = await planner.send(session, 'first');
    await planner.seen(session, (outputs) => outputs.some(({ body }) => body.type === 'done'));
    // Both are there from one moment on: what a transaction wrote carries its number.
    const written = await planner.database.query(
      `SELECT o.xmin = t.xmin AS together, t.status FROM planner_turns t
       JOIN planner_outputs o ON o.turn_id = t.id AND o.type = 'done' WHERE t.id = $1`,
      [first],
    );
    expect(written).toEqual([{ together: true, status: 'ended' }]);
    planner.model.play(() => says('two'));
    await planner.ended(await planner.send(session, 'second'));
    expect((await planner.transcript(session)).map((message) => message.seq)).toEqual([1, 2, 3, 4]);
  });
});

describe('failures of the provider', () => {
  test('spec: planner 7.17, 7.18: a stream that breaks off is tried again; what watchers saw of the failed attempt is void', async () => {
    const n = planner.model.requests.length;
    planner.model.play((_, at) => (at === n ? [{ text: 'half an ans' }, { wait: 60 }, { cut: true }] : says('whole')));
    const turn = await planner.send(session, 'go');
    expect(await planner.ended(turn)).toMatchObject({ reason: 'end_turn' });
    const outputs = await planner.outputs(session);
    expect(brief(outputs)).toEqual([
      'message 1',
      'text half an ans',
      'retrying cut stream',
      'text whole',
      'message 2',
      'done end_turn',
    ]);
    expect(outputs.map((output) => output.attempt)).toEqual([1, 1, 2, 2, 2, 2]);
    expect((await planner.transcript(session))[1]).toMatchObject({ blocks: [{ text: 'whole' }] });
  });

  test('spec: planner 7.15, 7.16: a bad credential ends the turn with an error that a human can act on', async () => {
    planner.model.play(() => fails(401, 'bad key'));
    const turn = await planner.send(session, 'go');
    expect(await planner.ended(turn)).toMatchObject({ reason: 'error' });
    const lines = brief(await planner.outputs(session));
    expect(lines[0]).toBe('message 1');
    expect(lines[1]).toMatch(/^error .*PLANNER_MODEL_API_KEY/);
    expect(lines[2]).toBe('done error');
    planner.model.play(() => says('better'));
    expect(await planner.ended(await planner.send(session, 'again'))).toMatchObject({ reason: 'end_turn' });
  });

  test('garbage is read three times, then the turn ends with an error', async () => {
    planner.model.play(() => ({ status: 200, headers: { 'content-type': 'text/html' }, body: '<html>no API here</html>' }));
    const n = planner.model.requests.length;
    const turn = await planner.send(session, 'go');
    expect(await planner.ended(turn)).toMatchObject({ reason: 'error' });
    expect(planner.model.requests.length - n).toBe(3);
    expect(brief(await planner.outputs(session))).toEqual([
      'message 1',
      'retrying bad response',
      'retrying bad response',
      expect.stringMatching(/^error .*PLANNER_MODEL_BASE_URL/),
      'done error',
    ]);
  });

  test('a 500 is tried again until it is mended', async () => {
    const n = planner.model.requests.length;
    planner.model.play((_, at) => (at < n + 3 ? fails(500) : says('mended')));
    const turn = await planner.send(session, 'go');
    expect(await planner.ended(turn)).toMatchObject({ reason: 'end_turn', rounds: 1 });
    expect(brief(await planner.outputs(session)).filter((line) => line.startsWith('retrying'))).toHaveLength(3);
  });

  test('spec: planner 7.16: a Retry-After beyond the remaining time ends the turn and says when to try again', async () => {
    planner.model.play(() => fails(429, 'slow down', { 'retry-after': '3600' }));
    const turn = await planner.send(session, 'go');
    await planner.ended(turn);
    expect(brief(await planner.outputs(session))[1]).toMatch(/^error .*again at \d{4}-\d\d-\d\dT/);
  });

  test('a Retry-After of 0 is tried again', async () => {
    const n = planner.model.requests.length;
    planner.model.play((_, at) => (at < n + 2 ? fails(429, 'slow down', { 'retry-after': '0' }) : says('now')));
    expect(await planner.ended(await planner.send(session, 'go'))).toMatchObject({ reason: 'end_turn' });
    expect(planner.model.requests.length - n).toBe(3);
  });

  test('a Retry-After is obeyed', async () => {
    const n = planner.model.requests.length;
    planner.model.play((_, at) => (at === n ? fails(429, 'slow down', { 'retry-after': '1' }) : says('now')));
    await planner.ended(await planner.send(session, 'go'));
    const [first, second] = planner.model.requests.slice(n);
    expect(second!.at - first!.at).toBeGreaterThan(950);
  });
});

describe('cancel', () => {
  test('spec: planner 7.11, 7.12: a stop in mid-answer closes the provider and keeps what was streamed', async () => {
    planner.model.play(() => [{ text: 'Once upon' }, { hang: true }]);
    const n = planner.model.requests.length;
    const turn = await planner.send(session, 'tell');
    await planner.seen(session, (outputs) => outputs.some((output) => output.body.type === 'text'));
    await planner.cancel(session, turn);
    await planner.ended(turn);
    expect(planner.model.requests[n]!.closedAt).toBeDefined();
    expect(brief(await planner.outputs(session))).toEqual([
      'message 1',
      'text Once upon',
      'message 2',
      'done cancelled',
    ]);
    expect((await planner.transcript(session))[1]).toMatchObject({ stop_reason: 'cancelled', blocks: [{ text: 'Once upon' }] });
  });

  test('spec: planner 7.11: a stop before anything was streamed leaves no message', async () => {
    planner.model.play(() => [{ hang: true }]);
    const turn = await planner.send(session, 'tell');
    await until('the turn to be active', async () => (await planner.turn(turn)).status === 'active');
    await planner.cancel(session);
    await planner.ended(turn);
    expect(brief(await planner.outputs(session))).toEqual(['message 1', 'done cancelled']);
  });

  test('spec: planner 7.13: cancelling an idle session, or another turn than the running one, does nothing', async () => {
    planner.model.play(() => says('fine'));
    const first = await planner.send(session, 'one');
    await planner.ended(first);
    await planner.cancel(session);
    planner.model.play(() => [{ wait: 300 }, { text: 'still here' }]);
    const second = await planner.send(session, 'two');
    await planner.cancel(session, first);
    expect(await planner.ended(second)).toMatchObject({ reason: 'end_turn' });
  });

  test('a cancellation from the engine itself is the same cancel', async () => {
    planner.model.play(() => [{ text: 'Once' }, { hang: true }]);
    const turn = await planner.send(session, 'tell');
    await planner.seen(session, (outputs) => outputs.some((output) => output.body.type === 'text'));
    await planner.client.workflow.getHandle(`planner-turn-${turn}`).cancel();
    await planner.ended(turn);
    expect(brief(await planner.outputs(session)).slice(1)).toEqual(['text Once', 'message 2', 'done cancelled']);
  });
});