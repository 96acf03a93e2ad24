// `partner revalidate`: the release check of the bounded runner, now or by a schedule (spec: bounded-claude 9).

import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createRest, errorCode, type Rest, type Revalidation, type RevalidationSchedule } from '../../client/index.ts';
import { examine } from '../../bounded/revalidation-check.ts';
import type { Host, Role } from '../../domain/bounded/identity.ts';
import { defaultBudget, readLimits } from '../../domain/bounded/limits.ts';
import { plannedRuns } from '../../domain/revalidation/contract.ts';
import { readCron } from '../../domain/revalidation/cron.ts';
import { age, clean, cleanLine, problemText, table } from '../print.ts';
import { isHeld } from '../stack/detached.ts';
import type { Environment } from '../target.ts';
import { catchInterrupts } from './interrupts.ts';
import { stackFolder } from './options.ts';
import { reach, type Base } from './reach.ts';
import { exitCodes, faultsOf, reject, Rejection, type Fault } from './reject.ts';
import { aliasOf } from './repositories.ts';

export interface RevalidateOptions {
  /** Real path. */
  repo: string;
  host: Host;
  role: Role;
  maxBudgetUsd?: number;
  demo?: boolean;
  detach?: boolean;
  json?: boolean;
}

export interface ScheduleOptions extends RevalidateOptions {
  schedule: string;
  jitter?: number;
  catchup?: number;
  note?: string;
}

export interface Door {
  env: Environment;
  print(text: string): void;
  say(line: string): void;
}

/** Re-validates now, and stays to the end. Returns the exit code. @throws Rejection and the client's errors */
export async function revalidate(options: RevalidateOptions, door: Door): Promise<number> {
  const interrupts = catchInterrupts();
  try {
    await checkHere(options, door.env, []);
    const { rest, alias } = await at(options, door);
    const { host, role, demo } = options;
    const each = options.maxBudgetUsd ?? defaultBudget;
    const most = `${plannedRuns.length} near-limit runs, at most ${plannedRuns.length * each} USD in all`;
    door.say(demo ? 'DEMO: a scripted CLI answers by rule. No model is asked, nothing is paid.' : `${most}.`);
    const { validation_id: id, workflow_id, workflow_url } = await rest.startRevalidation({
      repo: alias,
      host,
      role,
      ...(options.maxBudgetUsd === undefined ? {} : { max_budget_usd: options.maxBudgetUsd }),
      ...(demo ? { demo } : {}),
    });
    door.say(`re-validation ${id} (workflow ${workflow_url ?? workflow_id})`);
    if (options.detach) {
      door.print(options.json ? JSON.stringify({ validation_id: id, workflow_id }) : id);
      return exitCodes.created;
    }
    let left: number | undefined;
    interrupts.on((_, exitCode) => void (left = exitCode));
    const ended = await follow(rest, id, door, () => left !== undefined);
    if (ended) return end(ended, options, door);
    const how = `See it: partner revalidate --report ${id} · stop it: partner revalidate --cancel ${id}`;
    door.say(`It goes on by itself. ${how}`);
    return left ?? exitCodes.cancelled;
  } finally {
    interrupts.close();
  }
}

/** What is wrong here is told before a stack is started. */
async function checkHere(options: RevalidateOptions, env: Environment, found: Fault[]): Promise<void> {
  const { repo, host, role, maxBudgetUsd } = options;
  const limits = readLimits(maxBudgetUsd === undefined ? {} : { max_budget_usd: maxBudgetUsd });
  if (!limits.ok) found.push(...limits.problems.map((message) => ({ code: 'limit', message })));
  const what = { repo, name: path.basename(repo), host, role, demo: options.demo === true, env };
  const { problems, cli } = await examine(what);
  // A stack that runs has its own environment, and may find a CLI that this command does not.
  const runs = env['PLANNER_ADDRESS'] !== undefined || isHeld(stackFolder(env));
  const ours = runs ? problems.filter((text) => !isCli(text, cli)) : problems;
  found.push(...ours.map((message) => ({ code: 'revalidation', message })));
  if (found.length > 0) throw new Rejection(found);
}

