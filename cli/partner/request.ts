// What `partner plan` asks for, checked in this process before a stack is started and before anything is paid: all
// problems together (spec: bounded-claude 1).

import path from 'node:path';
import { foresee } from '../../claude/index.ts';
import { roles, resolveIdentity, type Host, type IdentityFiles, type Role } from '../../domain/bounded/identity.ts';
import { readLimits, type AskedLimits } from '../../domain/bounded/limits.ts';
import { sha256, type Packet } from '../../domain/bounded/packet.ts';
import { parseOutputPath, planPath, runIdProblem } from '../../domain/bounded/run-id.ts';
import { isBlank } from '../../domain/text.ts';
import type { Environment } from '../target.ts';
import { readConfigs } from './config-files.ts';
import { faults, type Place } from './config.ts';
import { placeOf } from './options.ts';
import { loadPacket } from './packet.ts';
import { flag, readOptions, type TypedOptions } from './plan-options.ts';
import { quoted } from './repo.ts';
import { faultsOf, reject, Rejection, type Fault } from './reject.ts';

export interface PlanOptions {
  host: Host;
  role: Role;
  packet: string;
  runId?: string;
  output?: string;
  resume?: string;
  resumeAttempts?: number;
  maxBudgetUsd?: number;
  maxInputChars?: number;
  wallTimeout?: number;
  idleTimeout?: number;
  allowUnverified?: boolean;
  approveRole?: string;
  approval?: string;
  json?: boolean;
  detach?: boolean;
  demo?: boolean;
}

/** Body of POST /bounded-runs, but for the alias. */
export interface NewRun {
  host: Host;
  role: Role;
  packet: string;
  packet_name: string;
  run_id?: string;
  output?: string;
  resume_attempts?: number;
  max_budget_usd?: number;
  max_input_chars?: number;
  wall_timeout?: number;
  idle_timeout?: number;
  allow_unverified?: true;
  demo?: true;
}

export interface Resume {
  run: string;
  host: Host;
  role: Role;
  /** Of the packet's text; a resume keeps the packet. */
  packet_sha256: string;
  approve?: { role: Role; approval: string };
}

export type PlanRequest = { kind: 'new'; run: NewRun } | { kind: 'resume'; resume: Resume };

export interface Checked {
  options: PlanOptions;
  place: Place;
  request: PlanRequest;
}

/** What is asked of the stack that the run will use. */
export interface Surroundings {
  /** Fails where the CLI is not there, and this command's environment is the one that counts. */
  cli(): Promise<unknown>;
  /** What is known of a run of the repository; undefined: nobody can tell before a stack is started. */
  known(repo: string, runId: string): Promise<KnownRun | undefined>;
}

export interface KnownRun {
  open: boolean;
  /** It was started with `--allow-unverified`. */
  allowsUnverified: boolean;
}

/** Checks options, repository, packet, limits, paths, identity, CLI. @throws Rejection with all that is wrong */
export async function checkRequest(
  typed: TypedOptions,
  env: Environment,
  surroundings: Surroundings,
): Promise<Checked> {
  const found: Fault[] = [];
  const read = readOptions(typed, found);
  const place = await collect(found, async () => placeOf(typed.repo === undefined ? {} : { repo: typed.repo }, env));
  const { packet: file } = read;
  const packet = file === undefined ? undefined : await collect(found, () => loadPacket(file, packetLimit(read)));
  const more = { found, place, surroundings };
  const approve = read.resume === undefined ? await checkNew(read, more) : await checkResume(read, more);
  if (read.resume === undefined && !read.demo) await collect(found, () => surroundings.cli());
  const options = whole(read);
  if (found.length > 0 || !packet || !place || !options) throw new Rejection(found);
  const { host, role, resume: run } = options;
  if (run === undefined) return { options, place, request: { kind: 'new', run: newRun(options, packet, place.repo) } };
  const digest = await sha256(new TextEncoder().encode(packet.text));
  const resume = { run, host, role, packet_sha256: digest, ...(approve ? { approve } : {}) };
  return { options, place, request: { kind: 'resume', resume } };
}

const whole = ({ host, role, packet, ...rest }: Partial<PlanOptions>): PlanOptions | undefined =>
  host && role && packet !== undefined ? { ...rest, host, role, packet } : undefined;

interface Found {
  found: Fault[];
  /** Undefined: there is no such repository. */
  place: Place | undefined;
  surroundings: Surroundings;
}

async function checkNew(options: Partial<PlanOptions>, { found, place, surroundings }: Found): Promise<undefined> {
  found.push(...newFaults(options));
  if (!place) return;
  await collect(found, () => checkPaths(options, place.repo, surroundings));
  const { role, allowUnverified = false } = options;
  await collect(found, async () => checkIdentity(options, place, { role, allowUnverified }));
}

async function checkResume(options: Partial<PlanOptions>, about: Found): Promise<Resume['approve']> {
  const { found, place, surroundings } = about;
  const approve = await collect(found, async () => approvalOf(options));
  found.push(...resumeFaults(options));
  if (place) await collect(found, () => checkPaths(options, place.repo, surroundings));
  if (place && approve) {
    // What it was allowed at its start holds to its end. Where that is not known here, its host decides.
    const known = await surroundings.known(place.repo, options.resume ?? '');
    const more = { role: approve.role, allowUnverified: known?.allowsUnverified ?? true, goesOn: true };
    await collect(found, async () => checkIdentity(options, place, more));
  }
  return approve;
}

