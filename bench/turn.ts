// `npm run bench:turn`: a turn of four model calls and three tool calls against a model without latency, as a user sees it
// at the WebSocket; beside the same loop without durability, and a bare workflow of seven empty activities. The three
// take turns in one run: quote the ratios, not the milliseconds.

import { readFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import { NativeConnection, Worker } from '@temporalio/worker';
import { startApi } from '../api/server.ts';
import { connect, type Realtime } from '../client/index.ts';
import { plannerActor } from '../domain/actor.ts';
import { modelView, toolUses, type ModelMessage, type ToolResultBlock } from '../domain/transcript.ts';
import { streamAnswer, type ModelSettings } from '../models/gateway.ts';
import { callTool, toolSchemas } from '../planner/tools/index.ts';
import { transaction } from '../store/database.ts';
import { listen } from '../store/listener.ts';
import { projectByKey } from '../store/projects.ts';
import { createToken } from '../store/tokens.ts';
import { ada, startTestPlanner, type TestPlanner } from '../test/support/planner.ts';
import { calls, says, type Script } from '../test/support/scripted-model.ts';
import { startServers } from '../test/support/servers.ts';
import { ms, p50, p95, table } from './numbers.ts';

const rounds = Number(process.env['BENCH_ROUNDS'] ?? 40);
const warmUp = 8;
const concurrent = 16;

/** Four calls: two read, one proposes, the last one answers. Which one is due follows from the results in the request. */
const script: Script = ({ messages }) => {
  const since = messages.findLastIndex((message) => message.role === 'user');
  const answered = messages.slice(since).filter((message) => message.role === 'tool').length;
  if (answered === 0) return calls('list_items', {});
  if (answered === 1) return calls('list_runnable', {});
  if (answered === 2) {
    const create = { kind: 'create_item', ref: 'a', create: { kind: 'ticket', title: 'A ticket' } };
    return calls('propose_changeset', { title: 'Bench', operations: [create] });
  }
  return says('The changeset is proposed.');
};

/** One turn through the WebSocket: from the send to `done`; and to the first text. */
async function durable(realtime: Realtime, planner: TestPlanner): Promise<{ whole: number; firstToken: number; turn: string }> {
  const session = await planner.session();
  const begun = performance.now();
  let firstToken = Number.NaN;
  let turn = '';
  const done = new Promise<number>((resolve) => {
    const feed = realtime.watch(session, {
      onOutput(output) {
        if (output.type === 'text' && Number.isNaN(firstToken)) firstToken = performance.now() - begun;
        if (output.type !== 'done') return;
        resolve(performance.now() - begun);
        feed.close();
      },
    });
  });
  ({ turn } = await realtime.send({ session, text: 'Plan it.' }));
  return { whole: await done, firstToken, turn };
}

/** The same calls to the same model, the same tools in the same database, and nothing kept of the conversation. */
async function loop(planner: TestPlanner, settings: ModelSettings): Promise<number> {
  const begun = performance.now();
  const project = await projectByKey(planner.database, 'WEB');
  const messages: ModelMessage[] = [{ role: 'user', blocks: [{ type: 'text', text: 'Plan it.' }] }];
  for (;;) {
    const answer = await streamAnswer(settings, {
      system: 'You plan.',
      messages: modelView(messages),
      tools: toolSchemas(),
      signal: new AbortController().signal,
      onText: () => undefined,
    });
    messages.push({ role: 'assistant', blocks: answer.blocks });
    const asked = toolUses(answer.blocks);
    if (asked.length === 0) return performance.now() - begun;
    const results: ToolResultBlock[] = [];
    for (const call of asked) {
      const result = await transaction(planner.database, (tx) =>
        callTool(
          { tx, project, human: ada, actor: plannerActor('bench', ada.subject), maxOutputCharacters: 60_000 },
          call.name,
          call.input,
        ),
      );
      results.push({ type: 'tool_result', tool_use_id: call.tool_use_id, ...result });
    }
    messages.push({ role: 'user', blocks: results });
  }
}

async function startBareWorker(planner: TestPlanner): Promise<{ run(): Promise<number>; close(): Promise<void> }> {
  const connection = await NativeConnection.connect({ address: planner.temporal.address });
  const worker = await Worker.create({
    connection,
    namespace: planner.temporal.namespace,
    taskQueue: 'bare',
    workflowsPath: fileURLToPath(new URL('./bare/workflow.ts', import.meta.url)),
    activities: { nothing: async () => undefined },
  });
  const ended = worker.run();
  let n = 0;
  return {
    async run() {
      const begun = performance.now();
      await planner.client.workflow.execute('bare', { taskQueue: 'bare', workflowId: `bare-${n++}` });
      return performance.now() - begun;
    },
    async close() {
      worker.shutdown();
      await ended;
      await connection.close();
    },
  };
}

/** From the cancel to the closed connection at the provider, and to `done` at the WebSocket. */
async function stop(realtime: Realtime, planner: TestPlanner): Promise<{ provider: number; seen: number }> {
  const session = await planner.session();
  const n = planner.model.requests.length;
  let cancelled = 0;
  const seen = new Promise<number>((resolve) => {
    const feed = realtime.watch(session, {
      onOutput(output) {
        if (output.type === 'text' && cancelled === 0) {
          cancelled = performance.now();
          void realtime.cancel({ session });
        }
        if (output.type !== 'done') return;
        resolve(performance.now() - cancelled);
        feed.close();
      },
    });
  });
  await realtime.send({ session, text: 'Go on and on.' });
  const whole = await seen;
  return { provider: planner.model.requests[n]!.closedAt! - cancelled, seen: whole };
}

/** Seconds of processor time that a process has used; Linux only, else NaN. */
function cpuSeconds(pid: number): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
    return (Number(fields[11]) + Number(fields[12])) / 100;
  } catch {
    return Number.NaN;
  }
}

