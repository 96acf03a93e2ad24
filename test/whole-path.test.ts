// The whole path, by a client through WebSocket and REST: ask for a plan, watch it come, review, apply, see the items.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startApi, type Api } from '../api/server.ts';
import { connect, createRest, emptyView, fold, proposedChangesets, textSoFar, type Output, type Realtime, type Rest, type TurnView } from '../client/index.ts';
import { startDemoModel, type DemoServer } from '../models/demo/server.ts';
import { transaction } from '../store/database.ts';
import { listen, type Listener } from '../store/listener.ts';
import { createToken } from '../store/tokens.ts';
import { ada, startTestPlanner, until, type TestPlanner } from './support/planner.ts';
import { calls, inTurn, type Script } from './support/scripted-model.ts';

let planner: TestPlanner;
let listener: Listener;
let api: Api;
let demo: DemoServer;
let token: string;
beforeAll(async () => {
  planner = await startTestPlanner();
  demo = await startDemoModel({ port: 0, delayMs: 0 });
  listener = await listen(planner.url);
  api = await startApi({
    database: planner.database,
    listener,
    engine: planner.engine,
    port: 0,
    model: { name: 'test', demo: true },
    checkAnswers: true,
    temporal: { ui: 'http://127.0.0.1:8233', namespace: planner.temporal.namespace },
  });
  ({ token } = await transaction(planner.database, (tx) =>
    createToken(tx, { subject: ada.subject, expires_at: new Date(Date.now() + 3_600_000) }),
  ));
});
afterAll(async () => {
  await api.close();
  await listener.close();
  await demo.close();
  await planner.close();
});

interface Person {
  rest: Rest;
  realtime: Realtime;
  /** Sends and watches until `done`. */
  ask(session: string, text: string): Promise<{ view: TurnView; numbers: number[]; turn: string }>;
}

function person(): Person {
  const rest = createRest({ address: api.address, token });
  const realtime = connect({ address: api.address, token });
  return {
    rest,
    realtime,
    async ask(session, text) {
      let view: TurnView = emptyView;
      const numbers: number[] = [];
      const done = new Promise<void>((resolve) => {
        const feed = realtime.watch(session, {
          onOutput(output) {
            view = fold(view, output);
            numbers.push(output.output);
            if (output.type === 'done') {
              feed.close();
              resolve();
            }
          },
        });
      });
      const { turn } = await realtime.send({ session, text });
      await done;
      return { view, numbers, turn };
    },
  };
}

async function planAndApply(text: string, titles: string[]): Promise<void> {
  const { rest, realtime, ask } = person();
  const me = await rest.me();
  expect(me.subject).toBe('ada');
  const session = await rest.createSession('WEB');
  const { view, numbers, turn } = await ask(session.id, text);
  expect(textSoFar(view).length).toBeGreaterThan(0);
  expect(numbers).toEqual(numbers.map((_, index) => index + 1));
  const [proposed] = proposedChangesets(view);
  expect(proposed).toBeDefined();
  const changeset = await rest.changeset(proposed!);
  expect(changeset.status).toBe('proposed');
  const before = await rest.items('WEB');
  expect(before.items.map((item) => item.title)).not.toContain(titles[0]);
  const applied = await rest.applyChangeset(proposed!, { operations: changeset.operations.map((_, index) => index) });
  expect(applied.status).toBe('applied');
  const after = await rest.items('WEB');
  expect(after.items.map((item) => item.title)).toEqual(expect.arrayContaining(titles));
  const { items: turns } = await rest.turns(session.id);
  expect(turns[0]).toMatchObject({ id: turn, status: 'ended', reason: 'end_turn' });
  const transcript = await rest.session(session.id);
  expect(transcript.messages.length).toBeGreaterThanOrEqual(4);
  realtime.close();
}

describe('the whole path', () => {
  test('on a scripted model', async () => {
    const script: Script = inTurn(
      calls('list_items', {}),
      calls('propose_changeset', {
        title: 'Search',
        operations: [
          { kind: 'create_item', ref: 'e', create: { kind: 'epic', title: 'Search epic' } },
          { kind: 'create_item', ref: 't', create: { kind: 'ticket', title: 'Index the catalogue', epic: '$e' } },
        ],
      }),
      [{ words: 'I propose an epic with one ticket.', delayMs: 5 }],
    );
    planner.model.play(script);
    const worker = await planner.startWorker();
    await planAndApply('Plan the search.', ['Search epic', 'Index the catalogue']);
    await worker.close();
  });

  test('on the demo model', async () => {
    const worker = await planner.startWorker({
      settings: {
        baseUrl: `${demo.address}/v1`,
        apiKey: '',
        model: 'demo-planner',
        maxTokens: 8_192,
        callTimeoutMs: 60_000,
        silentStreamMs: 20_000,
      },
    });
    const text = 'Goal: Launch the newsletter\n\n- Choose a mail provider\n- Design the sign-up form\n- Send the first issue';
    await planAndApply(text, ['Choose a mail provider', 'Design the sign-up form', 'Send the first issue']);
    await worker.close();
  });

  test('spec: planner 7.20: a client that reconnects in mid-answer gets all outputs, no gap, no duplicate, from whichever API process', async () => {
    const words = Array.from({ length: 60 }, (_, index) => `w${index}`).join(' ');
    planner.model.play(() => [{ words, delayMs: 10 }]);
    const worker = await planner.startWorker();
    const otherListener = await listen(planner.url);
    const other = await startApi({
      database: planner.database,
      listener: otherListener,
      engine: planner.engine,
      port: 0,
      model: { name: 'test', demo: false },
    });
    const { rest, realtime } = person();
    const session = await rest.createSession('WEB');
    const seen: Output[] = [];
    const feed = realtime.watch(session.id, {
      onOutput: (output) => void seen.push(output),
    }, { from_output: 0 });
    await realtime.send({ session: session.id, text: 'count' });
    await until('ten outputs', async () => seen.length >= 10);
    feed.close();
    realtime.close();
    const again = connect({ address: other.address, token });
    const from = seen.at(-1)!.output;
    await new Promise<void>((resolve) => {
      again.watch(session.id, {
        onOutput(output) {
          seen.push(output);
          if (output.type === 'done') resolve();
        },
      }, { from_output: from });
    });
    again.close();
    await other.close();
    await otherListener.close();
    expect(seen.map((one) => one.output)).toEqual(seen.map((_, index) => index + 1));
    expect(seen.map((one) => (one.type === 'text' ? one.text : '')).join('')).toContain(words);
    await worker.close();
  });
});
