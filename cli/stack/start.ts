// `npm start`: runs the whole stack on this machine until Ctrl-C. `--detached [SECONDS]`, as commands start it: until
// nobody has used it for so long.

import path from 'node:path';
import { loadConfig, withoutPassword, type Config } from '../../config/index.ts';
import { DomainError } from '../../domain/errors.ts';
import { findAncestor, isAlive, isLock, takeLock, type Identity, type Lock } from './process.ts';
import { defaultIdleSeconds, readUse, untilIdle } from './idle.ts';
import { isFree } from './ports.ts';
import { readStack, removeStack } from './stack-file.ts';
import { announce, makeDataFolder, startStack, type Stack } from './stack.ts';
import { Supervisor } from './supervisor.ts';
import { ToolError } from './tools.ts';

const say = (line: string): void => console.log(line);

/** A terminal's Ctrl-C arrives twice when npm passes it on: what follows so soon is not a second one. */
const secondAfterMs = 700;

async function main(): Promise<void> {
  const idleSeconds = readIdleSeconds(process.argv.slice(2));
  const config = await withFreePort(loadConfig(), idleSeconds !== undefined);
  for (const warning of config.warnings) console.error(`Warning: ${warning}`);
  makeDataFolder(config.dataDir);
  const lock = takeLock(path.join(config.dataDir, 'stack.lock'));
  if (!isLock(lock)) {
    console.error(whoRuns(config, lock));
    process.exitCode = 1;
    return;
  }
  const supervisor = new Supervisor(config.dataDir, say);
  const end = ender(config, supervisor, lock);
  endOnSignals(supervisor, end);
  try {
    const started = await startStack(config, supervisor, say);
    const stack = idleSeconds === undefined ? started : { ...started, idle_seconds: idleSeconds };
    announce(stack);
    say(idleSeconds === undefined ? summary(config, stack) : `Ready at ${stack.api}, process ${stack.pid}.`);
    if (idleSeconds !== undefined) void endWhenIdle(stack, idleSeconds, end);
  } catch (error) {
    if (end.begun()) return;
    console.error(`\nThe start failed. ${messageOf(error)}`);
    await end(1);
  }
}

/** Undefined: it runs until it is ended. */
function readIdleSeconds([flag, seconds, ...more]: string[]): number | undefined {
  if (flag === undefined) return undefined;
  const count = Number(seconds ?? defaultIdleSeconds);
  if (flag === '--detached' && more.length === 0 && count > 0) return count;
  throw new Error('The only option is "--detached [SECONDS]": end when nobody has used the stack for so long.');
}

/** A command that starts a stack does not care for the default port: any other will do where it is in use. */
async function withFreePort(config: Config, detached: boolean): Promise<Config> {
  const { server, settled } = config;
  if (!detached || settled.get('server.port')?.source !== 'default' || (await isFree(server.port))) return config;
  return { ...config, server: { ...server, port: 0 } };
}

async function endWhenIdle(stack: Stack, idleSeconds: number, end: Ender): Promise<void> {
  await untilIdle(idleSeconds * 1_000, {
    read: () => readUse(stack),
    hide: () => removeStack(stack.data_dir),
    show: () => !end.begun() && announce(stack),
  });
  say(`nobody has used the stack for ${idleSeconds} s; ending ...`);
  await end(0);
}

interface Ender {
  /** Ends all children, gives the data folder free and leaves with the code. */
  (code: number): Promise<void>;
  begun(): boolean;
}

function ender(config: Config, supervisor: Supervisor, lock: Lock): Ender {
  let ending: Promise<void> | undefined;
  const run = async (code: number): Promise<void> => {
    removeStack(config.dataDir);
    await supervisor.end();
    lock.release();
    process.exit(code);
  };
  return Object.assign((code: number) => (ending ??= run(code)), { begun: () => ending !== undefined });
}

function endOnSignals(supervisor: Supervisor, end: Ender): void {
  let first = 0;
  const onSignal = (): void => {
    if (first === 0) {
      first = Date.now();
      say('\nending ... (Ctrl-C again: at once)');
      void end(0);
    } else if (Date.now() - first > secondAfterMs) {
      void supervisor.force();
    }
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  // A closed terminal ends the stack; one started without a terminal (nohup) stays.
  const hasTerminal = Boolean(process.stdin.isTTY || process.stdout.isTTY);
  process.on('SIGHUP', () => hasTerminal && onSignal());
  process.stdout.on('error', () => undefined);
  process.stderr.on('error', () => undefined);
  process.on('uncaughtException', (error) => {
    console.error(`The stack failed: ${error.stack ?? error.message}`);
    void end(1);
  });
  if (process.env['npm_lifecycle_event'] === 'start') endWithParent(onSignal);
}

/** npm passes signals to a shell between it and this process, and none at all when it is killed. */
function endWithParent(onGone: () => void): void {
  const parent = process.ppid;
  const npm = findAncestor(/\bnpm\b/);
  const timer = setInterval(() => {
    if (process.ppid === parent && (!npm || isAlive(npm))) return;
    clearInterval(timer);
    onGone();
  }, 500);
  timer.unref();
}

function whoRuns(config: Config, holder: Identity): string {
  const stack = readStack(config.dataDir);
  const where = stack?.pid === holder.pid ? `at ${stack.api}` : 'and is starting or ending';
  const ends = `A command started it; it ends when nobody has used it for ${stack?.idle_seconds} s.`;
  const itself = stack?.idle_seconds ? ` ${ends}` : '';
  return (
    `A stack runs on ${config.dataDir} already: process ${holder.pid}, ${where}.${itself}\n` +
    'Use that one, end it first, or set PLANNER_DATA_DIR (and PLANNER_PORT) for a second one.'
  );
}

function summary(config: Config, stack: Stack): string {
  const { model, server, temporal } = config;
  const real = `${stack.model.name} at ${withoutPassword(model.baseUrl)}`;
  const demo =
    `${stack.model.name}: the built-in DEMO MODEL, which plans by rule. For a real one set\n` +
    `               PLANNER_MODEL_BASE_URL, PLANNER_MODEL_API_KEY and PLANNER_MODEL`;
  const database = config.databaseUrl ? `, PostgreSQL at ${withoutPassword(config.databaseUrl)}` : '';
  const rows = [
    ['API', `${stack.api}/#token=${stack.token}`],
    ...(server.publicUrl ? [['Public', server.publicUrl]] : []),
    ['Temporal UI', stack.temporal_ui ?? `not known (Temporal at ${temporal.address}); set PLANNER_TEMPORAL_UI`],
    ['Data', `${stack.data_dir} (logs in logs/)${database}`],
    ['Model', stack.model.demo ? demo : real],
    ['Chat', 'npx planner chat'],
  ];
  const lines = rows.map(([name, text]) => `  ${name?.padEnd(12)} ${text}`);
  return ['', 'Ready.', ...lines, 'Ctrl-C ends all of it.'].join('\n');
}

function messageOf(error: unknown): string {
  if (error instanceof DomainError || error instanceof ToolError || error instanceof Error) return error.message;
  return String(error);
}

main().catch((error: unknown) => {
  console.error(messageOf(error));
  process.exitCode = 1;
});
