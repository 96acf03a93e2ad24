// The `partner` command: bounded Claude planning from a packet to a plan (spec: bounded-claude 1).

import { createInterface } from 'node:readline/promises';
import { Command, CommanderError } from 'commander';
import { findingsJson, hasFailed, renderFindings } from './doctor/finding.ts';
import { addConfigCommands } from './partner/config-command.ts';
import type { Whose } from './partner/config.ts';
import type { Scope } from './partner/config-files.ts';
import { examine } from './partner/doctor.ts';
import {
  hostOption,
  jsonOption,
  number,
  placeOf,
  repoOption,
  roleOption,
  scopeOption,
  stackFolder,
} from './partner/options.ts';
import { plan } from './partner/plan.ts';
import { reach } from './partner/reach.ts';
import type { TypedOptions } from './partner/plan-options.ts';
import { hosts, roles } from '../domain/bounded/identity.ts';
import { artifacts, cancel, listRuns, showRun, type RunQuery } from './partner/runs.ts';
import { checkPacket, initPacket } from './partner/packet.ts';
import { exitCodes, faultsOf, faultText, reject } from './partner/reject.ts';
import { findRepo } from './partner/repo.ts';
import { addRevalidateCommand } from './partner/revalidate-command.ts';
import { renderVerification, verify, verifyBudget } from './partner/verify.ts';
import { problemText } from './print.ts';

const env = process.env;
const write =
  (stream: NodeJS.WriteStream) =>
  (text: string): void =>
    void stream.write(text);
const say = (line: string): void => void process.stderr.write(`${line}\n`);
const queryOf = ({ repo, json }: { repo?: string; json?: boolean }): RunQuery => ({
  repo: repo === undefined ? undefined : findRepo(repo),
  ...(json ? { json } : {}),
});
const print = (text: string): void => void process.stdout.write(text.endsWith('\n') ? text : `${text}\n`);

const program = new Command('partner')
  .description('One packet, one bounded Claude run without tools, one valid plan or none.')
  .addHelpText(
    'after',
    `
A first run, without a Claude login:
  partner packet init packet.md             fill it, then: partner check packet.md
  partner plan --repo . --host codex --role deep_reasoner --packet packet.md --demo

Exit codes: 0 done, 2 rejected before anything was paid, 4 the run failed (recovery.md tells how to go on),
130 cancelled or left running by Ctrl-C, 1 the command itself could not go on.
PLANNER_DATA_DIR names the data folder of the stack, PARTNER_CLAUDE_BIN the Claude CLI.`,
  )
  // An error is told by tell(), like any other rejection.
  .configureOutput({ outputError: () => undefined })
  .exitOverride();

let exitCode: number = exitCodes.created;

program
  .command('plan')
  .description('one bounded run: a valid plan file, or none and how to go on')
  // What is missing, wrong or not known is told together with all other problems.
  .allowUnknownOption()
  .allowExcessArguments()
  .addOption(repoOption())
  .option('--host <host>', `which host asks: ${hosts.join(', ')}`)
  .option('--role <role>', `which role answers: ${roles.join(', ')}`)
  .option('--packet <file>', 'what to plan ("partner packet init" makes one)')
  .option('--run-id <id>', 'the name of the run, by default made from the time')
  .option('--output <file>', 'the plan, inside the repository, by default .partner/plans/<run-id>.md')
  .option('--resume <run-id>', 'go on with a run that failed or was cancelled, in its session')
  .option('--resume-attempts <n>', 'automatic resumes after passing failures, 0-3, by default 1')
  .option('--max-budget-usd <usd>', 'for the whole run, at most 10, by default 2')
  .option('--max-input-chars <n>', 'a lower limit than 24000')
  .option('--wall-timeout <seconds>', 'a lower limit than 600, for each attempt')
  .option('--idle-timeout <seconds>', 'a lower limit than 180 without an event')
  .option('--allow-unverified', 'use an identity that is not verified; this is recorded')
  .option('--approve-role <role>', 'with --resume and --approval: another role goes on')
  .option('--approval <text>', 'who approved it, and why; this is recorded')
  .option('--json', 'one line of JSON an event')
  .option('--detach', 'return as soon as the run is accepted; it goes on by itself')
  .option('--demo', 'a scripted CLI answers by rule: no login, no model, no cost')
  .action(async (options: TypedOptions, command: Command) => {
    const screen = {
      out: write(process.stdout),
      err: write(process.stderr),
      // A terminal that does not know its width says 0.
      columns: () => process.stderr.columns || 80,
      now: Date.now,
    };
    const terminal = process.stdout.isTTY === true && process.stderr.isTTY === true;
    const known = command.options.map(({ long }) => long ?? '');
    exitCode = await plan({ ...options, unknown: command.args, known }, env, screen, terminal);
  });

program
  .command('check')
  .description('validate a packet, nothing else')
  .argument('<file>', 'the packet')
  .option('--max-input-chars <n>', 'a lower limit than 24000', number)
  .addOption(jsonOption())
  .action(async (file: string, { maxInputChars, json }: { maxInputChars?: number; json?: boolean }) => {
    if (maxInputChars !== undefined && !(maxInputChars > 0))
      throw reject('usage', '--max-input-chars must be greater than 0.');
    print(
      await checkPacket(file, {
        ...(maxInputChars ? { maxCharacters: maxInputChars } : {}),
        ...(json ? { json } : {}),
      }),
    );
  });

