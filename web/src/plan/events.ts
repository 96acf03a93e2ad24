// An item's events in words. Pure.

import type { Event } from '../../../client/index.ts';
import { fieldWords, listed, mergeWords, reviewWords, stateWords, typeWords } from './words.ts';

type Happened = Pick<Event, 'type' | 'payload'>;

/** What happened to the item with that key: "Title changed from “A” to “B”". */
export function eventWords(key: string, { type, payload }: Happened): string {
  switch (type) {
    case 'item.created':
      return 'Created';
    case 'item.updated':
      return updateWords(payload['changes']);
    case 'item.state_changed':
      return `Moved from ${valueWords(payload['from'])} to ${valueWords(payload['to'])}`;
    case 'dependency.added':
      return `Dependency added: ${edgeWords(key, payload)}`;
    case 'dependency.removed':
      return `Dependency removed: ${edgeWords(key, payload)}`;
    default:
      return type;
  }
}

/** An item's writes after a moment, oldest first. */
export function writesSince(events: readonly Event[], time: string): Event[] {
  const from = Date.parse(time);
  return events.filter(({ type, occurred_at }) => type.startsWith('item.') && Date.parse(occurred_at) > from);
}

/** The item's version after that event, where it is a write. */
export function versionOf({ type, payload }: Happened): number | undefined {
  const version = payload['version'];
  return type.startsWith('item.') && typeof version === 'number' ? version : undefined;
}

const fieldNames: Record<string, string> = fieldWords;

function updateWords(changes: unknown): string {
  const fields = Object.entries(isRecord(changes) ? changes : {});
  if (fields.length === 0) return 'Written without a difference';
  return listed(fields.map(([field, change]) => changeWords(fieldNames[field] ?? field, change)));
}

function changeWords(field: string, change: unknown): string {
  const { from, to } = isRecord(change) ? change : {};
  if (to === undefined) return `${field} changed`;
  if (to === '') return `${field} removed (was ${valueWords(from)})`;
  return `${field} changed from ${valueWords(from)} to ${valueWords(to)}`;
}

const known: Record<string, string> = { ...stateWords, ...typeWords, ...reviewWords, ...mergeWords };

function valueWords(value: unknown): string {
  if (typeof value !== 'string' || value === '') return 'none';
  if (/^[A-Z][A-Z0-9]+-\d+$/.test(value)) return value;
  return known[value] ?? `“${value}”`;
}

function edgeWords(key: string, { type, from, to }: Event['payload']): string {
  const other = String(from === key ? to : from);
  if (type === 'relates') return `relates to ${other}`;
  return from === key ? `blocks ${other}` : `is blocked by ${other}`;
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;
