// What the page's views of runs compute: the live run, its clocks, what may go on, drafts, artifacts as rows.

import { describe, expect, test } from 'vitest';
import { roles as bindingRoles, roleGrants } from '../domain/actor.ts';
import { hosts, roles } from '../domain/bounded/identity.ts';
import { packetProblems } from '../domain/bounded/packet.ts';
import { packetTemplate } from '../domain/bounded/packet-template.ts';
import type { RunOutput } from '../client/index.ts';
import { touched } from '../web/src/data/touched.ts';
import { eventRows, metadataRows } from '../web/src/runs/artifact-rows.ts';
import { draftOf, emptyDraft, newRunOf } from '../web/src/runs/draft.ts';
import { clocksOf, emptyLive, foldRun, type LiveRun } from '../web/src/runs/live-run.ts';
import { checkPacket, lineRange, template } from '../web/src/runs/packet-check.ts';
import { runRightsIn } from '../web/src/runs/rules.ts';
import * as words from '../web/src/runs/words.ts';
import { packet } from './support/bounded-attempt.ts';

type Body = RunOutput extends infer Output
  ? Output extends RunOutput
    ? Omit<Output, 'subscription' | 'run' | 'output'>
    : never
  : never;

const folded = (bodies: Body[], now = 0): LiveRun =>
  bodies.reduce<LiveRun>(
    (live, body, index) => foldRun(live, { subscription: 's', run: 'r', output: index + 1, ...body } as RunOutput, now),
    emptyLive,
  );

describe('a run that goes on', () => {
  test('its text grows, begins anew when it is replaced, and is the present attempt’s alone', () => {
    const first: Body[] = [
      { type: 'text', attempt: 1, text: '# Plan' },
      { type: 'text', attempt: 1, text: ' Checkpoint' },
    ];
    expect(folded(first)).toMatchObject({ attempt: 1, text: '# Plan Checkpoint' });
    expect(folded([...first, { type: 'text', attempt: 1, text: 'Anew', replace: true }]).text).toBe('Anew');
    const second = folded([...first, { type: 'status', attempt: 2, phase: 'starting' }]);
    expect(second).toMatchObject({ attempt: 2, text: '' });
  });

  test('its clocks go on by themselves between two events, and stand for nothing while no CLI runs', () => {
    const status: Body = {
      type: 'status',
      attempt: 1,
      phase: 'writing',
      elapsed_ms: 5_000,
      last_event_age_ms: 200,
      visible_characters: 12,
    };
    const live = folded([status], 1_000);
    expect(clocksOf(live, 3_000)).toEqual({ elapsed: 7_000, sinceEvent: 2_200, characters: 12 });
    expect(clocksOf(live, 500)).toEqual({ elapsed: 5_000, sinceEvent: 200, characters: 12 });
    expect(clocksOf(folded([status, { type: 'status', attempt: 1, phase: 'backing off' }]), 0)).toBeUndefined();
    expect(clocksOf(folded([status, { type: 'done', attempt: 1, status: 'succeeded' }]), 0)).toBeUndefined();
  });

  test('an attempt that failed and the wait for the next one are told until that has begun', () => {
    const failed: Body[] = [
      { type: 'attempt_failed', attempt: 1, failure_kind: 'upstream_error', failure_detail: '529' },
      { type: 'waiting', attempt: 1, wait_ms: 4_000 },
    ];
    expect(folded(failed, 1_000)).toMatchObject({ nextAt: 5_000, failed: [{ failure_kind: 'upstream_error' }] });
    const next: Body = { type: 'status', attempt: 2, phase: 'waiting', elapsed_ms: 10 };
    expect(folded([...failed, next], 1_000).nextAt).toBeUndefined();
  });

  test('what is told after its end belongs to a resume: the old end and its notes are gone', () => {
    const ended: Body[] = [
      { type: 'warning', attempt: 1, text: 'redacted' },
      { type: 'error', attempt: 1, text: 'why' },
      { type: 'done', attempt: 1, status: 'failed', failure_kind: 'authentication' },
    ];
    expect(folded(ended)).toMatchObject({ error: 'why', done: { status: 'failed' } });
    const again = folded([...ended, { type: 'status', attempt: 1, phase: 'starting' }]);
    expect(again).toMatchObject({ warnings: [], failed: [], status: { told: { phase: 'starting' } } });
    expect(again.done).toBeUndefined();
    expect(again.error).toBeUndefined();
  });
});

test('spec: bounded-claude 1: a failed or cancelled run may spend what is left of its budget, at least 0.05', () => {
  const run = { status: 'failed', budget_usd: 2, cost_usd: 0.5 } as const;
  expect(words.resumable(run)).toEqual({ yes: true, left: 1.5 });
  expect(words.resumable({ ...run, status: 'cancelled' })).toEqual({ yes: true, left: 1.5 });
  expect(words.resumable({ ...run, cost_usd: 1.96 })).toMatchObject({ yes: false, why: /1\.96 USD of 2\.00 USD/ });
  for (const status of ['pending', 'running', 'succeeded', 'rejected'] as const) {
    expect(words.resumable({ ...run, status })).toBeUndefined();
  }
});

