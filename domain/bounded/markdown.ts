// Headings and sections of packets and plans, as a Markdown parser sees them (spec: bounded-claude 2 and 6).

import type { Nodes, RootContent } from 'mdast';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { isBlank } from '../text.ts';

/** What is wrong, where, how to mend it. The message never holds a secret's value. `line` is 1-based. */
export interface Problem {
  code: ProblemCode;
  line?: number;
  message: string;
}

export type ProblemCode =
  | 'not_utf8'
  | 'nul'
  | 'lone_surrogate'
  | 'line_ending'
  | 'too_long'
  | 'secret'
  | 'title'
  | 'preamble'
  | 'fenced'
  | 'missing_section'
  | 'extra_section'
  | 'repeated_section'
  | 'section_order'
  | 'empty_section'
  | 'truncation';

/** An ATX heading at the margin, outside of code, comments, lists and quotes. */
interface Heading {
  depth: number;
  name: string;
  line: number;
  start: number;
  end: number;
}

export interface Section {
  name: string;
  line: number;
  /** The source between this heading and the next of level 2, HTML comments left out. */
  body: string;
  /** True when a reader sees nothing: white space, zero-width characters, comments, empty fences, rules. */
  empty: boolean;
}

export interface Outline {
  /** Level-1 headings, in order. */
  titles: { name: string; line: number }[];
  /** Level-2 sections, in order. */
  sections: Section[];
  /** Lines that look like a heading of level 1 or 2 to a reader, yet are none, and why. */
  near: { name: string; line: number; why: string }[];
}

/** One BOM at the start counts as nothing (spec: bounded-claude 2). */
export const withoutBom = (text: string): string => (text.charCodeAt(0) === 0xfeff ? text.slice(1) : text);

/**
 * Emphasis and links say nothing about sections, underlined lines are text here, and for some texts their parsing takes
 * minutes.
 */
const blocks = { disable: { null: ['attention', 'labelStartLink', 'labelStartImage', 'labelEnd', 'setextUnderline'] } };

const marker = /[ \t]{0,3}(?:>|[-+*]|\d{1,9}[.)])[ \t]?/y;
const deepest = 50;

/** The text at the same length, its lists and quotes at most 50 deep in a line: deeper ones exhaust the parser. */
function shallow(text: string): string {
  return text.replace(/^[ \t]*(?:>|[-+*]|\d)[^\r\n]{100,}/gm, (line) => {
    let end = 0;
    let depth = 0;
    let kept = line.length;
    for (marker.lastIndex = 0; marker.test(line); end = marker.lastIndex) {
      if (++depth === deepest) kept = marker.lastIndex;
    }
    return depth <= deepest ? line : line.slice(0, kept) + '.'.repeat(end - kept) + line.slice(end);
  });
}

/** Reads the outline of a text; LF, CRLF and a lone CR end lines, nothing else does. */
export function outline(text: string): Outline {
  const nodes = fromMarkdown(shallow(text), { extensions: [blocks] }).children;
  const titles: Outline['titles'] = [];
  const near: Outline['near'] = [];
  const parts: { heading: Heading; inside: RootContent[] }[] = [];
  for (const node of nodes) {
    const heading = headingOf(node, text);
    if (heading && 'why' in heading) near.push(heading);
    near.push(...hidden(node, text));
    if (heading && 'depth' in heading && heading.depth === 2) parts.push({ heading, inside: [] });
    else parts.at(-1)?.inside.push(node);
    if (heading && 'depth' in heading && heading.depth === 1) titles.push(heading);
  }
  const sections = parts.map(({ heading, inside }, index) => {
    const end = parts[index + 1]?.heading.start ?? text.length;
    const body = visibleSource(text, heading.end, end, inside);
    return { name: heading.name, line: heading.line, body, empty: isBlank(inside.map(visible).join('')) };
  });
  return { titles, sections, near };
}

const startOf = (node: Nodes): number => node.position?.start.offset ?? 0;
const endOf = (node: Nodes): number => node.position?.end.offset ?? 0;
const sourceOf = (node: Nodes, text: string): string => text.slice(startOf(node), endOf(node));

