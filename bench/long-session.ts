// `npm run bench:long-session`: one conversation of 2,000 messages with compaction, every message a real turn. What a
// turn costs at its end beside what it cost at its begin; there each turn has one of a session of 20 messages beside it,
// so that a machine that gets slower in between is seen as such. Quote the ratios, not the milliseconds.

import { cpus } from 'node:os';
import { startTestPlanner, type TestPlanner } from '../test/support/planner.ts';
import { answers, asksForSummary, seedMessages } from '../test/support/long-session.ts';
import type { Script } from '../test/support/scripted-model.ts';
import { startServers } from '../test/support/servers.ts';
import { ms, p50, p95, table } from './numbers.ts';

const messages = Number(process.env['BENCH_MESSAGES'] ?? 2_000);
/** Messages that are looked at together; two a turn. */
const stretch = Math.min(200, Math.floor(messages / 4) * 2);
const compactAtTokens = 20_000;
const warmUp = 5;

const paragraph = 'The checkout takes cards, and tells the shopper what went wrong when the bank refuses. ';
const question = (n: number): string => `Question ${n} about WEB-${1 + (n % 300)}. ${paragraph.repeat(12)}`;

const summary = `They plan a shop. ${paragraph.repeat(20)}`;
const answer = `An answer. ${paragraph.repeat(12)}`;

const script: Script = (request) => answers(request, asksForSummary(request) ? summary : answer);

interface Sample {
  ms: number;
  /** Characters of the turn's newest model request. */
  sent: number;
  compacted: boolean;
}

async function turn(planner: TestPlanner, session: string, text: string): Promise<Sample> {
  const n = planner.model.requests.length;
  const begun = performance.now();
  const id = await planner.send(session, text);
  const ended = await planner.ended(id, 60_000);
  const took = performance.now() - begun;
  if (ended.reason !== 'end_turn') throw new Error(`a turn ended with ${ended.reason}: ${ended.failure}`);
  const asked = planner.model.requests.slice(n).map(({ body }) => body);
  const sent = JSON.stringify(asked.at(-1)!.messages).length;
  const compacted = asked.some(asksForSummary);
  // Recorded requests are of no more use, and a long run has many.
  for (const request of planner.model.requests.slice(n)) request.body = { model: '', messages: [] };
  return { ms: took, sent, compacted };
}

/** A turn of a session that has 20 messages. */
async function control(planner: TestPlanner, n: number): Promise<Sample> {
  const session = await planner.session();
  await seedMessages(planner.database, session, 20, (seq) => question(seq));
  return turn(planner, session, question(n));
}

async function main(): Promise<void> {
  const endServers = await startServers();
  const planner = await startTestPlanner(script);
  await planner.startWorker({ compactAtTokens });
  for (let n = 0; n < warmUp; n++) await control(planner, n);

  const session = await planner.session();
  const long: Sample[] = [];
  const controls: (Sample | undefined)[] = [];
  for (let n = 0; n < messages / 2; n++) {
    long.push(await turn(planner, session, question(n)));
    const edge = n < stretch / 2 || n >= (messages - stretch) / 2;
    controls.push(edge ? await control(planner, n) : undefined);
  }

  const rows: string[][] = [];
  const plain = (samples: readonly Sample[]): number[] => samples.filter((s) => !s.compacted).map((s) => s.ms);
  const windows: { own: number; mean: number; ratio: number }[] = [];
  for (let from = 0; from < long.length; from += stretch / 2) {
    const samples = long.slice(from, from + stretch / 2);
    const own = plain(samples);
    const mean = samples.reduce((sum, sample) => sum + sample.ms, 0) / samples.length;
    const ratios = samples.flatMap((sample, index) => {
      const beside = controls[from + index];
      return beside && !sample.compacted ? [sample.ms / beside.ms] : [];
    });
    windows.push({ own: p50(own), mean, ratio: p50(ratios) });
    rows.push([
      `${2 * from + 1}-${2 * (from + samples.length)}`,
      ms(p50(own)),
      ms(p95(own)),
      ms(mean),
      String(samples.filter((sample) => sample.compacted).length),
      `${Math.round(samples.reduce((sum, sample) => sum + sample.sent, 0) / samples.length / 1_000)} kB`,
      ratios.length > 0 ? `${p50(ratios).toFixed(2)}x` : '',
    ]);
  }
  const [begin, end] = [windows[0]!, windows.at(-1)!];
  console.log(
    `${cpus().length} cores, Node ${process.version}, ${messages} messages, summarized above ${compactAtTokens} tokens; ` +
      'model without latency\n',
  );
  const head = ['messages', 'turn p50', 'p95', 'mean, all turns', 'compactions', 'request', 'beside a session of 20'];
  console.log(table(head, rows));
  const times = (ratio: number): string => `${ratio.toFixed(2)}x`;
  console.log(`
turn at the end / at the begin: p50 ${times(end.own / begin.own)}, mean of all turns ${times(end.mean / begin.mean)}
turn / turn of a session of 20 beside it (p50 of pairs): ${times(begin.ratio)} at the begin, ${times(end.ratio)} at the end`);
  await planner.close();
  await endServers();
}

await main();
process.exit(0);
