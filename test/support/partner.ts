// The `partner` command as a process of its own, in a home and a repository of its own.

import { spawn, type ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { randomText } from './bounded.ts';

const command = fileURLToPath(new URL('../../cli/partner.ts', import.meta.url));

export interface Result {
  code: number | null;
  out: string;
  err: string;
}

export interface Running {
  child: ChildProcess;
  out(): string;
  err(): string;
  result: Promise<Result>;
}

export interface Desk {
  root: string;
  home: string;
  repo: string;
  dataDir: string;
  userConfig: string;
  repoConfig: string;
  env: NodeJS.ProcessEnv;
  /** Writes a file of the repository and returns its path. */
  write(name: string, text: string | Uint8Array): string;
  start(args: readonly string[], options?: { env?: NodeJS.ProcessEnv; cwd?: string; input?: string }): Running;
  run(args: readonly string[], options?: { env?: NodeJS.ProcessEnv; cwd?: string; input?: string }): Promise<Result>;
  remove(): void;
}

export function createDesk(more: NodeJS.ProcessEnv = {}): Desk {
  const root = realpathSync(mkdtempSync(path.join(tmpdir(), 'partner-')));
  const [home, repo] = [path.join(root, 'home'), path.join(root, 'repo')];
  mkdirSync(home);
  mkdirSync(path.join(repo, '.git'), { recursive: true });
  const dataDir = path.join(root, 'data');
  const env = { PATH: process.env['PATH'], HOME: home, PLANNER_DATA_DIR: dataDir, ...more };
  const start: Desk['start'] = (args, options = {}) => {
    const child = spawn(process.execPath, [command, ...args], {
      cwd: options.cwd ?? repo,
      env: { ...env, ...options.env },
    });
    let [out, err] = ['', ''];
    child.stdout.on('data', (data) => (out += data));
    child.stderr.on('data', (data) => (err += data));
    child.stdin.on('error', () => undefined);
    child.stdin.end(options.input ?? '');
    const result = new Promise<Result>((resolve) => child.on('close', (code) => resolve({ code, out, err })));
    return { child, out: () => out, err: () => err, result };
  };
  return {
    root,
    home,
    repo,
    dataDir,
    userConfig: path.join(home, '.config', 'partner', 'config.toml'),
    repoConfig: path.join(repo, '.partner', 'config.toml'),
    env,
    write(name, text) {
      const file = path.join(repo, name);
      mkdirSync(path.dirname(file), { recursive: true });
      writeFileSync(file, text);
      return file;
    },
    start,
    run: (args, options) => start(args, options).result,
    remove: () => rmSync(root, { recursive: true, force: true }),
  };
}

/** A file of identities with one identity. */
export const identity = (model = 'claude-opus-4-8', verified = true, more = ''): string =>
  `schema_version = 2

[hosts.codex.identities.deep_reasoner]
backend = "claude"
model = "${model}"
effort = "high"
verified = ${verified}
${more}`;

export const whose = ['--host', 'codex', '--role', 'deep_reasoner'] as const;

/** A made-up token, put together at run time. */
export const madeSecret = (): string => ['gh', 'p_', randomText(36)].join('');
