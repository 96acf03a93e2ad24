// Skills: what one is made of, how it is pinned, and which version a project resolves (spec: planner 3).

import { z } from 'zod';
import type { Actor } from './actor.ts';
import { formed, problem, quoted, text, type CheckContext } from './input.ts';
import { always, changesOneOf } from './item.ts';

/** From the most general to the most specific. */
export const skillScopes = ['platform', 'organization', 'project'] as const;
export type SkillScope = (typeof skillScopes)[number];

export interface SkillFile {
  path: string;
  content: string;
}

/** `body` is the text of SKILL.md. */
export interface SkillContent {
  description: string;
  body: string;
  files: SkillFile[];
}

/** organization and project: keys, where the scope is one. latest: the newest published version, 0: none. */
export interface SkillSummary {
  id: string;
  scope: SkillScope;
  organization?: string;
  project?: string;
  name: string;
  /** The draft's. */
  description: string;
  draft_version: number;
  latest: number;
  created_at: string;
  updated_at: string;
}

export interface Skill extends Omit<SkillSummary, 'description' | 'draft_version'> {
  draft: SkillContent & { version: number };
}

/** Immutable. */
export interface SkillVersionSummary {
  version: number;
  description: string;
  published_by: Actor;
  published_at: string;
}

export interface SkillVersion extends SkillVersionSummary, SkillContent {}

/** version 0: the latest. */
export interface SkillPin {
  name: string;
  version: number;
  disabled: boolean;
  updated_at: string;
}

/** What a project uses under a name. version 0: nothing, and `problem` says why. id and scope: of a known name. */
export interface ResolvedSkill {
  name: string;
  id?: string;
  scope?: SkillScope;
  version: number;
  problem?: string;
}

export const skillName = formed(/^[a-z][a-z0-9-]{1,63}$/, "a skill's name: 2-64 of a-z, 0-9 and -, a letter first");

/** The files of a skill beside SKILL.md, together, in bytes of UTF-8. */
const filesBytes = 1024 * 1024;

const description = text(1_024, 1);
const body = text(100_000);
const files = z
  .array(z.strictObject({ path: text(255), content: text(filesBytes) }))
  .max(50)
  .check(always(checkFiles))
  .meta({ description: 'Beside SKILL.md: clean relative paths, at most 1 MiB together.' });

export const newSkill = z
  .strictObject({
    scope: z.enum(skillScopes),
    organization: z.string().optional().meta({ description: 'Its key, for scope organization.' }),
    project: z.string().optional().meta({ description: 'Its key, for scope project.' }),
    name: skillName,
    description,
    body,
    files: files.default([]),
  })
  .check(always(checkScope));
export type NewSkill = z.input<typeof newSkill>;

/** `version`: the draft's, as it was read. Only what is sent changes; `files` is the whole list. */
export const skillPatch = z
  .strictObject({
    version: z.int().min(1),
    description: description.optional(),
    body: body.optional(),
    files: files.optional(),
  })
  .check(changesOneOf(['description', 'body', 'files']));
export type SkillPatch = z.input<typeof skillPatch>;

/** `version`: the draft's, as it was read. */
export const skillPublication = z.strictObject({ version: z.int().min(1) });
export type SkillPublication = z.input<typeof skillPublication>;

/** version 0: the latest. */
export const skillPinInput = z.strictObject({
  version: z.int().min(0).max(2 ** 31 - 1).default(0),
  disabled: z.boolean().default(false),
});
export type SkillPinInput = z.input<typeof skillPinInput>;

function checkScope(context: CheckContext): void {
  const { scope, ...named } = (context.value ?? {}) as Partial<NewSkill>;
  if (!skillScopes.includes(scope as SkillScope)) return;
  for (const owner of ['organization', 'project'] as const) {
    if (owner === scope && named[owner] === undefined) {
      problem(context, `is required: the key of the ${owner} that the skill is for`, [owner]);
    }
    if (owner !== scope && named[owner] !== undefined) {
      problem(context, `must be left out for a skill of scope ${scope}`, [owner]);
    }
  }
}