const isCli = (problem: string, cli: unknown): boolean =>
  cli === undefined && /PARTNER_CLAUDE_BIN|`claude`/.test(problem);

async function at(options: RevalidateOptions, { env, say }: Door): Promise<{ rest: Rest; alias: string; base: Base }> {
  try {
    const base = await reach(env, say);
    const rest = createRest(base);
    return { rest, base, alias: await aliasOf(rest, base, options.repo, say) };
  } catch (error) {
    const code = faultsOf(error) ? undefined : errorCode(error);
    throw code === undefined ? error : reject(code, problemText(error));
  }
}

const lookMs = 500;

/** Says what it does as it does it; undefined: the caller leaves. */
async function follow(rest: Rest, id: string, { say }: Door, leaves: () => boolean): Promise<Revalidation | undefined> {
  let phase = '';
  let told = 0;
  while (!leaves()) {
    const now = await rest.revalidation(id);
    if (now.phase !== phase && now.ended_at === null) say(`${now.phase}`);
    phase = now.phase;
    const done = now.attempts.filter(({ outcome }) => outcome !== 'running');
    for (const one of done.slice(told)) say(`  attempt ${one.number}: ${attemptText(one)}`);
    told = Math.max(told, done.length);
    if (now.ended_at !== null) return now;
    await sleep(lookMs);
  }
  return undefined;
}

const attemptText = ({ purpose, outcome, kind, cost_usd, duration_ms }: Revalidation['attempts'][number]): string => {
  const seconds = (duration_ms / 1_000).toFixed(1);
  const why = kind && kind !== outcome ? ` (${kind})` : '';
  return `${purpose}: ${outcome}${why}, ${cost_usd.toFixed(4)} USD, ${seconds} s`;
};

function end(ended: Revalidation, { json, repo }: RevalidateOptions, { print, say }: Door): number {
  if (ended.status === 'rejected') {
    throw new Rejection(ended.problems.map((message) => ({ code: 'preflight', message })));
  }
  if (json) print(JSON.stringify(ended));
  else {
    say(`${claimText(ended)}:`);
    for (const reason of ended.reasons) say(`  ${clean(reason)}`);
    for (const { id, kind, detail } of ended.failures) say(`  failure ${id}: ${kind}. ${cleanLine(detail, 200)}`);
    const how = `partner revalidate --ack ${ended.validation_id} --note "what it was"`;
    if (ended.claim === 'pending') say(`Inspect each, then: ${how}`);
    print(path.join(repo, '.partner/validations', ended.validation_id, 'report.md'));
  }
  if (ended.status === 'cancelled') return exitCodes.cancelled;
  return ended.claim === 'holds' ? exitCodes.created : exitCodes.failed;
}

const claimText = ({ claim }: Pick<Revalidation, 'claim'>): string =>
  `The claim ${claim === 'holds' || claim === 'fails' ? claim : `is ${claim}`}`;

/** Schedules it. @throws Rejection and the client's errors */
export async function schedule(options: ScheduleOptions, door: Door): Promise<void> {
  const cron = readCron(options.schedule);
  await checkHere(options, door.env, cron.ok ? [] : [{ code: 'schedule', message: cron.problem }]);
  const { rest, alias } = await at(options, door);
  const { host, role, demo, jitter, catchup, note, maxBudgetUsd } = options;
  const made = await rest.createRevalidationSchedule({
    repo: alias,
    host,
    role,
    cron: options.schedule,
    ...(demo ? { demo } : {}),
    ...(maxBudgetUsd === undefined ? {} : { max_budget_usd: maxBudgetUsd }),
    ...(jitter === undefined ? {} : { jitter_seconds: jitter }),
    ...(catchup === undefined ? {} : { catchup_seconds: catchup }),
    ...(note === undefined ? {} : { note }),
  });
  if (options.json) return door.print(JSON.stringify(made));
  door.say(`scheduled: ${made.cron} (UTC); next ${made.next_times.slice(0, 3).join(', ')}`);
  door.print(made.id);
}

