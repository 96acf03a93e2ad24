// A whole re-validation with the real CLI against a stand-in for its API: loopback, a made-up key, a clean home
// (spec: bounded-claude 9).

import { afterAll, beforeAll, expect, test } from 'vitest';
import { acknowledgeRevalidation } from '../../bounded/revalidations.ts';
import { reportSchema } from '../../domain/revalidation/report.ts';
import { demoPlan } from '../support/demo-plan.ts';
import { pinnedClaude, pinnedVersion } from '../support/pinned-claude.ts';
import { ada } from '../support/planner.ts';
import { startTestRevalidations, type TestRevalidations } from '../support/revalidation.ts';
import { startStandIn, type StandIn } from '../support/stand-in-api.ts';

const long = 240_000;
let runs: TestRevalidations;
let api: StandIn;

beforeAll(async () => {
  api = await startStandIn();
  runs = await startTestRevalidations();
  Object.assign(runs.env, {
    PARTNER_CLAUDE_BIN: await pinnedClaude((line) => console.log(line)),
    ANTHROPIC_API_KEY: ['sk', 'ant', 'api03', 'made-up-for-a-loopback-test'].join('-'),
    ANTHROPIC_BASE_URL: api.url,
  });
  await runs.startHost({ tidyMs: 300 });
});
afterAll(async () => {
  expect(runs.living()).toEqual([]);
  await runs.close();
  await api.close();
});

const answer = { do: 'answer', text: demoPlan } as const;
/** Its lines come slowly enough to be interrupted. */
const slow = { ...answer, lineMs: 500 };

test('three near-limit packets, one interrupted and recovered in its session: the claim holds', async () => {
  api.play(answer, slow, answer);
  const id = await runs.validate();
  const ended = await runs.concluded(id, long);
  expect(ended).toMatchObject({ claim: 'holds', failures: [], hashes: { cli_version: pinnedVersion } });
  expect(ended.attempts.map(({ purpose, outcome, kind }) => [purpose, outcome, kind])).toEqual([
    ['fresh', 'valid', null],
    ['interrupted', 'interrupted', 'interrupted'],
    ['recovery', 'valid', null],
    ['fresh', 'valid', null],
  ]);
  const [fresh, interrupted, recovery] = ended.attempts;
  expect(recovery!.session_id).toBe(interrupted!.session_id);
  expect(fresh!.cost_usd).toBeGreaterThan(0);
  expect(api.requests).toHaveLength(4);
  // The session holds the packet: the recovery sends it again as part of the conversation.
  for (const request of api.requests) expect(request).toContain('# Partner Bounded Planning Packet');
  reportSchema.parse(JSON.parse(await runs.reported(id, 'holds')));
}, long);

test('an answer that is no plan at the end: listed, acknowledged, the claim fails', async () => {
  api.play(answer, slow, answer, { ...answer, text: 'I would rather talk about it.' });
  const id = await runs.validate();
  expect(await runs.concluded(id, long)).toMatchObject({
    claim: 'pending',
    failures: [{ attempt: 4, kind: 'protocol_error' }],
  });
  await acknowledgeRevalidation(runs.planner.database, ada, id, { note: 'no plan' });
  await runs.reported(id, 'fails');
}, long);
