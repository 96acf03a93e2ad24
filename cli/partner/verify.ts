// `partner verify`: one short paid question that shows whether an identity answers as configured
// (spec: bounded-claude 3).

import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  cliEnvironment,
  defaultLimits,
  findCli,
  superviseAttempt,
  type AttemptOutcome,
  type CliIdentity,
} from '../../claude/index.ts';
import { resolveIdentity, type Identity } from '../../domain/bounded/identity.ts';
import { planSections, planTitle } from '../../domain/bounded/plan.ts';
import { clean } from '../print.ts';
import { readConfigs } from './config-files.ts';
import { faults, scopeOf, writeIdentity, type Place, type Whose } from './config.ts';
import { reject, Rejection } from './reject.ts';

/** USD; the CLI checks its cap after spending. */
export const verifyBudget = 0.5;
const wallMs = 120_000;

const prompt = `This is a check that you answer at all. Write exactly these lines, the word ok under each heading:

# ${planTitle}

${planSections.map((name) => `## ${name}\n\nok\n`).join('\n')}`;

export interface Verification {
  identity: Identity;
  cli: CliIdentity;
  outcome: AttemptOutcome;
  /** The file that now says so, after a success. */
  path?: string;
}

export interface VerifyHooks {
  /** Says what will be paid; false: no. */
  agreed(identity: Identity, cli: CliIdentity): Promise<boolean>;
  signal: AbortSignal;
  now(): Date;
}

/**
 * Asks once, and notes the success in the file that names the identity. @throws Rejection not configured, no CLI, not
 * agreed: nothing was paid
 */
export async function verify(place: Place, whose: Whose, hooks: VerifyHooks): Promise<Verification> {
  const resolved = resolveIdentity(readConfigs(place.repo, place.env), whose.host, whose.role, {
    allowUnverified: true,
  });
  if (!resolved.ok) throw new Rejection(faults(resolved.problems, place));
  const { identity } = resolved;
  const cli = await findCli(place.env);
  if (cli.path === demoCli()) {
    throw reject(
      'demo',
      'The demo CLI asks no model, so it verifies nothing. Let PARTNER_CLAUDE_BIN name the real CLI.',
    );
  }
  if (!(await hooks.agreed(identity, cli)))
    throw reject('declined', 'Not verified: nothing was asked and nothing was paid.');
  const outcome = await ask(identity, cli, place, hooks.signal);
  if (!outcome.success) return { identity, cli, outcome };
  const { backend, model, effort } = identity;
  const verified = { verified: true, verified_at: hooks.now().toISOString() };
  const scope = place.scope ?? scopeOf(place, whose);
  return {
    identity,
    cli,
    outcome,
    path: await writeIdentity({ ...place, scope }, whose, { backend, model, effort, ...verified }),
  };
}

const demoCli = (): string => realpathSync(fileURLToPath(new URL('../../claude/demo-cli.mjs', import.meta.url)));

/** Under the same guard as a run, in directories of its own that are gone afterwards. */
async function ask(identity: Identity, cli: CliIdentity, place: Place, signal: AbortSignal): Promise<AttemptOutcome> {
  const root = realpathSync(mkdtempSync(path.join(tmpdir(), 'partner-verify-')));
  const [runDir, workDir] = [path.join(root, 'run'), path.join(root, 'work')];
  for (const folder of [runDir, workDir]) mkdirSync(folder, { mode: 0o700 });
  try {
    return await superviseAttempt(
      {
        runId: 'verify',
        attempt: 1,
        runDir,
        workDir,
        cli,
        model: identity.model,
        effort: identity.effort,
        budgetUsd: verifyBudget,
        limits: { ...defaultLimits, wallMs },
        session: { kind: 'fresh', id: randomUUID() },
        prompt,
        environment: cliEnvironment(place.env),
      },
      { signal, onChange: () => undefined, onText: () => undefined },
    );
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

export function renderVerification({ identity, outcome, path: file }: Verification, { host, role }: Whose): string {
  const cost = outcome.costUsd === null ? 'cost unknown' : `${outcome.costUsd.toFixed(4)} USD`;
  if (outcome.success)
    return `Verified: ${role} on ${host} is ${identity.model}, ${identity.effort} (${cost}). ${file} says so.`;
  const detail = clean(outcome.detail);
  const mend = 'Nothing was changed; "partner doctor" tells what is missing.';
  return `Not verified: ${outcome.failure}. ${detail} (${cost}). ${mend}`;
}