/** What the work returns; its rejection is added to those found. */
async function collect<T>(found: Fault[], work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    const more = faultsOf(error);
    if (!more) throw error;
    found.push(...more);
    return undefined;
  }
}

/** A limit that is refused is told once, by its own rule. */
function packetLimit({ maxInputChars }: Partial<PlanOptions>): number | undefined {
  const limits = readLimits(maxInputChars === undefined ? {} : { max_input_chars: maxInputChars });
  return limits.ok ? limits.limits.max_input_chars : undefined;
}

function newFaults(options: Partial<PlanOptions>): Fault[] {
  const found: Fault[] = [];
  const id = options.runId === undefined ? undefined : runIdProblem(options.runId);
  if (id !== undefined) found.push({ code: 'run_id', message: `--run-id is refused: ${id}.` });
  const limits = readLimits(asked(options));
  if (!limits.ok) found.push(...limits.problems.map((message) => ({ code: 'limit', message })));
  for (const name of ['approveRole', 'approval'] as const) {
    if (options[name] === undefined) continue;
    const message = `${flag(name)} is for a run that goes on: give --resume RUN-ID too.`;
    found.push({ code: 'approval', message });
  }
  return found;
}

function asked(options: Partial<PlanOptions>): AskedLimits {
  const { resumeAttempts, maxBudgetUsd, maxInputChars, wallTimeout, idleTimeout } = options;
  return {
    ...(resumeAttempts === undefined ? {} : { resume_attempts: resumeAttempts }),
    ...(maxBudgetUsd === undefined ? {} : { max_budget_usd: maxBudgetUsd }),
    ...(maxInputChars === undefined ? {} : { max_input_chars: maxInputChars }),
    ...(wallTimeout === undefined ? {} : { wall_timeout_seconds: wallTimeout }),
    ...(idleTimeout === undefined ? {} : { idle_timeout_seconds: idleTimeout }),
  };
}

/** The plan's path as far as it is known, and what the file system says to it and to the run's artifacts. */
async function checkPaths(options: Partial<PlanOptions>, repo: string, surroundings: Surroundings): Promise<void> {
  const { output, runId, resume } = options;
  const found: Fault[] = [];
  const id = runId !== undefined && runIdProblem(runId) === undefined ? runId : undefined;
  const own = id === undefined ? undefined : planPath(id);
  const given = output === undefined ? own : await collect(found, async () => parseOutputPath(output, repo));
  const folders = ['.partner/runs', ...(output === undefined && resume === undefined ? ['.partner/plans'] : [])];
  const plan = resume === undefined ? given : undefined;
  const isOpen = async (run: string): Promise<boolean> => (await surroundings.known(repo, run))?.open ?? false;
  const foreseen = await foresee(repo, { runId: id, plan, folders, isOpen });
  found.push(...foreseen.map(({ message }) => ({ code: 'path', message })));
  if (found.length > 0) throw new Rejection(found);
}

function checkIdentity(
  { host, demo }: Partial<PlanOptions>,
  place: Place,
  { role, ...how }: { role: Role | undefined; allowUnverified: boolean; goesOn?: boolean },
): void {
  if (demo || !host || !role) return;
  const files: IdentityFiles = readConfigs(place.repo, place.env);
  const resolved = resolveIdentity(files, host, role, how);
  if (!resolved.ok) throw new Rejection(faults(resolved.problems, place));
}

function newRun(options: PlanOptions, packet: Packet, repo: string): NewRun {
  const { host, role, runId, output, resumeAttempts, maxBudgetUsd, maxInputChars, wallTimeout, idleTimeout } = options;
  return {
    host,
    role,
    packet: packet.text,
    packet_name: path.resolve(options.packet),
    ...(runId === undefined ? {} : { run_id: runId }),
    ...(output === undefined ? {} : { output: parseOutputPath(output, repo) }),
    ...(resumeAttempts === undefined ? {} : { resume_attempts: resumeAttempts }),
    ...(maxBudgetUsd === undefined ? {} : { max_budget_usd: maxBudgetUsd }),
    ...(maxInputChars === undefined ? {} : { max_input_chars: maxInputChars }),
    ...(wallTimeout === undefined ? {} : { wall_timeout: wallTimeout }),
    ...(idleTimeout === undefined ? {} : { idle_timeout: idleTimeout }),
    ...(options.allowUnverified ? { allow_unverified: true } : {}),
    ...(options.demo ? { demo: true } : {}),
  };
}

/** What belongs to a run from its start on. */
const fixed = [
  'runId',
  'output',
  'resumeAttempts',
  'maxBudgetUsd',
  'maxInputChars',
  'wallTimeout',
  'idleTimeout',
  'allowUnverified',
  'demo',
] as const;

function resumeFaults(options: Partial<PlanOptions>): Fault[] {
  const given = fixed.filter((name) => options[name] !== undefined && options[name] !== false).map(flag);
  if (given.length === 0) return [];
  const message = `A run goes on as it was started: leave out ${given.join(', ')}, or start a new run.`;
  return [{ code: 'resume', message }];
}

function approvalOf({ approveRole, approval, resume = '' }: Partial<PlanOptions>): Resume['approve'] {
  if (approveRole === undefined && approval === undefined) return undefined;
  const role = roles.find((known) => known === approveRole);
  if (!role) throw reject('approval', `--approve-role names the approved role: one of ${roles.join(', ')}.`);
  if (approval === undefined || isBlank(approval)) {
    const how = `--resume ${quoted(resume)} --approve-role ${role} --approval "who, why"`;
    throw reject('approval', `Another role needs an explicit approval: ${how}.`);
  }
  return { role, approval };
}
