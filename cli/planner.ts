// The `planner` command: chat, status, items, tokens, configuration.

import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { checkVariables } from '../config/index.ts';
import { chat } from './chat.ts';
import type { ApplyMode } from './chat-review.ts';
import { showConfig } from './config.ts';
import { resealCommand } from './credentials.ts';
import { examinePlanner } from './doctor/examine.ts';
import { findingsJson, hasFailed, renderFindings } from './doctor/finding.ts';
import { listItems } from './items.ts';
import { parseDuration, problemText, UsageError, wantsColour } from './print.ts';
import { rebuildSearchCommand, searchStatusCommand } from './search.ts';
import { readStack } from './stack/stack-file.ts';
import { metricsOf, showStatus } from './status.ts';
import { dataFolder, findDatabase, findTarget, type GlobalOptions } from './target.ts';
import { createTokenCommand, listTokensCommand, revokeTokenCommand } from './token.ts';

const env = process.env;
const print = (text: string): void => void process.stdout.write(text.endsWith('\n') ? text : `${text}\n`);

const program = new Command('planner')
  .description('Plan a project in a conversation. "npm start" runs the planner; "planner chat" talks with it.')
  .option('--address <url>', 'the API, by default that of the running planner (PLANNER_ADDRESS)')
  .option('--token <token>', 'whom to be, by default the token in the data folder (PLANNER_TOKEN)')
  .addHelpText(
    'after',
    `
Examples:
  planner chat                              talk, review and apply what is proposed
  echo "plan a search page" | planner chat --apply all
  planner status                            which turns run, and their workflows
  planner token create --subject ada --new human --role engineer --project WEB

Exit codes: 0 done, 1 failed, 2 called in a wrong way.
PLANNER_DATA_DIR names the data folder of the running planner; by default .planner here, else in the nearest parent.`,
  )
  .configureHelp({ showGlobalOptions: true })
  .hook('preAction', () => {
    for (const warning of checkVariables(env)) process.stderr.write(`planner: warning: ${warning}\n`);
  })
  .exitOverride();

function globals(): GlobalOptions {
  return program.opts<GlobalOptions>();
}

let exitCode = 0;

program
  .command('chat')
  .description('talk with the planner')
  .option('--session <id>', 'go on in a session')
  .option('--project <key>', 'the project of a new session')
  .addOption(
    new Option('--apply <what>', 'what to do with a proposed changeset; "ask" leaves it undecided in a pipe')
      .choices(['ask', 'all', 'none'])
      .default('ask'),
  )
  .action(async (options: { session?: string; project?: string; apply: ApplyMode }) => {
    const interactive = process.stdin.isTTY === true && process.stdout.isTTY === true;
    exitCode = await chat(
      { ...findTarget(globals(), env), ...options },
      {
        input: process.stdin,
        output: process.stdout,
        notices: process.stderr,
        interactive,
        colour: wantsColour(process.stdout, env) && (interactive || wantsColour(process.stderr, env)),
      },
    );
  });

program
  .command('status')
  .description('the turns, running ones first, with their workflows')
  .option('--project <key>', 'of one project')
  .option('--session <id>', 'of one session')
  .option('--limit <n>', 'how many turns at most', wholeNumber, 20)
  .option('--json', 'as JSON')
  .action(async (options: { project?: string; session?: string; limit: number; json?: boolean }) => {
    const target = findTarget(globals(), env);
    const metrics = metricsOf(target.address, readStack(dataFolder(env)));
    print(await showStatus(target, options, wantsColour(process.stdout, env), metrics));
  });

program
  .command('items')
  .description('the items of a project')
  .option('--project <key>', 'which project')
  .option('--kind <kind>', 'milestone, epic or ticket')
  .option('--state <state>', 'for example ready')
  .option('--json', 'as JSON')
  .action(async (options: { project?: string; kind?: string; state?: string; json?: boolean }) => {
    print(await listItems(findTarget(globals(), env), options));
  });

const token = program.command('token').description('make, list and revoke tokens (works on the database itself)');

