// The real CLI, pinned by version and hash: fetched once from the npm registry into the tools folder.

import { cpSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { isLock, takeLock } from '../../cli/stack/process.ts';
import { run, toolsFolder } from '../../cli/stack/tools.ts';

export const pinnedVersion = '2.1.332';

const pin = fileURLToPath(new URL('pinned-claude', import.meta.url));

/** Absolute path of the executable. Several processes may ask at once: one fetches (160 MB), the others wait. */
export async function pinnedClaude(say: (line: string) => void): Promise<string> {
  const tools = toolsFolder();
  const folder = path.join(tools, `claude-${pinnedVersion}`);
  mkdirSync(tools, { recursive: true });
  const lockFile = path.join(tools, 'claude.lock');
  for (;;) {
    const found = executable(folder);
    if (found) return found;
    const lock = takeLock(lockFile);
    if (!isLock(lock)) {
      await sleep(200);
      continue;
    }
    try {
      if (!executable(folder)) await fetch(tools, folder, say);
    } finally {
      lock.release();
    }
    if (!executable(folder)) throw new Error(`The Claude CLI has no build for ${process.platform} ${process.arch}.`);
  }
}

/** The platform's package holds the binary; the install script, which only copies it, need not run. */
function executable(folder: string): string | undefined {
  const scope = path.join(folder, 'node_modules', '@anthropic-ai');
  if (!existsSync(scope)) return undefined;
  const names = readdirSync(scope)
    .filter((name) => name.startsWith('claude-code-'))
    .sort();
  return names.map((name) => path.join(scope, name, 'claude')).find((file) => existsSync(file));
}

async function fetch(tools: string, folder: string, say: (line: string) => void): Promise<void> {
  say(`fetching the Claude CLI ${pinnedVersion} (402 MB unpacked) ...`);
  const draft = path.join(tools, 'fetch-claude');
  rmSync(draft, { recursive: true, force: true });
  cpSync(pin, draft, { recursive: true });
  const { code, output } = await run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: draft });
  if (code !== 0)
    throw new Error(`npm could not fetch the Claude CLI:\n${output.trim().split('\n').slice(-5).join('\n')}`);
  rmSync(folder, { recursive: true, force: true });
  renameSync(draft, folder);
}
