// Times of a schedule: cron's five fields, in UTC, checked before anything is scheduled (spec: bounded-claude 9).

const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const days = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

interface Field {
  name: string;
  least: number;
  most: number;
  names?: readonly string[];
}

const fields: readonly Field[] = [
  { name: 'minute', least: 0, most: 59 },
  { name: 'hour', least: 0, most: 23 },
  { name: 'day of the month', least: 1, most: 31 },
  { name: 'month', least: 1, most: 12, names: months },
  { name: 'day of the week', least: 0, most: 7, names: days },
];

const shorthands: Readonly<Record<string, string>> = {
  '@hourly': '0 * * * *',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@weekly': '0 0 * * 0',
  '@monthly': '0 0 1 * *',
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
};

export interface Cron {
  /** Five fields, numbers only: what the engine is given. */
  text: string;
  /** For each field what it admits; days of the week from 0, Sunday. */
  sets: readonly ReadonlySet<number>[];
}

export type CronCheck = { ok: true; cron: Cron } | { ok: false; problem: string };

const form = 'Give five fields: minute hour day-of-month month day-of-week, in UTC, such as "0 3 * * 1".';

/**
 * Reads a cron expression: lists, ranges, steps, names of months and days, @daily and its like. One that gives both a
 * day of the month and a day of the week is refused, as programs differ in whether both must fit; so is one that never
 * comes.
 */
export function readCron(source: string): CronCheck {
  const no = (why: string): CronCheck => ({ ok: false, problem: `The schedule is refused: ${why} ${form}` });
  const given = source.trim().toLowerCase();
  const text = shorthands[given] ?? given;
  if (text.length > 1_000) return no('it is longer than 1,000 characters.');
  const parts = text.split(/\s+/);
  if (text.startsWith('@')) return no(`"${shown(text)}" is not known.`);
  if (parts.length !== fields.length) return no(`it has ${text === '' ? 0 : parts.length} fields.`);
  const sets: Set<number>[] = [];
  for (const [index, field] of fields.entries()) {
    const part = parts[index]!;
    const set = readField(part, field);
    if (!set) return no(`"${shown(part)}" is no ${field.name}.`);
    sets.push(set);
  }
  const week = sets[4]!;
  if (week.delete(7)) week.add(0);
  const plain = sets.map(plainField);
  if (plain[2] !== '*' && plain[4] !== '*') return no('it gives both a day of the month and a day of the week.');
  const cron = { text: plain.join(' '), sets };
  if (nextTimes(cron, new Date('2027-01-01T00:00:00Z'), 1).length === 0) return no('it never comes.');
  return { ok: true, cron };
}

const shown = (text: string): string => text.slice(0, 40);

const values = [60, 24, 31, 12, 7];

const plainField = (set: ReadonlySet<number>, index: number): string =>
  set.size === values[index] ? '*' : [...set].sort((a, b) => a - b).join(',');

function readField(part: string, { least, most, names }: Field): Set<number> | undefined {
  const set = new Set<number>();
  const value = (text: string): number | undefined => {
    const named = names?.indexOf(text) ?? -1;
    if (named >= 0) return named + (least === 1 ? 1 : 0);
    if (!/^\d{1,2}$/.test(text)) return undefined;
    const number = Number(text);
    return number >= least && number <= most ? number : undefined;
  };
  for (const piece of part.split(',')) {
    const match = /^(\*|[a-z0-9]+(?:-[a-z0-9]+)?)(?:\/(\d{1,2}))?$/.exec(piece);
    if (!match) return undefined;
    const [, range = '', stepText] = match;
    const step = stepText === undefined ? 1 : Number(stepText);
    if (step < 1) return undefined;
    const [first, last] = range.split('-');
    const from = range === '*' ? least : value(first!);
    const to = range === '*' ? most : last !== undefined ? value(last) : stepText === undefined ? from : most;
    if (from === undefined || to === undefined || from > to) return undefined;
    for (let number = from; number <= to; number += step) set.add(number);
  }
  return set;
}

const minuteMs = 60_000;
const dayMs = 86_400_000;
/** Enough for a 29 February, whatever century begins. */
const mostDays = 366 * 9;

/** The next times after `after`, in order; fewer than `count` only where it never comes, or not until `before`. */
export function nextTimes({ sets }: Pick<Cron, 'sets'>, after: Date, count: number, before?: Date): Date[] {
  const [minutes, hours, dates, monthSet, week] = sets as [
    ReadonlySet<number>,
    ReadonlySet<number>,
    ReadonlySet<number>,
    ReadonlySet<number>,
    ReadonlySet<number>,
  ];
  const found: Date[] = [];
  const start = Math.floor(after.getTime() / minuteMs) * minuteMs + minuteMs;
  const firstDay = Math.floor(start / dayMs) * dayMs;
  for (let day = 0; day < mostDays && found.length < count; day++) {
    const midnight = firstDay + day * dayMs;
    if (before && midnight > before.getTime()) break;
    const date = new Date(midnight);
    const fits = monthSet.has(date.getUTCMonth() + 1) && dates.has(date.getUTCDate()) && week.has(date.getUTCDay());
    if (!fits) continue;
    for (const hour of [...hours].sort((a, b) => a - b)) {
      for (const minute of [...minutes].sort((a, b) => a - b)) {
        const time = midnight + hour * 3_600_000 + minute * minuteMs;
        if (time < start || (before && time > before.getTime())) continue;
        if (found.length < count) found.push(new Date(time));
      }
    }
  }
  return found;
}