test('spec: planner 5: who may start and stop a run is who the API lets', () => {
  const project = { key: 'WEB', organization: 'acme' };
  for (const role of bindingRoles) {
    expect(runRightsIn(project, [{ role, project: 'WEB' }])).toEqual({
      start: roleGrants(role, 'bounded_run.start'),
      cancel: roleGrants(role, 'bounded_run.cancel'),
    });
    expect(runRightsIn(project, [{ role, project: 'APP' }])).toEqual({ start: false, cancel: false });
  }
  expect(words.roles).toEqual([...roles]);
  expect([...words.hosts].sort()).toEqual([...hosts].sort());
});

test('an event of a run makes the runs stale, and nothing else', () => {
  expect(touched('WEB', { type: 'bounded_run.ended' })).toEqual([['runs']]);
  expect(touched('WEB', { type: 'revalidation.ended' })).toEqual([['validations']]);
  expect(touched('WEB', { type: 'revalidation_schedule.changed' })).toEqual([['validations']]);
});

describe('a draft', () => {
  test('sends what was chosen, and leaves out what takes its default', () => {
    expect(newRunOf({ ...emptyDraft, repo: 'shop', packet })).toEqual({
      repo: 'shop',
      host: 'codex',
      role: 'deep_reasoner',
      packet,
    });
    const limits = { max_budget_usd: '0.5', resume_attempts: '0' };
    const chosen = { run_id: ' one ', demo: true, allow_unverified: true };
    expect(newRunOf({ ...emptyDraft, ...limits, ...chosen })).toMatchObject({
      run_id: 'one',
      max_budget_usd: 0.5,
      resume_attempts: 0,
      demo: true,
      allow_unverified: true,
    });
  });

  test('of a run that was takes its packet and people’s choices, not its name', () => {
    const run = { packet, repo: 'shop', host: 'claude_code', role: 'arbiter', demo: false };
    expect(draftOf(run)).toEqual({ ...emptyDraft, ...run });
  });
});

describe('the packet editor', () => {
  test('spec: bounded-claude 2: says of each packet what the API’s check says', async () => {
    for (const text of [packet, '', packet.replace('## Goal', '## Aim'), await template(), `x${packet}`]) {
      expect(await checkPacket(text)).toEqual(await packetProblems(text));
    }
    expect(await checkPacket(packet)).toEqual([]);
    expect((await checkPacket(packet, 100)).map(({ code }) => code)).toEqual(['too_long']);
    expect(await template()).toBe(packetTemplate());
  });

  test('finds the line of a problem', () => {
    const text = 'one\ntwo\n\nfour';
    const line = (number: number): string => {
      const { start, end } = lineRange(text, number);
      return text.slice(start, end);
    };
    expect([1, 2, 3, 4, 9].map(line)).toEqual(['one', 'two', '', 'four', 'four']);
  });
});

describe('artifacts', () => {
  test('metadata.json is told field by field, nested ones by their path', () => {
    const metadata = { run_id: 'one', failure_kind: null, verified: true, observed: { models: ['a', 'b'] }, usage: {} };
    expect(metadataRows(JSON.stringify(metadata))).toEqual([
      { name: 'run id', value: 'one' },
      { name: 'failure kind', value: 'none' },
      { name: 'verified', value: 'yes' },
      { name: 'observed · models', value: 'a, b' },
      { name: 'usage', value: 'none' },
    ]);
    expect(() => metadataRows('[]')).toThrow('no object');
  });

  test('events.jsonl is told event by event; a line that is cut is shown as it is', () => {
    const first = { at: '2026-01-01T00:00:00.000Z', n: 1, type: 'system', subtype: 'init', tools: [] };
    expect(eventRows(`${JSON.stringify(first)}\n{"n":2,"ty`)).toEqual([
      { n: '1', at: first.at, type: 'system init', rest: 'tools none' },
      { n: '2', type: '', rest: '{"n":2,"ty' },
    ]);
    expect(eventRows('')).toEqual([]);
  });
});

test('times, ages and costs are told as people read them', () => {
  expect([0, 42_900, 723_000, 3_723_000].map(words.clock)).toEqual(['0:00', '0:42', '12:03', '1:02:03']);
  const ages = ['just now', 'just now', '3 min. ago', '2 hr. ago'];
  expect([0, 59_999, 180_000, 7_200_000].map(words.ageWords)).toEqual(ages);
  expect([0, 0.0042, 1.5].map(words.money)).toEqual(['0.00 USD', '0.0042 USD', '1.50 USD']);
  expect(words.costWords({ cost_usd: 0.2, cost_estimated: true })).toBe('about 0.20 USD');
});
