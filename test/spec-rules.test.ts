// Every rule of docs/rules.md is cited by a test, and every rule that a test cites is there.

import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const root = new URL('../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8');

const files = readdirSync(new URL('test/', root), { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.test.ts'))
  .map((path) => ({ path, text: read(`test/${path}`) }));

/** `planner 5.3` of every title that begins so: 'spec: planner 5.3, 5.4: ...', also after 'reports f05, '. */
function citations(text: string): string[] {
  const titles = text.matchAll(
    /['"`](?:reports [a-z0-9, ]+[,:] )?spec: (planner|bounded-claude) ([0-9][0-9., and]*):/g,
  );
  return [...titles].flatMap(([, page, numbers]) => numbers!.split(/,| and /).map((number) => `${page} ${number.trim()}`));
}

const document = read('docs/rules.md');
const rules = [...document.matchAll(/^- \*\*([a-z-]+ \d+\.\d+)\*\* ./gm)].map(([, rule]) => rule!);
const sections = [...document.matchAll(/^## ([a-z-]+ \d+):/gm)].map(([, section]) => section!);
const cited = new Set(files.flatMap(({ text }) => citations(text)));

test('the rules are numbered through, section by section', () => {
  const pages = { planner: 13, 'bounded-claude': 9 };
  const all = Object.entries(pages).flatMap(([page, count]) => numbered(`${page} `, count));
  expect(sections).toEqual(all);
  const count = (section: string): number => rules.filter((rule) => rule.startsWith(`${section}.`)).length;
  expect(rules).toEqual(sections.flatMap((section) => numbered(`${section}.`, count(section))));
});

function numbered(before: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${before}${index + 1}`);
}

test('every rule is cited by a test', () => {
  expect(rules.filter((rule) => !cited.has(rule))).toEqual([]);
});

test('no test cites a rule that is not there', () => {
  const known = new Set([...rules, ...sections]);
  const unknown = files.flatMap(({ path, text }) =>
    citations(text).flatMap((rule) => (known.has(rule) ? [] : [`${path}: ${rule}`])),
  );
  expect(unknown).toEqual([]);
});

test('every guarantee names a test that there is', () => {
  const rows = read('docs/guarantees.md').split('\n').filter((line) => /^\| (?!what fails)/.test(line));
  expect(rows.length).toBeGreaterThan(40);
  const missing = rows.flatMap((row) => {
    const proof = row.split('|').at(-2)!;
    const named = [...proof.matchAll(/`([\w./-]+)`(?:: ((?:"[^"]+"(?:, )?)+))?/g)];
    if (named.length === 0) return [row];
    return named.flatMap(([, name, quoted]) => {
      const text = files.find(({ path }) => path === `${name}.test.ts`)?.text ?? benchOf(name!);
      if (text === undefined) return [`${name}: no such file`];
      const titles = [...(quoted ?? '').matchAll(/"([^"]+)"/g)].map(([, title]) => title!);
      return titles.filter((title) => !holds(text, title)).map((title) => `${name}: ${title}`);
    });
  });
  expect(missing).toEqual([]);
});

function benchOf(path: string): string | undefined {
  return path.startsWith('bench/') ? read(path) : undefined;
}

/** Whether a title is there, of which `...` leaves parts out. */
function holds(text: string, title: string): boolean {
  const plain = text.replaceAll("\\'", "'");
  return title.split('...').every((part) => plain.includes(part.trim()));
}
