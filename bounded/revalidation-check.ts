// What a re-validation needs, looked at on the repository's computer before anything is scheduled or paid: repository,
// identity, CLI, packets; all problems together (spec: bounded-claude 9).

import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { open, readdir, realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { CliError, type CliIdentity } from '../claude/index.ts';
import { resolveIdentity, type Host, type Identity, type Role } from '../domain/bounded/identity.ts';
import { sha256, type Packet } from '../domain/bounded/packet.ts';
import type { CurrentHashes } from '../domain/revalidation/claim.ts';
import { makePackets, type SourceFile } from '../domain/revalidation/packets.ts';
import { cliOf } from './host.ts';
import { demoIdentity, readIdentityFiles } from './identity-files.ts';
import { hashRunner } from './metadata.ts';

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;

export interface ToExamine {
  /** Real path. */
  repo: string;
  /** What the packets call it. */
  name: string;
  host: Host;
  role: Role;
  demo: boolean;
  env: NodeJS.ProcessEnv;
}

export interface Examined {
  /** None: all of the rest is there. */
  problems: string[];
  identity?: Identity;
  cli?: CliIdentity;
  packets?: Packet[];
}

/** Writes nothing, pays nothing. */
export async function examine(what: ToExamine): Promise<Examined> {
  const found: Examined = { problems: [] };
  if (!(await isFolder(what.repo))) {
    found.problems.push(`The repository ${what.repo} is gone. Put it back in its place, or re-validate another one.`);
    return found;
  }
  const identity = await identityOf(what);
  if (typeof identity === 'string') found.problems.push(identity);
  else found.identity = identity;
  const cli = await cliOf(what, what).catch((error: unknown) => {
    if (!(error instanceof CliError)) throw error;
    return void found.problems.push(error.message);
  });
  if (cli) found.cli = cli;
  const made = await makePackets(what.name, await sourceFiles(what.repo));
  if (made.ok) found.packets = made.packets;
  else found.problems.push(made.problem);
  return found;
}

const isFolder = (folder: string): Promise<boolean> =>
  stat(folder).then(
    (found) => found.isDirectory(),
    () => false,
  );

async function identityOf({ repo, host, role, demo, env }: ToExamine): Promise<Identity | string> {
  if (demo) return demoIdentity;
  try {
    const resolved = resolveIdentity(await readIdentityFiles(repo, env), host, role);
    return resolved.ok ? resolved.identity : resolved.problems.map(({ message }) => message).join('\n');
  } catch (error) {
    return `The configuration can't be read: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** Of what is asked of Claude: a comment in the file, or when it was verified, changes no answer. */
export async function identityHash({ backend, model, effort }: Identity): Promise<string> {
  return sha256(new TextEncoder().encode(JSON.stringify([backend, model, effort])));
}

/** As they are now; null for what can't be found. */
export async function currentHashes(what: ToExamine): Promise<CurrentHashes> {
  const identity = await identityOf(what);
  const cli = await cliOf(what, what).catch(() => undefined);
  return {
    runner_sha256: await hashRunner(),
    identity_sha256: typeof identity === 'string' ? null : await identityHash(identity),
    cli_sha256: cli?.sha256 ?? null,
  };
}

/** Files that are looked at, and bytes of each. */
const mostFiles = 150;
const mostBytes = 65_536;
const leastBytes = 200;
const binary = /\.(?:png|jpe?g|gif|webp|ico|pdf|zip|gz|tgz|br|xz|woff2?|ttf|otf|mp[34]|wasm|node|so|jar|lock)$/i;

/** Text files of the repository, spread over all of it; those that git tracks, where it is a git repository. */
async function sourceFiles(repo: string): Promise<SourceFile[]> {
  const names = ((await tracked(repo)) ?? (await walked(repo)))
    .filter((name) => !name.split('/').includes('.partner') && !binary.test(name))
    .sort();
  const step = Math.max(1, names.length / mostFiles);
  const files: SourceFile[] = [];
  for (let at = 0; at < names.length; at += step) {
    const name = names[Math.floor(at)]!;
    const text = await beginning(repo, path.join(repo, name));
    if (text !== undefined) files.push({ path: name, text });
  }
  return files;
}

async function tracked(repo: string): Promise<string[] | undefined> {
  // Nothing that the repository configures is run.
  const args = ['-C', repo, '-c', 'core.fsmonitor=false', '-c', 'core.hooksPath=/dev/null', 'ls-files', '-z'];
  try {
    const { stdout } = await promisify(execFile)('git', args, { maxBuffer: 64 << 20, timeout: 20_000 });
    const names = stdout.split('\0').filter((name) => name !== '');
    return names.length > 0 ? names : undefined;
  } catch {
    return undefined;
  }
}

const skipped = new Set(['node_modules', 'dist', 'build', 'target', 'vendor', '__pycache__']);
const mostWalked = 20_000;

async function walked(repo: string): Promise<string[]> {
  const names: string[] = [];
  const folders = [''];
  while (folders.length > 0 && names.length < mostWalked) {
    const folder = folders.shift()!;
    const entries = await readdir(path.join(repo, folder), { withFileTypes: true }).catch(() => []);
    for (const entry of entries) {
      if (entry.name.startsWith('.') || skipped.has(entry.name)) continue;
      const name = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (entry.isDirectory()) folders.push(name);
      else if (entry.isFile()) names.push(name);
    }
  }
  return names;
}

/** The first whole lines of a text file; undefined where it is none, is small, or is a link. */
async function beginning(repo: string, file: string): Promise<string | undefined> {
  // A link may lead out of the repository.
  const real = await realpath(file).catch(() => '');
  if (real !== path.join(await realpath(repo), path.relative(repo, file))) return undefined;
  const handle = await open(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch(() => undefined);
  if (!handle) return undefined;
  try {
    const { size } = await handle.stat().then((found) => (found.isFile() ? found : { size: 0 }));
    if (size < leastBytes) return undefined;
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(Math.min(size, mostBytes)), 0, undefined, 0);
    const whole = bytesRead < size ? buffer.subarray(0, buffer.lastIndexOf(0x0a) + 1) : buffer.subarray(0, bytesRead);
    return new TextDecoder('utf-8', { fatal: true }).decode(whole);
  } catch {
    return undefined;
  } finally {
    await handle.close();
  }
}