function checkFiles(context: CheckContext): void {
  if (!Array.isArray(context.value)) return;
  const seen = new Map<string, string>();
  let bytes = 0;
  for (const [index, file] of (context.value as Partial<SkillFile>[]).entries()) {
    if (typeof file?.content === 'string') bytes += utf8Bytes(file.content);
    if (typeof file?.path !== 'string') continue;
    const complaint = pathViolation(file.path) ?? clashOf(seen, file.path);
    if (complaint) problem(context, complaint, [index, 'path']);
    seen.set(comparable(file.path), file.path);
  }
  if (bytes > filesBytes) problem(context, `have ${bytes} bytes together; at most ${filesBytes} are allowed`);
}

const utf8Bytes = (content: string): number => new TextEncoder().encode(content).length;

/** Paths that some file system takes for one are one. */
const comparable = (path: string): string => path.normalize('NFC').toLowerCase();

/** Why a path is not clean and relative; undefined when it is. */
function pathViolation(path: string): string | undefined {
  const clean = path.split('/').every((part) => part !== '.' && part !== '..' && cleanPart.test(part));
  if (!clean) return `must be a clean relative path such as templates/epic.md, not ${quoted(path)}`;
  return comparable(path) === 'skill.md' ? 'SKILL.md is the body: send its text there' : undefined;
}

/** What every file system can hold: nothing invisible or reserved, no space at either end, no dot at the last. */
const cleanPart = /^(?!\p{Z})[^\\/:*?"<>|\uFFFD\p{C}\p{Zl}\p{Zp}]*[^\\/:*?"<>|\uFFFD\p{C}\p{Z}.]$/u;

function clashOf(seen: ReadonlyMap<string, string>, path: string): string | undefined {
  const mine = comparable(path);
  const other = seen.get(mine);
  if (other !== undefined) return `${quoted(path)} is there twice`;
  for (const [key, theirs] of seen) {
    if (key.startsWith(`${mine}/`) || mine.startsWith(`${key}/`)) {
      return `${quoted(path)} and ${quoted(theirs)} can't both be: one is a file where the other needs a folder`;
    }
  }
  return undefined;
}

/** A skill that a project may use, as far as resolution needs it. Its versions are 1 to `latest`. */
export interface Candidate {
  id: string;
  scope: SkillScope;
  name: string;
  latest: number;
}

/**
 * What a project uses, by name: of each name the most specific scope with a published version, unless a pin disables
 * it; the pinned version if there is one, else version 0 with a problem. A pin to an unknown name is an entry, too.
 */
export function resolveSkills(
  candidates: readonly Candidate[],
  pins: readonly Pick<SkillPin, 'name' | 'version' | 'disabled'>[],
): ResolvedSkill[] {
  const chosen = new Map<string, Candidate>();
  for (const candidate of candidates) {
    const other = chosen.get(candidate.name);
    if (candidate.latest > 0 && (!other || rank(candidate) > rank(other))) chosen.set(candidate.name, candidate);
  }
  const pinned = new Map(pins.map((pin) => [pin.name, pin]));
  const resolved: ResolvedSkill[] = [];
  for (const { id, scope, name, latest } of chosen.values()) {
    const pin = pinned.get(name);
    if (pin?.disabled) continue;
    const wanted = pin?.version || latest;
    if (wanted <= latest) resolved.push({ name, id, scope, version: wanted });
    else resolved.push({ name, id, scope, version: 0, problem: missingVersion(wanted, latest) });
  }
  for (const { name } of pins) {
    if (!chosen.has(name)) resolved.push({ name, version: 0, problem: unknownSkill });
  }
  return resolved.sort((a, b) => (a.name < b.name ? -1 : 1));
}

const rank = ({ scope }: Candidate): number => skillScopes.indexOf(scope);
const unknownSkill = 'A pin names it, but no published skill has this name. Remove the pin, or publish the skill.';
const missingVersion = (wanted: number, latest: number): string =>
  `Version ${wanted} is pinned, but the newest is ${latest}. Pin a version from 1 to ${latest}, or 0 for the newest.`;
