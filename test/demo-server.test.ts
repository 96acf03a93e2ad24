// The demo model as a provider: over HTTP, through the gateway, with the planner's real tools and a real tracker.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { plannerActor, type Principal } from '../domain/actor.ts';
import { type Block, type ModelMessage, textOf, toolUses } from '../domain/transcript.ts';
import { type DemoServer, startDemoModel } from '../models/demo/server.ts';
import { streamAnswer } from '../models/gateway.ts';
import { callTool, toolSchemas } from '../planner/tools/index.ts';
import { applyChangeset, listChangesets } from '../store/changesets.ts';
import { listItems } from '../store/items.ts';
import { createTracker, type Tracker } from './support/tracker.ts';

let demo: DemoServer;
let tracker: Tracker;
beforeAll(async () => {
  demo = await startDemoModel({ port: 0, delayMs: 0 });
  tracker = await createTracker();
});
afterAll(async () => {
  await demo.close();
  await tracker.drop();
});

const settings = (address: string) => ({
  baseUrl: `${address}/v1`,
  apiKey: '',
  model: 'demo-planner',
  maxTokens: 8192,
  callTimeoutMs: 10_000,
  silentStreamMs: 5_000,
});

/** A turn as the planner carries it: model, tools, model, until no call is left. */
async function turn(human: Principal, text: string): Promise<ModelMessage[]> {
  const messages: ModelMessage[] = [{ role: 'user', blocks: [{ type: 'text', text }] }];
  for (let round = 0; round < 20; round++) {
    const { blocks } = await streamAnswer(settings(demo.address), {
      system: 'Plan.', messages, tools: toolSchemas(), signal: new AbortController().signal, onText: () => {},
    });
    messages.push({ role: 'assistant', blocks });
    const calls = toolUses(blocks);
    if (calls.length === 0) return messages;
    const actor = plannerActor('s', human.subject);
    const context = { project: tracker.web, human, actor, maxOutputCharacters: 60_000 };
    const results: Block[] = [];
    for (const call of calls) {
      const outcome = await tracker.run((tx) => callTool({ ...context, tx }, call.name, call.input));
      results.push({ type: 'tool_result', tool_use_id: call.tool_use_id, ...outcome });
    }
    messages.push({ role: 'user', blocks: results });
  }
  throw new Error('no end after 20 rounds');
}

const lastText = (messages: ModelMessage[]): string => textOf(messages.at(-1)?.blocks ?? []);
const plan = 'Plan the web shop:\n1. Catalogue\n2. Cart\n3. Checkout\n- Load test before checkout';

test('a whole turn: it looks, proposes one changeset that can be applied, and then finds all of it', async () => {
  const proposed = await turn(tracker.engineer, plan);
  const { items: changesets } = await listChangesets(tracker.database, tracker.engineer, 'WEB');
  expect(changesets).toMatchObject([{ title: 'Plan: Web shop', status: 'proposed', operations: 8 }]);
  const id = changesets[0]?.id ?? '';
  expect(lastText(proposed)).toContain(id);

  await tracker.run((tx) => applyChangeset(tx, tracker.engineer, id, { operations: [0, 1, 2, 3, 4, 5, 6, 7] }));
  const { items } = await listItems(tracker.database, tracker.engineer, 'WEB', {});
  expect(items.map(({ kind, title }) => `${kind} ${title}`)).toEqual([
    'milestone Web shop', 'ticket Catalogue', 'ticket Cart', 'ticket Checkout', 'ticket Load test',
  ]);

  const again = await turn(tracker.engineer, plan);
  expect(lastText(again)).toContain('in the tracker already');
  expect((await listChangesets(tracker.database, tracker.engineer, 'WEB')).items).toHaveLength(1);
});

test('a question about an item is answered with its title and what blocks it', async () => {
  const text = lastText(await turn(tracker.engineer, 'Show WEB-4'));
  expect(text).toContain('WEB-4: Checkout');
  expect(text).toMatch(/blocked by: .*WEB-3/);
});

test('a human without rights is told so, and the turn ends', async () => {
  const text = lastText(await turn(tracker.viewer, 'Plan a rocket:\n- Engine\n- Tank'));
  expect(text).toContain('I could not propose the changeset');
});

test('it speaks both ways, streamed and whole, reports usage, and lists its model', async () => {
  const url = `${demo.address}/v1/chat/completions`;
  const ask = (body: object) =>
    fetch(url, { method: 'POST', body: JSON.stringify({ model: 'demo-planner', ...body }) });
  const messages = [{ role: 'user', content: 'Hi' }];
  expect(await (await ask({ messages })).json()).toMatchObject({
    choices: [{ message: { content: expect.stringContaining('demo model') as string }, finish_reason: 'stop' }],
    usage: { prompt_tokens: expect.any(Number) as number },
  });
  const streamed = await (await ask({ messages, stream: true, stream_options: { include_usage: true } })).text();
  expect(streamed.split('\n\n').length).toBeGreaterThan(50);
  expect(streamed).toContain('"completion_tokens"');
  expect(streamed.trimEnd().endsWith('data: [DONE]')).toBe(true);
  expect(await (await fetch(`${demo.address}/v1/models`)).json()).toMatchObject({ data: [{ id: 'demo-planner' }] });
  expect((await fetch(`${demo.address}/healthz`)).status).toBe(200);
  expect((await ask({ messages: 'none' })).status).toBe(400);
  expect((await fetch(`${demo.address}/elsewhere`)).status).toBe(404);
});

test('an abort in mid-answer ends the call at once', async () => {
  const slow = await startDemoModel({ port: 0, delayMs: 20 });
  const controller = new AbortController();
  const answer = streamAnswer(settings(slow.address), {
    system: '',
    messages: [{ role: 'user', blocks: [{ type: 'text', text: 'Hi' }] }],
    tools: [],
    signal: controller.signal,
    onText: () => controller.abort('enough'),
  });
  await expect(answer).rejects.toBe('enough');
  await slow.close();
});

test('as a process it prints its address when ready, and ends cleanly on SIGTERM', async () => {
  const path = fileURLToPath(new URL('../models/demo/main.ts', import.meta.url));
  const env = { ...process.env, DEMO_MODEL_PORT: '0' };
  const child = spawn(process.execPath, [path], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
  const ready = JSON.parse(line) as { ready: boolean; address: string };
  expect(ready.ready).toBe(true);
  expect((await fetch(`${ready.address}/healthz`)).status).toBe(200);
  child.kill('SIGTERM');
  expect(await once(child, 'exit')).toEqual([0, null]);
});