function headingOf(node: RootContent, text: string): Heading | Outline['near'][number] | undefined {
  if (node.type !== 'heading') return undefined;
  const source = sourceOf(node, text);
  const start = node.position?.start;
  const line = start?.line ?? 1;
  const atx = /^(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$/.exec(source);
  if (!atx) return undefined;
  const name = (atx[2] ?? '').replace(/[ \t]+$/, '');
  if (start?.column !== 1) return { name, line, why: 'it is indented: move it to the margin' };
  return { depth: atx[1]!.length, name, line, start: startOf(node), end: endOf(node) };
}

/** Heading-like lines inside a node that keeps them from being headings. */
function hidden(node: RootContent, text: string): Outline['near'] {
  if (node.type === 'paragraph') return pretended(node, text);
  const why =
    node.type === 'code' ? 'it stands inside a code fence or an indented block'
    : node.type === 'html' ? 'it stands inside a comment or an HTML block'
    : undefined;
  if (!why) return [];
  return linesOf(node, text).flatMap(({ source, line }) => {
    const name = /^#{1,2}[ \t]+(.*?)[ \t]*$/.exec(source)?.[1];
    return name === undefined ? [] : [{ name, line, why }];
  });
}

/** Bold lines, and lines over a row of hyphens or equals signs. */
function pretended(node: RootContent, text: string): Outline['near'] {
  const lines = linesOf(node, text);
  const after = /^(?:\r\n|[\r\n])([^\r\n]*)/.exec(text.slice(endOf(node), endOf(node) + 200))?.[1] ?? '';
  return lines.flatMap(({ source, line }, index) => {
    const bold = /^(?:\*\*|__)(.+?)(?:\*\*|__)[ \t]*$/.exec(source)?.[1];
    if (bold !== undefined) {
      return [{ name: bold, line, why: 'it is bold text, not a heading: begin the line with `##`' }];
    }
    const under = lines[index + 1]?.source ?? after;
    if (!/^ {0,3}(?:=+|-+)[ \t]*$/.test(under)) return [];
    return [{ name: source, line, why: 'it is underlined: begin the line with `##` instead' }];
  });
}

function linesOf(node: Nodes, text: string): { source: string; line: number }[] {
  const first = node.position?.start.line ?? 1;
  return sourceOf(node, text).split(/\r\n|[\r\n]/).map((source, index) => ({ source, line: first + index }));
}

const withoutComments = (html: string): string => html.replace(/<!--[\s\S]*?(?:-->|$)/g, '');

/** What a reader sees of a node. */
function visible(node: Nodes): string {
  switch (node.type) {
    case 'html':
      return withoutComments(node.value);
    case 'thematicBreak':
      return '';
    case 'image':
    case 'definition':
      return node.url;
    default:
      if ('value' in node) return node.value;
      return 'children' in node ? node.children.map(visible).join('') : '';
  }
}

/** The source of a section without its comments. */
function visibleSource(text: string, start: number, end: number, nodes: Nodes[]): string {
  const comments: [number, number][] = [];
  const collect = (node: Nodes): void => {
    if (node.type === 'html') {
      for (const match of node.value.matchAll(/<!--[\s\S]*?(?:-->|$)/g)) {
        comments.push([startOf(node) + match.index, startOf(node) + match.index + match[0].length]);
      }
    }
    if ('children' in node) node.children.forEach(collect);
  };
  nodes.forEach(collect);
  let source = '';
  let at = start;
  for (const [from, to] of comments) {
    source += text.slice(at, from);
    at = to;
  }
  return source + text.slice(at, end);
}

/** Names of the characters of a heading that only look like those of the right name. */
export function oddCharacters(name: string): string[] {
  const odd = name.match(/[^\x20-\x7e]/gu) ?? [];
  return [...new Set(odd)].map((char) => `U+${char.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`);
}

/** A heading's name as a hurried reader takes it: dashes alike, no zero-width characters, no case, no ornaments. */
function folded(name: string): string {
  return name
    .replace(/[\u2010-\u2015\u2212\u00ad\ufe58\ufe63\uff0d]/g, '-')
    .normalize('NFKC')
    .replace(/\p{Cf}/gu, '')
    .replace(/[*_`]/g, '')
    .replace(/^\s*\d+[.)]\s*/, '')
    .replace(/[\s:.]+$/, '')
    .replace(/\s+/g, ' ')
    .trim()
    .toLowerCase();
}

/** The required name that a heading was probably meant to be, if it is not that name already. */
export function meant(name: string, required: readonly string[]): string | undefined {
  if (required.includes(name)) return undefined;
  const key = folded(name);
  return required.find((candidate) => folded(candidate) === key);
}

/** How a heading differs from the name it was meant to be. */
export function difference(name: string, right: string): string {
  const odd = oddCharacters(name);
  if (odd.length > 0) return `it holds ${odd.join(', ')} instead of plain characters`;
  if (/:\s*$/.test(name)) return 'it ends with a colon';
  if (name.toLowerCase() === right.toLowerCase()) return 'upper and lower case differ';
  return 'it is written differently';
}

/** What a document of the contract must look like; `accepts` maps a section to further names it may have. */
export interface Shape {
  what: 'packet' | 'plan';
  title: string;
  sections: readonly string[];
  accepts?: ReadonlyMap<string, string>;
}

/**
 * Problems of a document's sections: each missing, extra, repeated, reordered or empty one, all together, in the
 * order of the lines.
 */
export function sectionProblems(found: Outline, shape: Shape): Problem[] {
  const allowed = [...shape.sections, ...(shape.accepts?.keys() ?? [])];
  const canonical = (name: string): string => shape.accepts?.get(name) ?? name;
  const problems: Problem[] = [];
  const seen = new Map<string, number>();
  const close = new Set<string>();
  let last = -1;
  for (const section of found.sections) {
    const { line } = section;
    const name = canonical(section.name);
    const index = shape.sections.indexOf(name);
    if (index < 0) {
      const right = meant(section.name, allowed);
      if (right) close.add(canonical(right));
      const why = right ? `: ${difference(section.name, right)}; write \`## ${right}\`` : `; ${remove(shape)}`;
      const message = `${quoted(section.name)} is no section of a ${shape.what}${why}.`;
      problems.push({ code: 'extra_section', line, message });
      continue;
    }
    const before = seen.get(name);
    if (before !== undefined) {
      const message = `Section \`${name}\` occurs again (first at line ${before}); keep one of them.`;
      problems.push({ code: 'repeated_section', line, message });
      continue;
    }
    seen.set(name, line);
    if (index < last) {
      const message = `Section \`${name}\` stands too late; the order is ${shape.sections.join(', ')}.`;
      problems.push({ code: 'section_order', line, message });
    }
    last = Math.max(last, index);
    if (section.empty) {
      const message = `Section \`${name}\` is empty: comments, white space and invisible characters are no content.`;
      problems.push({ code: 'empty_section', line, message: `${message} Write its text, or \`None.\`` });
    }
  }
  return [...problems, ...missing(found, shape, seen, close)];
}

const remove = (shape: Shape): string =>
  `make it a \`###\` heading or remove it (sections: ${shape.sections.join(', ')})`;

function missing(found: Outline, shape: Shape, seen: Map<string, number>, close: Set<string>): Problem[] {
  return shape.sections
    .filter((name) => !seen.has(name) && !close.has(name))
    .map((name) => {
      const near = found.near.find((candidate) => folded(candidate.name) === folded(name));
      const base = `Section \`${name}\` is missing`;
      if (!near) return { code: 'missing_section', message: `${base}; add a line \`## ${name}\` and its text.` };
      const why = `line ${near.line} does not count as one, because ${near.why}.`;
      return { code: 'missing_section', line: near.line, message: `${base}: ${why}` };
    });
}

/** A heading's name for a message: short, visible, without the characters that would break the line. */
function quoted(name: string): string {
  const shown = name.replace(/[\p{C}\p{Z}]+/gu, ' ').replace(/`/g, "'");
  return `\`## ${shown.length > 60 ? `${shown.slice(0, 60)}…` : shown}\``;
}
