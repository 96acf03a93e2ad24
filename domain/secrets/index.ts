// Secret-like text: found by shape, by place and by the ecosystem's rules, and redacted (spec: bounded-claude 2 and 6).

import { findAssignments, findHeaders, findUrls } from './assignments.ts';
import { findByRules } from './secretlint.ts';
import { findTokens, type Found } from './shapes.ts';

/** A secret-like text. `start` and `end` are UTF-16 indices, `line` is 1-based; the value is never part of it. */
export interface Secret {
  kind: string;
  line: number;
  start: number;
  end: number;
}

export interface Redaction {
  text: string;
  secrets: Secret[];
}

/**
 * Secret-like texts in order, none overlapping another (spec: bounded-claude 2). Pure; async as the scanner's rules
 * are.
 */
export async function findSecrets(text: string): Promise<Secret[]> {
  const seen = visibleOf(text);
  return located(text, [...(await found(text)), ...(seen ? seen.back(await found(seen.text)) : [])]);
}

async function found(text: string): Promise<Found[]> {
  const own = known(text);
  const rest = (await findByRules(text)).map((rule) => {
    const same = own.find((one) => rule.start < one.start && one.start < rule.end);
    return same ? { ...rule, start: same.start } : rule;
  });
  return [...own, ...rest];
}

/** The same without the ecosystem's rules, for places that can't wait; every kind of the specification is among it. */
export function findKnownSecrets(text: string): Secret[] {
  const seen = visibleOf(text);
  return located(text, [...known(text), ...(seen ? seen.back(known(seen.text)) : [])]);
}

/**
 * Replaces each secret-like text by `[redacted: <kind>]`. Give it the joined text of all deltas or events: a secret
 * split over two of them is whole there. Redacting twice changes nothing more.
 */
export async function redact(text: string): Promise<Redaction> {
  const secrets = await findSecrets(text);
  return { text: replaced(text, secrets), secrets };
}

/** `redact` without the ecosystem's rules: for details of failures and the tail of stderr. */
export function redactKnown(text: string): string {
  return replaced(text, findKnownSecrets(text));
}

/**
 * How much of a text that still grows may be shown: UTF-16 units up to the end of its last whole line outside of an
 * unfinished private key. What follows may be the first half of a secret.
 */
export function settledLength(text: string): number {
  const end = Math.max(text.lastIndexOf('\n'), text.lastIndexOf('\r')) + 1;
  const key = text.lastIndexOf('-----BEGIN ', end);
  if (key < 0) return end;
  const block = text.slice(key, end);
  const open = /^-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY/.test(block) && !block.includes('-----END ');
  return open && block.length < 20_000 ? key : end;
}

/** What has no width counts as nothing: a secret with such a character inside is one all the same. */
const invisible = /[\p{Cf}\p{DI}\0-\x08\x0e-\x1f\x7f]/u;

interface Visible {
  text: string;
  /** Places in `text` as places in the whole text. */
  back(found: Found[]): Found[];
}

/** The text without characters that nobody sees; undefined where there are none. */
function visibleOf(text: string): Visible | undefined {
  if (!invisible.test(text)) return undefined;
  const places: number[] = [];
  let at = 0;
  let seen = '';
  for (const character of text) {
    if (!invisible.test(character)) {
      seen += character;
      for (let unit = 0; unit < character.length; unit++) places.push(at + unit);
    }
    at += character.length;
  }
  const back = ({ kind, start, end }: Found): Found => ({ kind, start: places[start]!, end: places[end - 1]! + 1 });
  return { text: seen, back: (all) => all.filter((one) => one.end > one.start).map(back) };
}

const known = (text: string): Found[] => [
  ...findTokens(text),
  ...findAssignments(text),
  ...findHeaders(text),
  ...findUrls(text),
];

/** Sorted and merged; of overlapping finds the widest stays, and at the same place the first, more exact kind. */
function located(text: string, found: Found[]): Secret[] {
  const sorted = found.filter((one) => one.end > one.start).sort((a, b) => a.start - b.start || b.end - a.end);
  const merged: Found[] = [];
  for (const one of sorted) {
    const last = merged.at(-1);
    if (last && one.start < last.end) last.end = Math.max(last.end, one.end);
    else merged.push({ ...one });
  }
  let line = 1;
  let at = 0;
  return merged.map(({ kind, start, end }) => {
    line += (text.slice(at, start).match(/\r\n|\r|\n/g) ?? []).length;
    at = start;
    return { kind, line, start, end };
  });
}

function replaced(text: string, secrets: Secret[]): string {
  let result = '';
  let at = 0;
  for (const { kind, start, end } of secrets) {
    result += `${text.slice(at, start)}[redacted: ${kind}]`;
    at = end;
  }
  return result + text.slice(at);
}