program
  .command('packet')
  .description('packets')
  .command('init')
  .description('write a template with guidance')
  .argument('[file]', 'by default a new one in .partner/handoffs/')
  .addOption(repoOption())
  .action(async (file: string | undefined, { repo }: { repo?: string }) =>
    print(await initPacket(findRepo(repo), file, new Date())),
  );

addConfigCommands(program, env, print);

program
  .command('verify')
  .description(`ask an identity one short question; this is paid (at most about ${verifyBudget} USD)`)
  .addOption(hostOption().makeOptionMandatory())
  .addOption(roleOption().makeOptionMandatory())
  .addOption(repoOption())
  .addOption(scopeOption())
  .option('--yes', 'do not ask before paying')
  .action(async (options: Whose & { repo?: string; scope?: Scope; yes?: boolean }) => {
    const { host, role } = options;
    const abort = new AbortController();
    process.on('SIGINT', () => abort.abort('cancel'));
    const result = await verify(
      placeOf(options, env),
      { host, role },
      {
        signal: abort.signal,
        now: () => new Date(),
        agreed: async ({ model, effort }, cli) => {
          const asked = `This asks ${model} at effort ${effort} once, through ${cli.path} ${cli.version}.`;
          const paid = `${asked} It is paid: at most about ${verifyBudget} USD.`;
          process.stderr.write(`${paid}\n`);
          return options.yes === true || (await askYes('Ask it? [y/N] '));
        },
      },
    );
    print(renderVerification(result, { host, role }));
    if (!result.outcome.success)
      exitCode = result.outcome.failure === 'cancelled' ? exitCodes.cancelled : exitCodes.failed;
  });

addRevalidateCommand(program, { env, print, say }, (code) => (exitCode = code));

program
  .command('status')
  .description('a run, or the newest ones')
  .argument('[run-id]')
  .addOption(repoOption())
  .option('--limit <n>', 'how many runs at most', number, 20)
  .addOption(jsonOption())
  .action(async (id: string | undefined, options: { repo?: string; limit: number; json?: boolean }) => {
    const base = await reach(env, say);
    print(id === undefined ? await listRuns(base, options) : await showRun(base, id, queryOf(options)));
  });

program
  .command('cancel')
  .description('stop a run; what came of it is kept')
  .argument('<run-id>')
  .addOption(repoOption())
  .addOption(jsonOption())
  .action(async (id: string, options: { repo?: string; json?: boolean }) => {
    const { text, exitCode: code } = await cancel(await reach(env, say), id, queryOf(options));
    print(text);
    exitCode = code;
  });

program
  .command('artifacts')
  .description('the files of a run, or the text of one')
  .argument('<run-id>')
  .argument('[name]', 'metadata.json, checkpoint.md, recovery.md, events.jsonl or plan.md')
  .option('--attempt <n>', 'of which attempt, by default the last', number)
  .addOption(repoOption())
  .addOption(jsonOption())
  .action(
    async (id: string, name: string | undefined, options: { repo?: string; attempt?: number; json?: boolean }) => {
      print(await artifacts(await reach(env, say), id, name, { ...options, ...queryOf(options) }));
    },
  );

program
  .command('doctor')
  .description('look for what a run needs: CLI, login, engine, database, configuration')
  .addOption(repoOption())
  .addOption(jsonOption())
  .action(async (options: { repo?: string; json?: boolean }) => {
    const findings = await examine(placeOf(options, env), stackFolder(env));
    print(options.json ? findingsJson(findings) : renderFindings(findings));
    if (hasFailed(findings)) exitCode = exitCodes.broken;
  });

/** No terminal, no yes. */
async function askYes(question: string): Promise<boolean> {
  if (!process.stdin.isTTY) throw reject('usage', 'Nobody is there to agree: give --yes to agree beforehand.');
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(?:es)?$/i.test((await terminal.question(question)).trim());
  } finally {
    terminal.close();
  }
}

async function main(): Promise<number> {
  try {
    await program.parseAsync();
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) {
      if (error.exitCode === 0) return exitCodes.created;
      if (error.code === 'commander.help') return exitCodes.rejected;
      return tell(reject('usage', error.message.replace(/^error: /, '')));
    }
    return tell(error);
  }
}

function tell(error: unknown): number {
  const faults = faultsOf(error);
  if (!faults) {
    process.stderr.write(`partner: ${problemText(error)}\n`);
    return exitCodes.broken;
  }
  if (process.argv.includes('--json')) print(JSON.stringify({ type: 'rejected', problems: faults }));
  const paid = ['plan', 'verify', 'revalidate'].includes(process.argv[2] ?? '') ? ', nothing was paid' : '';
  process.stderr.write(`partner: rejected${paid}.\n${faults.map((fault) => `${faultText(fault)}\n`).join('')}`);
  return exitCodes.rejected;
}

// A reader that goes away (`partner config get | head`) is no failure; a run is waited for all the same.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (process.argv[2] !== 'plan') process.exit(error.code === 'EPIPE' ? 0 : 1);
});
process.stderr.on('error', () => undefined);
process.exitCode = await main();
// Nothing is left to do; a closing socket or a timer need not be waited for.
setTimeout(() => process.exit(), 500).unref();
