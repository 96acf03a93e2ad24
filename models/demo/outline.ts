// Reads a plan out of human text: goals, headings, groups, bullets, order words. Rules only, no understanding.

import { firstCharacters, isBlank } from '../../domain/text.ts';
import { capitalised, cleanTitle, goalTitle, namesGoal } from './text.ts';

/** Lines of a message that are read. */
export const maxLines = 600;
/** The first characters of a task that are looked at; the rest describes it. */
const maxTask = 600;

/** One bullet, or one part of a sentence. */
export interface Task {
  title: string;
  description: string;
  criteria: string[];
  /** Its list is numbered: what stands before it comes first. */
  ordered: boolean;
  /** Its number in a numbered list. */
  number: number | undefined;
  /** "then ...": the task before it comes first. */
  then: boolean;
  /** What it says it comes after, and before: other titles, numbers or keys, with the title if they are none. */
  after: string[];
  before: string[];
  /** The title as written, for a clause that turns out to be no reference. */
  written: string;
  children: Task[];
}

/** Tasks under one goal and one group; either may be missing. */
export interface Section {
  milestone: string | undefined;
  epic: string | undefined;
  tasks: Task[];
}

export interface Outline {
  sections: Section[];
  /** Prose that belongs to no task, by milestone ('' for none). */
  notes: Map<string, string[]>;
  /** Headings that count: "Phase 1", "2. ...": each milestone after the one before. */
  phased: boolean;
  /** Ticked boxes: left out. */
  ticked: number;
  /** The text has more than `maxLines`. */
  cut: boolean;
}

type Line =
  | { type: 'heading'; level: number; text: string }
  | { type: 'goal'; text: string }
  | { type: 'label'; text: string }
  | { type: 'bullet'; indent: number; number: number | undefined; ticked: boolean; text: string }
  | { type: 'prose'; text: string };

export function outlineOf(text: string): Outline {
  const lines = linesOf(text);
  return lines.some((line) => line.type !== 'prose') ? structured(lines) : prose(text);
}

/** Does the text hold a list or headings? */
export const hasStructure = (text: string): boolean =>
  linesOf(text).some((line) => line.type === 'bullet' || line.type === 'heading' || line.type === 'goal');

