// `partner packet init` and `partner check` (spec: bounded-claude 1 and 2).

import { constants } from 'node:fs';
import { mkdir, open, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { maxPacketCharacters, readPacket, type Packet } from '../../domain/bounded/packet.ts';
import { packetTemplate } from '../../domain/bounded/packet-template.ts';
import { plural } from '../print.ts';
import { quoted } from './repo.ts';
import { reject, Rejection, whyNot } from './reject.ts';

/** Code points of four bytes, a BOM, and one more: what is longer is too long whatever it holds. */
const mostBytes = 4 * maxPacketCharacters + 4;

/**
 * Reads and checks a packet. `maxCharacters` is at most 24,000.
 * @throws Rejection all problems together, with file and line
 */
export async function loadPacket(file: string, maxCharacters = maxPacketCharacters): Promise<Packet> {
  const bytes = await readBytes(file);
  if (bytes.length >= mostBytes) {
    const message =
      `The packet has more than ${maxPacketCharacters} characters, which is the limit. Choose less evidence, split ` +
      'the decision, or summarize and say so under `## Truncation`.';
    throw new Rejection([{ code: 'too_long', path: file, message }]);
  }
  const check = await readPacket(bytes, { maxCharacters });
  if (!check.ok) throw new Rejection(check.problems.map((problem) => ({ ...problem, path: file })));
  return check.packet;
}

/** At most `mostBytes`. A pipe is refused: it can be read only once, and a resume reads the packet again. */
async function readBytes(file: string): Promise<Buffer> {
  try {
    // Without waiting for who might write to a pipe.
    const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const found = await handle.stat();
      if (!found.isFile() && !found.isDirectory()) {
        const how = 'Save it as a file, and name that: a resume needs the same packet again.';
        throw reject('packet', `The packet ${file} is no file but a pipe or a device. ${how}`);
      }
      const buffer = Buffer.alloc(mostBytes);
      let filled = 0;
      for (let read = 1; read > 0 && filled < mostBytes; filled += read) {
        ({ bytesRead: read } = await handle.read(buffer, filled, mostBytes - filled, null));
      }
      return buffer.subarray(0, filled);
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (error instanceof Rejection) throw error;
    const { code = '' } = error as NodeJS.ErrnoException;
    if (code === 'ENXIO') throw reject('packet', `The packet ${file} is no file but a socket. Save it as a file.`);
    if (code === 'EACCES')
      throw reject('packet', `The packet ${file} can't be read by this user. Give the right to read.`);
    const why = absences[code] ?? `can't be read (${code})`;
    throw reject('packet', `The packet ${file} ${why}. "partner packet init" makes one to fill.`);
  }
}

const absences: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  ENOTDIR: 'does not exist: a file is where a folder is needed',
  EISDIR: 'is a folder',
};

/** @throws Rejection */
export async function checkPacket(file: string, options: { maxCharacters?: number; json?: boolean }): Promise<string> {
  const limit = options.maxCharacters ?? maxPacketCharacters;
  const { characters, sha256 } = await loadPacket(file, limit);
  if (options.json) return JSON.stringify({ ok: true, path: file, characters, sha256 });
  return `${file} is a valid packet: ${plural(characters, 'character')}, ${limit - characters} left.\nsha256 ${sha256}`;
}

/** Writes the template, without a name into `.partner/handoffs/`; nothing is ever overwritten. @throws Rejection */
export async function initPacket(repo: string, named: string | undefined, now: Date): Promise<string> {
  const stamp = now.toISOString().slice(0, 19).replace(/\D/g, '');
  const file = named ?? path.join(repo, '.partner', 'handoffs', `packet-${stamp.slice(0, 8)}-${stamp.slice(8)}.md`);
  const folder = path.dirname(path.resolve(file));
  await mkdir(folder, { recursive: true }).catch((error: unknown) => {
    throw reject('packet', `${folder} can't be made: ${whyNot(error)} Name a file in a folder that you may write in.`);
  });
  await writeFile(file, packetTemplate(), { flag: 'wx' }).catch((error: unknown) => {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') throw reject('exists', `${file} exists already; nothing was changed. Name another file.`);
    throw reject('packet', `${file} can't be written: ${whyNot(error)} Name a file in a folder that you may write in.`);
  });
  const shown = quoted(path.relative(process.cwd(), path.resolve(file)) || file);
  return `${file}\nFill each section, then: partner check ${shown}`;
}
