// A planning packet: read as bytes, accepted whole, or rejected with every problem at once (spec: bounded-claude 2).

import { findSecrets } from '../secrets/index.ts';
import { characters } from '../text.ts';
import { difference, meant, outline, sectionProblems, withoutBom, type Outline, type Problem } from './markdown.ts';
import { maxPacketCharacters } from './sizes.ts';

export { maxPacketCharacters };

export const packetTitle = 'Partner Bounded Planning Packet';

export const packetSections = [
  'Goal',
  'Non-goals',
  'Current-State Evidence',
  'Constraints',
  'Acceptance',
  'Open Decisions',
  'Truncation',
] as const;

const shape = { what: 'packet', title: packetTitle, sections: packetSections } as const;

export interface Packet {
  /** The text as read, without a BOM. */
  text: string;
  /** Code points of `text`. */
  characters: number;
  /** Of the bytes as read, 64 hexadecimal digits. */
  sha256: string;
}

export type PacketCheck = { ok: true; packet: Packet } | { ok: false; problems: Problem[] };

export interface PacketOptions {
  /** Code points, at most `maxPacketCharacters` (the default). */
  maxCharacters?: number;
}

/**
 * Reads a packet's bytes (spec: bounded-claude 2): strict UTF-8, an optional BOM, LF or CRLF, the title first, the
 * seven sections in order and filled, an honest Truncation, no secret-like text. All problems are told together.
 */
export async function readPacket(bytes: Uint8Array, options: PacketOptions = {}): Promise<PacketCheck> {
  const decoded = decode(bytes);
  const problems = decoded.problem ? [decoded.problem] : [];
  const text = withoutBom(decoded.text);
  problems.push(...(await packetProblems(text, options)));
  if (problems.length > 0) return { ok: false, problems };
  return { ok: true, packet: { text, characters: characters(text), sha256: await sha256(bytes) } };
}

/** Problems of a packet's text, as an editor shows them while somebody types; empty when it is acceptable. */
export async function packetProblems(source: string, options: PacketOptions = {}): Promise<Problem[]> {
  const text = withoutBom(source);
  const limit = Math.min(options.maxCharacters ?? maxPacketCharacters, maxPacketCharacters);
  const found = outline(text);
  return [
    ...characterProblems(text, limit),
    ...titleProblems(text, found),
    ...sectionProblems(found, shape),
    ...truncationProblems(found),
    ...(await secretProblems(text)),
  ];
}

/** Lower-case hexadecimal SHA-256. */
export async function sha256(bytes: Uint8Array): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new Uint8Array(bytes));
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

function decode(bytes: Uint8Array): { text: string; problem?: Problem } {
  try {
    return { text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes) };
  } catch {
    const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
    const line = firstBadLine(bytes);
    const utf16 = (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff);
    const what = utf16 ? 'The packet looks like UTF-16' : `Line ${line} holds bytes that are not UTF-8`;
    const message = `${what}; save the packet as UTF-8.`;
    return { text, problem: { code: 'not_utf8', ...(utf16 ? {} : { line }), message } };
  }
}

function firstBadLine(bytes: Uint8Array): number {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let line = 1;
  for (let start = 0; start <= bytes.length; line++) {
    const end = bytes.indexOf(0x0a, start);
    try {
      decoder.decode(bytes.subarray(start, end < 0 ? bytes.length : end));
    } catch {
      return line;
    }
    if (end < 0) break;
    start = end + 1;
  }
  return line;
}

function characterProblems(text: string, limit: number): Problem[] {
  const problems: Problem[] = [];
  const count = characters(text);
  if (count > limit) {
    const message = `The packet has ${count} characters; at most ${limit} are allowed. Choose less evidence, split the `
      + 'decision, or summarize and say so under `## Truncation`.';
    problems.push({ code: 'too_long', message });
  }
  const at = (index: number): number => text.slice(0, index).split(/\r\n|\r|\n/).length;
  const nul = text.indexOf('\0');
  if (nul >= 0) problems.push({ code: 'nul', line: at(nul), message: 'There is a NUL character; remove it.' });
  const surrogate = text.search(/\p{Cs}/u);
  if (surrogate >= 0) {
    const message = 'There is half of a surrogate pair, which is no character; remove it.';
    problems.push({ code: 'lone_surrogate', line: at(surrogate), message });
  }
  const cr = text.search(/\r(?!\n)/);
  if (cr >= 0) {
    const message = 'There is a carriage return without a line feed; end lines with LF or CRLF.';
    problems.push({ code: 'line_ending', line: at(cr), message });
  }
  return problems;
}

function titleProblems(text: string, found: Outline): Problem[] {
  const wanted = `\`# ${packetTitle}\``;
  const exact = found.titles.filter((heading) => heading.name === packetTitle);
  if (exact[0]?.line === 1) {
    const again = exact[1];
    return again ? [{ code: 'title', line: again.line, message: 'The title occurs again; keep the first only.' }] : [];
  }
  if (exact[0]) {
    const message = `The first line must be ${wanted}; remove what stands before line ${exact[0].line}.`;
    return [{ code: 'preamble', line: 1, message }];
  }
  const firstLine = /^[^\r\n]*/.exec(text)?.[0] ?? '';
  if (/^ {0,3}(?:`{3,}|~{3,})/.test(firstLine)) {
    return [
      {
        code: 'fenced',
        line: 1,
        message: `The packet begins with a code fence; remove it. The first line must be ${wanted}.`,
      },
    ];
  }
  const name = firstLine.replace(/^\s*#+\s*/, '').trimEnd();
  const why = meant(name, [packetTitle]) ? `: ${difference(name, packetTitle)}` : '';
  return [{ code: 'title', line: 1, message: `The first line must be ${wanted}${why}.` }];
}

/** `none` alone, or `present: ` and what was omitted and why: anything else is silent truncation. */
function truncationProblems(found: Outline): Problem[] {
  const section = found.sections.find((candidate) => candidate.name === 'Truncation');
  if (!section || section.empty) return [];
  const body = section.body.replace(/\p{Cf}/gu, '').trim();
  if (body === 'none') return [];
  const { line } = section;
  const problem = (message: string): Problem[] => [{ code: 'truncation', line, message }];
  const mend = 'write `none` and nothing else, or `present: ` with what was omitted and why on the same line';
  const first = body.split(/\r\n|\r|\n/)[0] ?? '';
  const said = /^present:[ \t]+(\S.*)$/.exec(first)?.[1];
  if (said && /^(?:none|nothing|n\/a|no)[.!]?$/i.test(said.trim())) {
    return problem(`\`Truncation\` says \`present:\` and then that nothing is missing; ${mend}.`);
  }
  if (said) return [];
  if (/^present:?$/.test(first.trim())) return problem(`\`present:\` alone does not say what was omitted; ${mend}.`);
  if (/^none\b/i.test(first)) {
    return problem(`\`Truncation\` says \`none\` and then more, or says it in other words; ${mend}.`);
  }
  return problem(`\`Truncation\` is neither \`none\` nor \`present: \`; ${mend}.`);
}

async function secretProblems(text: string): Promise<Problem[]> {
  const secrets = await findSecrets(text);
  return secrets.map(({ kind, line }) => {
    const message = `There is text that looks like a secret (${kind}). Replace it by a placeholder such as <${kind}>.`;
    return { code: 'secret', line, message };
  });
}