/** Lines that count: not blank, not in code blocks, at most `maxLines`. */
function linesOf(text: string): Line[] {
  const written = text.replace(/^[ \t]*(```|~~~)[^]*?(^[ \t]*\1|$(?![^]))/gm, '').split(/\r\n|\n|\r/);
  const raw = written.filter((line) => !isBlank(line)).slice(0, maxLines);
  return raw.map((line, i) => lineOf(line, bulletPattern.test(raw[i + 1] ?? '')));
}

const bulletPattern = /^(\s*)(?:[-*+•‣–]|(\d{1,3})[.)]|\(?([a-z])\))\s+(?:\[([ xX])\]\s+)?(\S.*)$/;

function lineOf(written: string, beforeBullet: boolean): Line {
  const bold = /^\s{0,3}()\*\*([^*]+?):?\*\*:?\s*$/;
  const heading = /^\s{0,3}(#{1,6})\s+(.+?)\s*#*$/.exec(written) ?? bold.exec(written);
  if (heading) return { type: 'heading', level: heading[1]?.length || 6, text: heading[2] ?? '' };
  const bullet = bulletPattern.exec(written);
  if (bullet) {
    const [, space = '', number, , box, text = ''] = bullet;
    const indent = space.replaceAll('\t', '    ').length;
    return { type: 'bullet', indent, number: number ? Number(number) : undefined, ticked: /x/i.test(box ?? ''), text };
  }
  const goal = /^\s*(?:goal|milestone|objective)s?\s*\d*\s*[:=-]\s+(\S.*)$/i.exec(written);
  if (goal) return { type: 'goal', text: goal[1] ?? '' };
  if (beforeBullet && /:\s*$/.test(written)) return { type: 'label', text: written.replace(/:\s*$/, '') };
  return { type: 'prose', text: written.trim() };
}

const phase = /^(?:(?:phase|step|stage|milestone|part|sprint)\s+\w+|\d+[.)])\s*[:.–—-]?\s*/i;

function structured(lines: readonly Line[]): Outline {
  const outline: Outline = { sections: [], notes: new Map(), phased: false, ticked: 0, cut: lines.length === maxLines };
  const topLevel = Math.min(...lines.map((line) => (line.type === 'heading' ? line.level : Infinity)));
  const firstList = lines.findIndex((line) => line.type === 'bullet' || line.type === 'heading');
  const goalAt = lines.findIndex((line, i) => i < firstList && goalLine(line));
  const goals = goalAt >= 0 || lines.some((line) => line.type === 'goal');
  let section: Section = { milestone: undefined, epic: undefined, tasks: [] };
  let stack: { indent: number; task: Task }[] = [];
  let phases = 0;

  const open = (milestone: string | undefined, epic: string | undefined): void => {
    section = { milestone: visible(milestone), epic: visible(epic), tasks: [] };
    stack = [];
    outline.sections.push(section);
  };
  open(undefined, undefined);

  lines.forEach((line, i) => {
    if (i === goalAt && line.type !== 'bullet') open(goalTitle(line.text), undefined);
    else if (line.type === 'goal') open(goalTitle(line.text), undefined);
    else if (line.type === 'heading') {
      const isPhase = phase.test(line.text);
      if (isPhase) phases++;
      const top = line.level === topLevel && (!goals || isPhase);
      const title = cleanTitle(line.text.replace(/^(?:goal|milestone|epic|group)\s*[:–—-]\s*/i, ''));
      if (top) open(title, undefined);
      else open(section.milestone, title);
    } else if (line.type === 'label') open(section.milestone, cleanTitle(line.text));
    else if (line.type === 'bullet') {
      if (line.ticked) outline.ticked++;
      else addBullet(section, stack, line);
    } else addProse(outline, section, stack, line.text);
  });
  outline.phased = phases >= 2;
  outline.sections = outline.sections.filter(
    ({ milestone, epic, tasks }) => tasks.length > 0 || (milestone ?? epic) !== undefined,
  );
  return outline;
}

const visible = (title: string | undefined): string | undefined => (isBlank(title ?? '') ? undefined : title);

const goalLine = (line: Line): boolean => (line.type === 'label' || line.type === 'prose') && namesGoal(line.text);

function addBullet(
  section: Section,
  stack: { indent: number; task: Task }[],
  line: Extract<Line, { type: 'bullet' }>,
): void {
  while ((stack.at(-1)?.indent ?? -1) >= line.indent) stack.pop();
  const task = taskOf(line.text, line.number);
  if (isBlank(task.title)) return;
  (stack.at(-1)?.task.children ?? section.tasks).push(task);
  stack.push({ indent: line.indent, task });
}

/** Indented prose under a bullet describes it; other prose describes the goal. */
function addProse(outline: Outline, section: Section, stack: { indent: number; task: Task }[], text: string): void {
  const task = stack.at(-1)?.task;
  if (task) task.description = [task.description, text].filter(Boolean).join('\n');
  else {
    const notes = outline.notes.get(section.milestone ?? '') ?? [];
    notes.push(text);
    outline.notes.set(section.milestone ?? '', notes);
  }
}

const afterWords = '(?:after|depends on|depending on|requires|is blocked by|blocked by|once|needs)';
const trailingAfter = new RegExp(
  `^(.+?)[\\s,;([–—-]+${afterWords}:?\\s+(.+?)(?:\\s+(?:is|are) (?:done|ready|finished|complete))?[)\\].]*$`,
  'i',
);
const leadingAfter = /^(?:after|once)\s+(.+?)(?:\s+(?:is|are) (?:done|ready|finished|complete))?,\s+(.+)$/i;
const trailingBefore = /^(.+?)[\s,;([–—-]+(?:before|blocks):?\s+(.+?)[)\].]*$/i;
const thenWords = /^(?:and\s+)?(?:then|next|finally|afterwards|after that|at last|last)\b[,:]?\s+/i;

export function taskOf(written: string, number?: number): Task {
  const task: Task = {
    title: '', description: '', criteria: [], ordered: number !== undefined, number, then: thenWords.test(written),
    after: [], before: [], written: '', children: [],
  };
  const head = firstCharacters(written, maxTask);
  if (head !== written) task.description = written;
  let text = head.replace(thenWords, '').trim();
  const purpose = /^(.+?)[,;]?\s+(so that|in order to)\s+(.+)$/i.exec(text);
  if (purpose) {
    text = purpose[1] ?? text;
    task.criteria.push(capitalised(`${purpose[2]} ${purpose[3]}`.replace(/[.\s]+$/, '')));
  }
  const named = /^(\*\*.{2,80}?\*\*|.{3,60}?)(?::|\s[–—-])\s+(\S.{20,})$/.exec(text);
  if (named && !new RegExp(`\\b${afterWords}:?$`, 'i').test(named[1] ?? '')) {
    text = named[1] ?? text;
    task.description ||= named[2] ?? '';
  }
  task.written = cleanTitle(text);
  const leading = leadingAfter.exec(text);
  const trailing = trailingAfter.exec(text);
  const before = trailingBefore.exec(text);
  if (leading) {
    task.after.push(leading[1] ?? '');
    text = leading[2] ?? text;
  } else if (trailing) {
    task.after.push(trailing[2] ?? '');
    text = trailing[1] ?? text;
  } else if (before) {
    task.before.push(before[2] ?? '');
    text = before[1] ?? text;
  }
  task.title = cleanTitle(text);
  return task;
}

const parts =
  /\s*(?:;|,\s*(?:and\s+)?(?=then\b|after that\b|finally\b)|,\s*and\s+|,\s+|\s+and\s+(?=then\b)|\s+(?=then\b))\s*/i;
const cutGoal = /^(.+?)(?::|,?\s+(?:with|including|consisting of|such as|by|which has|that has|containing))\s+(.+)$/i;

/** A goal in plain sentences: "Build X with A, B and then C." Further sentences are tasks of their own. */
function prose(text: string): Outline {
  const split = text.split(/(?<=[.!?])\s+|\n+/).map((part) => part.trim());
  const sentences = split.filter((part) => !isBlank(part)).slice(0, maxLines);
  const at = Math.max(0, sentences.findIndex(namesGoal));
  const goal = (sentences[at] ?? '').replace(/[?!.\s]+$/, '');
  const cut = cutGoal.exec(goal);
  const milestone = visible(goalTitle(cut?.[1] ?? goal)) ?? 'Plan';
  const listed = cut ? splitAnd((cut[2] ?? '').split(parts)) : [];
  const written = [...listed, ...sentences.slice(at + 1).flatMap(sentenceTasks)].slice(0, maxLines);
  const all = written.map((part) => taskOf(part.replace(/^(?:an?|the)\s+/i, '')));
  const tasks = all.filter((task) => !isBlank(task.title));
  const section = { milestone, epic: undefined, tasks: tasks.length > 0 ? tasks : usualSteps(milestone) };
  return { sections: [section], notes: new Map([[milestone, [text.trim()]]]), phased: false, ticked: 0, cut: false };
}

function sentenceTasks(sentence: string): string[] {
  if (/\?$/.test(sentence)) return [];
  return sentence.split(parts).map((part) => part.replace(wish, '$1'));
}

const wish = new RegExp(
  '^(then |finally )?(?:we|i|it|there|you|they)\\s+(?:also\\s+)?' +
    '(?:needs?|wants?|should|must|can|have|has)\\s+(?:to\\s+|be\\s+)?',
  'i',
);

/** "a, b and c, then d": the last part before the end or a "then" still holds two. */
function splitAnd(listed: readonly string[]): string[] {
  return listed.flatMap((part, i) => {
    const next = listed[i + 1];
    return next === undefined || thenWords.test(next) ? part.split(/\s+and\s+/i) : [part];
  });
}

/** A bare goal: the three steps that any of them needs. */
function usualSteps(goal: string): Task[] {
  const step = (title: string): Task => ({ ...taskOf(''), title: cleanTitle(title), written: cleanTitle(title) });
  const name = goal.charAt(0).toLowerCase() + goal.slice(1);
  return [
    step(`Clarify scope and acceptance criteria: ${name}`),
    { ...step(`Deliver: ${name}`), then: true },
    { ...step(`Test and hand over: ${name}`), then: true },
  ];
}
