// `partner plan`: from a checked request to a plan, a failure with its recovery, or a run that goes on by itself
// (spec: bounded-claude 1).

import { existsSync } from 'node:fs';
import path from 'node:path';
import { createRest, errorCode, type Rest, type RunDetails, type StartedRun } from '../../client/index.ts';
import { findCli } from '../../claude/index.ts';
import { runPath } from '../../domain/bounded/run-id.ts';
import { clean, problemText } from '../print.ts';
import { isHeld } from '../stack/detached.ts';
import { readStack } from '../stack/stack-file.ts';
import type { Environment } from '../target.ts';
import type { Place } from './config.ts';
import { Follow, type Followed } from './follow.ts';
import { catchInterrupts } from './interrupts.ts';
import { stackFolder } from './options.ts';
import { reach, type Base } from './reach.ts';
import { exitCodes, faultsOf, reject, Rejection } from './reject.ts';
import { forRepo, quoted } from './repo.ts';
import type { TypedOptions } from './plan-options.ts';
import { aliasOf, knownAlias } from './repositories.ts';
import { checkRequest, type PlanOptions, type PlanRequest, type Surroundings } from './request.ts';
import { JsonView, PlainView, TerminalView, type RunView, type Screen } from './run-view.ts';

/** Returns the exit code. @throws Rejection and the client's errors */
export async function plan(typed: TypedOptions, env: Environment, screen: Screen, terminal: boolean): Promise<number> {
  const interrupts = catchInterrupts();
  const demo = typed.demo === true;
  const view: RunView = typed.json
    ? new JsonView(screen)
    : terminal
      ? new TerminalView(screen, demo)
      : new PlainView(screen);
  try {
    const { options, place, request } = await checkRequest(typed, env, surroundingsOf(env));
    if (demo) view.note('DEMO: a scripted CLI answers by rule. No model is asked, nothing is paid.');
    const say = (line: string): void => view.note(line);
    const base = await beforehand(reach(env, say));
    const rest = createRest(base);
    const alias = await beforehand(aliasOf(rest, base, place.repo, say));
    // An interruption while the request is on its way is one of the accepted run.
    let early: Parameters<Follow['interrupt']> | undefined;
    interrupts.on((...interruption) => void (early ??= interruption));
    const { started, before } = await begin(rest, alias, request).catch((error: unknown) => {
      if (!faultsOf(error)) view.note('It is not known whether the run was accepted: partner status');
      throw error;
    });
    accepted(options, started, alias, view, screen);
    if (options.detach) return exitCodes.created;
    const from = started.output_number;
    const follow = new Follow(base, { run: started.run, view, from, revive: () => reach(env, say) });
    interrupts.on((what, exitCode) => follow.interrupt(what, exitCode));
    if (early) follow.interrupt(...early);
    const followed = await follow.run().catch((error: unknown): Followed => {
      view.note(problemText(error));
      return { left: true, exitCode: exitCodes.broken };
    });
    if (!followed.left) return end(followed, { place, options, screen, base, before });
    screen.err(left(started.run_id));
    return followed.exitCode;
  } finally {
    view.close();
    interrupts.close();
  }
}

/** Whatever keeps a run from being asked for is a rejection: nothing was paid. */
async function beforehand<T>(work: Promise<T>): Promise<T> {
  return work.catch((error: unknown) => {
    const code = faultsOf(error) ? undefined : errorCode(error);
    throw code === undefined ? error : reject(code, problemText(error));
  });
}

/** Its worker has this environment then, and would find no other CLI than this command does. */
const startsStack = (env: Environment): boolean => !env['PLANNER_ADDRESS'] && !isHeld(stackFolder(env));

interface Begun {
  started: StartedRun;
  /** Attempts that were made earlier. */
  before: number;
}

/** A stack that does not run, or does not answer, knows no run here; it is told of later. */
const surroundingsOf = (env: Environment): Surroundings => ({
  cli: async () => (startsStack(env) ? findCli(env) : undefined),
  async known(repo, runId) {
    const none = { open: false, allowsUnverified: false };
    if (startsStack(env)) return existsSync(stackFolder(env)) ? undefined : none;
    try {
      const rest = createRest(await reach(env, () => undefined));
      const alias = await knownAlias(rest, repo);
      if (alias === undefined) return none;
      const run = await rest.run(runId, { repo: alias });
      return { open: run.ended_at === undefined, allowsUnverified: run.allow_unverified };
    } catch {
      return undefined;
    }
  },
});