export type Action =
  | { do: 'list' }
  | { do: 'report' | 'cancel'; id: string }
  | { do: 'ack'; id: string; note?: string }
  | { do: 'pause' | 'resume' | 'delete' | 'trigger'; id: string }
  | { do: 'backfill'; id: string; from: string; to: string };

/** What is done with those that there are. Errors: the client's. */
export async function act(action: Action, json: boolean, { env, print, say }: Door): Promise<void> {
  const rest = createRest(await reach(env, say));
  switch (action.do) {
    case 'list':
      return print(await list(rest, json));
    case 'report':
      return print(await rest.revalidationReport(action.id, { form: json ? 'json' : 'md' }));
    case 'cancel':
      await rest.cancelRevalidation(action.id);
      if (json) return print(JSON.stringify({ validation_id: action.id }));
      return print(`Re-validation ${action.id} is being cancelled.`);
    case 'ack':
      return print(await acknowledge(rest, action, json));
    case 'pause':
    case 'resume': {
      const changed = await rest.updateRevalidationSchedule(action.id, { paused: action.do === 'pause' });
      const next = changed.paused ? 'It is paused.' : `Next: ${changed.next_times[0] ?? 'not known yet'}.`;
      return print(json ? JSON.stringify(changed) : next);
    }
    case 'delete':
      await rest.deleteRevalidationSchedule(action.id);
      return print(json ? JSON.stringify({ id: action.id }) : 'It is deleted. What is under way goes on.');
    case 'trigger':
      await rest.triggerRevalidationSchedule(action.id);
      return print(json ? JSON.stringify({ id: action.id }) : 'It begins now. See it: partner revalidate --list');
    case 'backfill': {
      const { times } = await rest.backfillRevalidationSchedule(action.id, { from: action.from, to: action.to });
      if (json) return print(JSON.stringify({ id: action.id, times }));
      return print(`Made up for, one after another: ${times.join(', ')}`);
    }
  }
}

async function acknowledge(rest: Rest, { id, note }: { id: string; note?: string }, json: boolean): Promise<string> {
  const [, validation = id, number] = /^(.+)\.(\d+)$/.exec(id) ?? [];
  await rest.acknowledgeRevalidation(validation, {
    ...(number === undefined ? {} : { failure: Number(number) }),
    ...(note === undefined ? {} : { note }),
  });
  const now = await rest.revalidation(validation);
  if (json) return JSON.stringify(now);
  const open = now.failures.filter(({ inspected_by }) => inspected_by === null);
  const more = open.length > 0 ? ` Still open: ${open.map((failure) => failure.id).join(', ')}.` : '';
  return clean(`Recorded. ${claimText(now)}.${more}`);
}

async function list(rest: Rest, json: boolean): Promise<string> {
  const [{ items: schedules }, { items }] = await Promise.all([
    rest.revalidationSchedules(),
    rest.revalidations({ limit: 20 }),
  ]);
  if (json) return JSON.stringify({ schedules, items }, null, 2);
  return [schedulesText(schedules), validationsText(items, Date.now())].join('\n\n');
}

function schedulesText(schedules: readonly RevalidationSchedule[]): string {
  if (schedules.length === 0) return 'No schedules. "partner revalidate --schedule CRON" makes one.';
  const rows = schedules.map((one) => [
    one.id,
    one.repo,
    `${one.role} on ${one.host}`,
    one.cron,
    one.paused ? 'paused' : one.in_effect ? (one.next_times[0] ?? 'never') : 'on its way to Temporal',
  ]);
  return table(['schedule', 'repo', 'role', 'cron (UTC)', 'next'], rows);
}

function validationsText(items: readonly Revalidation[], now: number): string {
  if (items.length === 0) return 'No re-validations yet.';
  const rows = items.map((one) => [
    one.validation_id,
    one.repo,
    `${one.role} on ${one.host}`,
    one.ended_at === null ? cleanLine(one.phase, 40) : one.status,
    one.claim,
    String(one.failures.filter(({ inspected_by }) => inspected_by === null).length),
    one.demo ? 'demo' : one.cost_usd.toFixed(2),
    age(one.created_at, now),
  ]);
  return table(['re-validation', 'repo', 'role', 'status', 'claim', 'to inspect', 'USD', 'age'], rows);
}
