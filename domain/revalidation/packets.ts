// Packets for a re-validation: near the limit, made from a repository's own files (spec: bounded-claude 2, 9). Pure:
// the files are given, and nobody's words are changed.

import { readPacket, type Packet } from '../bounded/packet.ts';
import { findSecrets } from '../secrets/index.ts';
import { characters, firstCharacters, isBlank } from '../text.ts';
import { nearLimit, plannedRuns } from './contract.ts';

export interface SourceFile {
  /** Relative to the repository. */
  path: string;
  text: string;
}

export type PacketsMade = { ok: true; packets: Packet[] } | { ok: false; problem: string };

/** What a packet's own words are about, one a planned run: decisions that any repository has open. */
const tasks = [
  {
    goal: 'Plan how the behaviour that the excerpts below show is covered by tests that fail when it breaks.',
    decision: 'Which behaviour is tested first, and at which boundary.',
    acceptance: 'Each planned test names the file and the behaviour that it covers, and fails when that is removed.',
  },
  {
    goal: 'Plan how what the excerpts below do twice, or in two ways, is done once, without a change that a user sees.',
    decision: 'Which of the places is the one that stays, and in which order the others move to it.',
    acceptance: 'After each planned step everything still builds, and no behaviour that a user sees has changed.',
  },
  {
    goal: 'Plan how a failure in the code of the excerpts below is told to whoever can mend it, in words that say how.',
    decision: 'Which failures are told where they happen, and which at the edge.',
    acceptance: 'Each failure in the plan has a place, a text and a check that shows both.',
  },
] as const;

/** Code points of one excerpt at first; more where there are few files. */
const excerptCharacters = 3_000;
/** A packet is filled up to here. */
const target = 23_700;
const leastExcerpt = 80;

/**
 * One packet a planned run, each valid, of 23,000 to 24,000 characters, and of other files first than the one before.
 * A file with secret-like text is left out. Where there is too little without, the problem says so: nothing is made.
 */
export async function makePackets(repo: string, files: readonly SourceFile[]): Promise<PacketsMade> {
  const usable: SourceFile[] = [];
  const secret: string[] = [];
  for (const file of files) {
    if (!isText(file)) continue;
    if ((await findSecrets(`${file.path}\n${file.text}`)).length > 0) secret.push(file.path);
    else usable.push({ ...file, text: file.text.replace(/\r\n?/g, '\n') });
  }
  const packets: Packet[] = [];
  for (const [index] of plannedRuns.entries()) {
    const made = await makeOne(repo, usable, index, files.length);
    if (typeof made === 'string') return { ok: false, problem: `${made}${omitted(secret)}` };
    packets.push(made);
  }
  return { ok: true, packets };
}

const omitted = (secret: readonly string[]): string => {
  if (secret.length === 0) return '';
  const named = secret.slice(0, 5).join(', ') + (secret.length > 5 ? `, and ${secret.length - 5} more` : '');
  return ` Files with secret-like text were left out: ${named}. Take the secrets out of them, and try again.`;
};

const isText = ({ path, text }: SourceFile): boolean =>
  !isBlank(text) && !/[\0-\x08\x0b\x0c\x0e-\x1f\x7f]|\p{Cs}|\uFFFD/u.test(text) && !/[\0-\x1f\x7f`]/.test(path);

async function makeOne(
  repo: string,
  files: readonly SourceFile[],
  index: number,
  all: number,
): Promise<Packet | string> {
  let left = turned(files, index);
  // What two harmless files are together may look like a secret: such a pair is parted.
  for (let tries = 0; tries < 5; tries++) {
    const built = build(repo, left, index, all);
    if (built === undefined) break;
    const read = await readPacket(new TextEncoder().encode(built.text), { maxCharacters: nearLimit.most });
    if (read.ok && read.packet.characters >= nearLimit.least) return read.packet;
    if (read.ok) break;
    const bad = new Set(read.problems.map(({ line }) => built.fileAt(line ?? 0)).filter((path) => path !== undefined));
    if (bad.size === 0) break;
    left = left.filter(({ path }) => !bad.has(path));
  }
  const least = nearLimit.least.toLocaleString('en-US');
  const most = nearLimit.most.toLocaleString('en-US');
  return `No packet of ${least} to ${most} characters can be made from the text files of ${repo}.`;
}

/** Each packet begins elsewhere. */
function turned(files: readonly SourceFile[], index: number): SourceFile[] {
  const at = Math.floor((files.length * index) / plannedRuns.length);
  return [...files.slice(at), ...files.slice(0, at)];
}

interface Built {
  text: string;
  fileAt(line: number): string | undefined;
}

function build(repo: string, files: readonly SourceFile[], index: number, all: number): Built | undefined {
  for (let most = excerptCharacters; most <= nearLimit.most * 2; most *= 2) {
    const built = fill(repo, files, index, all, most);
    if (characters(built.text) >= nearLimit.least) return built;
  }
  return undefined;
}

function fill(repo: string, files: readonly SourceFile[], index: number, all: number, most: number): Built {
  const task = tasks[index % tasks.length]!;
  const title = '# Partner Bounded Planning Packet';
  const head = `${title}\n\n## Goal\n\n${task.goal}\nThe repository is \`${repo}\`.\n\n## Non-goals\n
No new features, no new dependencies, no change of names that others use.\n\n## Current-State Evidence\n\n`;
  const tail = (shown: number): string => `## Constraints\n
Only the files that are shown may be changed. What is not shown may be used as it is, but nothing is known of it.
A step is small enough to be reviewed by itself, and can be taken back.\n\n## Acceptance\n
${task.acceptance}\n\n## Open Decisions\n\n${task.decision}\n\n## Truncation\n
present: excerpts of ${shown} files are shown; the rest of them and ${Math.max(0, all - shown)} other files of the \
repository were left out, as they do not fit.\n`;
  let room = target - characters(head) - characters(tail(10_000));
  let text = head;
  const places: { path: string; line: number }[] = [];
  for (const file of files) {
    if (room < leastExcerpt) break;
    const part = excerpt(file, Math.min(most, room));
    if (part === undefined) continue;
    places.push({ path: file.path, line: text.split('\n').length });
    text += part;
    room -= characters(part);
  }
  return {
    text: text + tail(places.length),
    fileAt: (line) => places.findLast((place) => place.line <= line)?.path,
  };
}

/** The file's first lines in a fence, at most so many code points in all; undefined where nothing fits. */
function excerpt({ path, text }: SourceFile, most: number): string | undefined {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  const frame = (body: string, lines: number): string => `\`${path}:1-${lines}\`\n\n${fence}\n${body}\n${fence}\n\n`;
  const room = most - characters(frame('', 99_999));
  if (room < leastExcerpt) return undefined;
  let body = firstCharacters(text, room).trimEnd();
  const cut = body.length < text.trimEnd().length && body.includes('\n');
  if (cut) body = body.slice(0, body.lastIndexOf('\n')).trimEnd();
  if (isBlank(body)) return undefined;
  return frame(body, body.split('\n').length);
}