async function main(): Promise<void> {
  const endServers = await startServers();
  const planner = await startTestPlanner(script);
  const worker = await planner.spawnWorker();
  const listener = await listen(planner.url);
  const api = await startApi({
    database: planner.database,
    listener,
    engine: planner.engine,
    port: 0,
    model: { name: 'scripted', demo: false },
  });
  const { token } = await transaction(planner.database, (tx) =>
    createToken(tx, { subject: ada.subject, expires_at: new Date(Date.now() + 3_600_000) }),
  );
  const realtime = connect({ address: api.address, token });
  const bare = await startBareWorker(planner);
  const settings: ModelSettings = {
    baseUrl: planner.model.baseUrl,
    apiKey: 'bench',
    model: 'scripted',
    maxTokens: 1_000,
    callTimeoutMs: 60_000,
    silentStreamMs: 20_000,
  };

  const whole: number[] = [];
  const loops: number[] = [];
  const bares: number[] = [];
  let cpu = 0;
  let last = '';
  for (let round = -warmUp; round < rounds; round++) {
    const before = cpuSeconds(worker.pid!);
    const sample = await durable(realtime, planner);
    await new Promise((resolve) => setTimeout(resolve, 30));
    const used = cpuSeconds(worker.pid!) - before;
    const looped = await loop(planner, settings);
    const bared = await bare.run();
    last = sample.turn;
    if (round < 0) continue;
    whole.push(sample.whole);
    loops.push(looped);
    bares.push(bared);
    cpu += used;
  }
  const handle = planner.client.workflow.getHandle(`planner-turn-${last}`);
  await handle.result();
  const { historySize, historyLength } = await handle.describe();

  const begun = performance.now();
  const perSession = 6;
  await Promise.all(
    Array.from({ length: concurrent }, async () => {
      for (let turn = 0; turn < perSession; turn++) await durable(realtime, planner);
    }),
  );
  const throughput = (concurrent * perSession * 1_000) / (performance.now() - begun);

  planner.model.play(() => [{ text: 'At once' }, { wait: 60 }, { text: ' and the rest.' }]);
  const firsts: number[] = [];
  for (let round = 0; round < rounds; round++) firsts.push((await durable(realtime, planner)).firstToken);

  planner.model.play(() => [{ text: 'on ' }, { hang: true }]);
  const stops: { provider: number; seen: number }[] = [];
  for (let round = 0; round < rounds; round++) stops.push(await stop(realtime, planner));

  const ratio = (base: number[]): string => `${(p50(whole) / p50(base)).toFixed(2)}x`;
  console.log(`${cpus().length} cores, Node ${process.version}, ${rounds} rounds after ${warmUp}; model without latency\n`);
  console.log(
    table(
      ['what', 'p50', 'p95', 'durable turn is'],
      [
        ['durable turn (4 model calls, 3 tool calls), send to done', ms(p50(whole)), ms(p95(whole)), ''],
        ['the same loop in process, not durable', ms(p50(loops)), ms(p95(loops)), ratio(loops)],
        ['bare workflow, 7 empty activities', ms(p50(bares)), ms(p95(bares)), ratio(bares)],
      ],
    ),
  );
  console.log(`
first token at the WebSocket, plain turn, send to text: p50 ${ms(p50(firsts))}, p95 ${ms(p95(firsts))}
worker's processor time a turn: ${ms((cpu * 1_000) / rounds)}
history a turn: ${historySize} bytes, ${historyLength} events
${concurrent} sessions side by side: ${throughput.toFixed(1)} turns/s
stop, cancel to the provider's closed connection: p50 ${ms(p50(stops.map((s) => s.provider)))}, p95 ${ms(p95(stops.map((s) => s.provider)))}
stop, cancel to done at the WebSocket: p50 ${ms(p50(stops.map((s) => s.seen)))}, p95 ${ms(p95(stops.map((s) => s.seen)))}`);

  realtime.close();
  await bare.close();
  await api.close();
  await listener.close();
  await planner.close();
  await endServers();
}

await main();
process.exit(0);