async function begin(rest: Rest, alias: string, request: PlanRequest): Promise<Begun> {
  if (request.kind === 'new') return { started: await rest.startRun({ repo: alias, ...request.run }), before: 0 };
  const { run, host, role, packet_sha256, approve } = request.resume;
  const before = await rest.run(run, { repo: alias });
  if (before.host !== host)
    throw reject('host', `Run ${before.run_id} runs on ${before.host}: give --host ${before.host}.`);
  if (before.role !== role) {
    const how = `--role ${before.role} --approve-role ${role} --approval "who, why"`;
    throw reject(
      'role',
      `Run ${before.run_id} runs as ${before.role}. Another role needs an explicit approval: ${how}.`,
    );
  }
  if (before.packet_sha256 !== packet_sha256) {
    const message =
      `The packet is not the one that run ${before.run_id} began with, and a resume keeps its packet. ` +
      'Name that packet, or start a new run.';
    throw reject('packet', message);
  }
  return { started: await rest.resumeRun(before.id, approve ?? {}), before: before.attempts };
}

function accepted(options: PlanOptions, run: StartedRun, alias: string, view: RunView, screen: Screen): void {
  const { run: id, run_id, workflow_id, workflow_url } = run;
  if (options.json) {
    const line = {
      type: 'accepted',
      run: id,
      run_id,
      repo: alias,
      workflow_id,
      workflow_url,
      demo: options.demo === true,
    };
    return screen.out(`${JSON.stringify(line)}\n`);
  }
  view.note(`run ${run_id} (workflow ${workflow_url ?? workflow_id})`);
  if (options.detach) screen.out(`${run_id}\n`);
  if (options.detach) view.note(`It goes on by itself: partner status ${quoted(run_id)}`);
}

const left = (id: string): string =>
  `Run ${id} goes on by itself. See it: partner status ${quoted(id)} · stop it: partner cancel ${quoted(id)}\n`;

interface Ending {
  place: Place;
  options: PlanOptions;
  screen: Screen;
  base: Base;
  before: number;
}

/** Says how the run ended. @throws Rejection */
function end({ run, rejected }: Extract<Followed, { left: false }>, ending: Ending): number {
  const { place, options, screen, base, before } = ending;
  const { repo } = place;
  if (rejected) {
    const problems = run.problems ?? [run.failure_detail ?? 'The run was rejected.'];
    const told = (message: string): string => forRepo(message, repo) + environmentHint(message, base);
    throw new Rejection(problems.map((message) => ({ code: 'preflight', message: told(message) })));
  }
  const recovery = path.join(repo, runPath(run.run_id, Math.max(1, run.attempts)), 'recovery.md');
  const written: { plan?: string; recovery?: string } =
    run.status === 'succeeded'
      ? { plan: path.join(repo, run.output) }
      : run.recovery !== undefined && existsSync(recovery)
        ? { recovery }
        : {};
  const exitCode = codeOf(run);
  if (options.json) {
    const { status, failure_kind, failure_detail, cost_usd, cost_estimated, attempts, demo } = run;
    const facts = { status, failure_kind, failure_detail, attempts, cost_usd, cost_estimated, demo, ...written };
    screen.out(`${JSON.stringify({ type: 'ended', exit_code: exitCode, ...facts })}\n`);
    return exitCode;
  }
  for (const line of summary(run, written, before)) screen.err(`${clean(line)}\n`);
  if (written.plan !== undefined) screen.out(`${written.plan}\n`);
  return exitCode;
}

/** A stack that runs has the environment that it was started in, not this command's. */
function environmentHint(message: string, { dataDir }: Base): string {
  const stack = dataDir === undefined || !message.includes('PARTNER_CLAUDE_BIN') ? undefined : readStack(dataDir);
  if (!stack) return '';
  return ` The running stack has the environment that it was started in: end it (process ${stack.pid}) and try again.`;
}

function codeOf({ status }: RunDetails): number {
  if (status === 'succeeded') return exitCodes.created;
  return status === 'cancelled' ? exitCodes.cancelled : exitCodes.failed;
}

function summary(run: RunDetails, { recovery }: { plan?: string; recovery?: string }, before: number): string[] {
  const estimated = run.cost_estimated ? ' (estimated)' : '';
  const cost = run.demo ? 'nothing was paid' : `${run.cost_usd.toFixed(4)} USD${estimated}`;
  // Those of earlier attempts were told when they were made.
  const fresh = run.attempt_list.filter(({ attempt }) => attempt > before);
  const warnings = fresh.flatMap(({ warnings: each }) => each).map((warning) => `warning: ${warning}`);
  const kept = run.recovery === undefined ? [] : [`How to go on: partner artifacts ${quoted(run.run_id)} recovery.md`];
  const goOn = recovery === undefined ? kept : [`How to go on: ${recovery}`];
  if (run.status === 'succeeded') {
    return [
      ...warnings,
      run.demo ? 'DEMO: the plan was made by rule, no model was asked.' : `The plan is there (${cost}):`,
    ];
  }
  const what =
    run.status === 'cancelled'
      ? `Run ${run.run_id} was cancelled`
      : `Run ${run.run_id} failed: ${run.failure_kind}. ${run.failure_detail ?? ''}`;
  return [...warnings, `${what} (${cost}).`, ...goOn];
}
