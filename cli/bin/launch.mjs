// Runs a command of the product for any Node >= 20: its TypeScript under Node >= 24, this one or the bundled one.

import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { constants } from 'node:os';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const needed = 24;

/** `name`: of the command, and of its file in cli/. */
export async function launch(name) {
  const entry = fileURLToPath(new URL(`../${name}.ts`, import.meta.url));
  const args = process.argv.slice(2);
  if (Number(process.versions.node.split('.')[0]) >= needed) {
    process.argv = [process.execPath, entry, ...args];
    await import(pathToFileURL(entry).href);
    return;
  }
  const node = bundledNode();
  if (node) return runUnder(node, name, [entry, ...args]);
  console.error(
    `${name} needs Node ${needed} or newer; this is ${process.version}, and the bundled one is not installed.\n` +
      `Run "npm ci" in ${path.dirname(path.dirname(entry))}, or start ${name} with a newer Node.`,
  );
  process.exitCode = 1;
}

/** The executable of the `node` package; undefined when it is not installed or its set-up script was not allowed. */
function bundledNode() {
  try {
    const manifest = createRequire(import.meta.url).resolve('node/package.json');
    const name = process.platform === 'win32' ? 'node.exe' : 'node';
    const found = path.join(path.dirname(manifest), 'bin', name);
    return existsSync(found) ? found : undefined;
  } catch {
    return undefined;
  }
}

/** Passes arguments, terminal and signals on, and leaves as the other one left. */
function runUnder(node, name, args) {
  const child = spawn(node, args, { stdio: 'inherit' });
  // A terminal's Ctrl-C reaches both: the other one decides what it means.
  process.on('SIGINT', () => undefined);
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('error', (error) => {
    console.error(`${name} could not be started under ${node}: ${error.message}`);
    process.exit(1);
  });
  child.on('exit', (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 0)));
}
