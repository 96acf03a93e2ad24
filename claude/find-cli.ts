// Finds the Claude CLI and says which one it is (spec: bounded-claude 4).

import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { access, constants, realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { cliEnvironment } from './environment.ts';
import type { CliIdentity } from './types.ts';

/** The CLI can't be used: why, and how to mend it. Nothing was paid. */
export class CliError extends Error {
  override readonly name = 'CliError';
}

/** The demonstration that stands in for the CLI: asks no model, costs nothing. For `PARTNER_CLAUDE_BIN`. */
export const demoCli = fileURLToPath(new URL('demo-cli.mjs', import.meta.url));

const hint = 'Install Claude Code, or set PARTNER_CLAUDE_BIN to the absolute path of its `claude`.';
const versionMs = 20_000;
const versionGraceMs = 1_000;

/**
 * `PARTNER_CLAUDE_BIN`, else `claude` on PATH; its version is asked, its bytes are hashed (once while the file stays as
 * it is).
 * @throws CliError missing, not executable, no version
 */
export async function findCli(env: NodeJS.ProcessEnv): Promise<CliIdentity> {
  const found = await locate(env);
  const file = await stat(found);
  const key = `${found} ${file.ino} ${file.size} ${file.mtimeMs}`;
  const known = seen.get(key);
  if (known) return known;
  const [version, sha256] = await Promise.all([askVersion(found, env), hash(found)]);
  const cli = { path: found, version, sha256 };
  seen.set(key, cli);
  return cli;
}

const seen = new Map<string, CliIdentity>();

async function locate(env: NodeJS.ProcessEnv): Promise<string> {
  const named = env['PARTNER_CLAUDE_BIN'];
  if (named) {
    if (!path.isAbsolute(named)) throw new CliError(`PARTNER_CLAUDE_BIN is not an absolute path: ${named}. ${hint}`);
    const why = await unusable(named);
    if (why) throw new CliError(`PARTNER_CLAUDE_BIN names ${named}, which ${why}. ${hint}`);
    return realpath(named);
  }
  for (const folder of (env['PATH'] ?? '').split(path.delimiter).filter((one) => path.isAbsolute(one))) {
    const file = path.join(folder, 'claude');
    if (!(await unusable(file))) return realpath(file);
  }
  throw new CliError(`The Claude CLI \`claude\` is not on the PATH. ${hint}`);
}

async function unusable(file: string): Promise<string | undefined> {
  try {
    if (!(await stat(file)).isFile()) return 'is no file';
    await access(file, constants.X_OK);
    return undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'does not exist' : 'is not executable for this user';
  }
}

function askVersion(file: string, env: NodeJS.ProcessEnv): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(file, ['--version'], {
      env: cliEnvironment(env),
      stdio: ['ignore', 'pipe', 'ignore'],
      timeout: versionMs,
      killSignal: 'SIGKILL',
    });
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => (output = (output + chunk.toString('latin1')).slice(0, 4_096)));
    child.on('error', (error) => reject(new CliError(`${file} could not be started: ${error.message}. ${hint}`)));
    // Whoever keeps its output open does not hold us.
    child.on('exit', () => setTimeout(() => child.stdout.destroy(), versionGraceMs).unref());
    child.on('close', (code) => {
      const version = /\b\d+\.\d+\.\d+\b/.exec(output)?.[0];
      if (code === 0 && version) return resolve(version);
      const why = code === 0 ? 'tells no version' : `ended with ${code ?? 'a signal'}`;
      reject(new CliError(`\`${file} --version\` ${why}; this is not a working Claude CLI. ${hint}`));
    });
  });
}

async function hash(file: string): Promise<string> {
  const sum = createHash('sha256');
  for await (const chunk of createReadStream(file, { highWaterMark: 1 << 20 })) sum.update(chunk as Buffer);
  return sum.digest('hex');
}