token
  .command('create')
  .description('make a token and print it, once')
  .requiredOption('--subject <subject>', 'whom it speaks for')
  .addOption(
    new Option('--expires <duration>', 'how long it is valid: 90d, 12h, 30m')
      .argParser(duration)
      .default(duration('90d'), '90d'),
  )
  .option('--label <text>', 'what it is for')
  .option('--action <action...>', 'the only actions that it carries, for example tracker.read')
  .option('--new <kind>', 'make the subject known first: human or service')
  .option('--name <name>', 'with --new: the name to show')
  .option('--role <role>', 'give the subject a role: engineer, approver, viewer, organization-admin, platform-admin')
  .option('--project <key>', 'with --role: in this project')
  .option('--organization <key>', 'with --role: in this organization')
  .action(async (options: Parameters<typeof createTokenCommand>[1]) => {
    print(await createTokenCommand(findDatabase(env), options));
  });

token
  .command('list')
  .description('all tokens, never the tokens themselves')
  .option('--subject <subject>', 'those of one subject')
  .option('--json', 'as JSON')
  .action(async (options: { subject?: string; json?: boolean }) => {
    print(await listTokensCommand(findDatabase(env), options));
  });

token
  .command('revoke')
  .description('end a token at once; its connections close')
  .argument('<id>', 'from "planner token list"')
  .action(async (id: string) => {
    print(await revokeTokenCommand(findDatabase(env), id));
  });

program
  .command('credentials')
  .description('stored keys of model providers (works on the database itself)')
  .command('reseal')
  .description('seal them all under PLANNER_SECRET_KEY; those of PLANNER_SECRET_KEYS_OLD are not needed afterwards')
  .action(async () => print(await resealCommand(findDatabase(env), env)));

const search = program.command('search').description('the index of search (works on the database itself)');

search
  .command('status')
  .description('how many texts are indexed, and which model embedded them')
  .option('--json', 'as JSON')
  .action(async (options: { json?: boolean }) => print(await searchStatusCommand(findDatabase(env), options)));

search
  .command('rebuild')
  .description('have the workers index and embed everything anew')
  .action(async () => print(await rebuildSearchCommand(findDatabase(env))));

const deploy = program
  .command('deploy')
  .description('versions of the workers on a cluster, where they run with PLANNER_WORKER_VERSIONING=1');

deploy
  .command('list')
  .description('the versions of each queue: current, draining (turns and runs still stay with it), drained')
  .option('--json', 'as JSON')
  .action(async (options: { json?: boolean }) => print(await (await import('./deploy.ts')).listDeployments(env, options)));

deploy
  .command('current')
  .description('new turns and runs begin with this version; those that run stay with theirs')
  .argument('[build]', 'from "planner deploy list"; by default that of this installation')
  .action(async (build?: string) => print(await (await import('./deploy.ts')).deployCurrent(env, build)));

program
  .command('config')
  .description('each setting with its value and where it comes from')
  .option('--json', 'as JSON')
  .action((options: { json?: boolean }) => print(showConfig(env, options)));

program
  .command('doctor')
  .description('look for all that a computer can get wrong, and say how to mend it; exit code 1 where something fails')
  .option('--json', 'as JSON')
  .action(async (options: { json?: boolean }) => {
    const findings = await examinePlanner(env, dataFolder(env));
    print(options.json ? findingsJson(findings) : renderFindings(findings));
    if (hasFailed(findings)) exitCode = 1;
  });

function wholeNumber(text: string): number {
  if (!/^[1-9]\d{0,3}$/.test(text)) throw new InvalidArgumentError('A whole number from 1 to 9999 is needed.');
  return Number(text);
}

function duration(text: string): number {
  const milliseconds = parseDuration(text);
  if (milliseconds === undefined) throw new InvalidArgumentError('Write it like 90d, 12h, 30m or 45s.');
  return milliseconds;
}

async function main(): Promise<number> {
  try {
    await program.parseAsync();
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    process.stderr.write(`planner: ${problemText(error)}\n`);
    return error instanceof UsageError ? 2 : 1;
  }
}

// A reader that goes away (`planner items | head`) is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));
process.exitCode = await main();
// Nothing is left to do; a closing socket or a timer need not be waited for.
setTimeout(() => process.exit(), 500).unref();
