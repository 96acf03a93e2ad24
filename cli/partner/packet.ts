// `partner packet init` and `partner check` (spec: bounded-claude 1 and 2).

import { mkdir, open, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { maxPacketCharacters, readPacket, type Packet } from '../../domain/bounded/packet.ts';
import { packetTemplate } from '../../domain/bounded/packet-template.ts';
import { plural } from '../print.ts';
import { quoted } from './repo.ts';
import { reject, Rejection } from './reject.ts';

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

/** At most `mostBytes`; pipes too. */
async function readBytes(file: string): Promise<Buffer> {
  try {
    const handle = await open(file, 'r');
    try {
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
    const { code } = error as NodeJS.ErrnoException;
    const why = code === 'ENOENT' ? 'does not exist' : code === 'EISDIR' ? 'is a folder' : `can't be read (${code})`;
    throw reject('packet', `The packet ${file} ${why}. "partner packet init" makes one to fill.`);
  }
}

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
  try {
    await mkdir(path.dirname(path.resolve(file)), { recursive: true });
    await writeFile(file, packetTemplate(), { flag: 'wx' });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') throw reject('exists', `${file} exists already; nothing was changed. Name another file.`);
    throw reject('packet', `${file} can't be written (${code}). Name a file in a folder that you may write in.`);
  }
  const shown = quoted(path.relative(process.cwd(), path.resolve(file)) || file);
  return `${file}\nFill each section, then: partner check ${shown}`;
}
