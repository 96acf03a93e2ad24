// The log of every process: a line of JSON an entry, on stderr, with the ids of the work that it is about. Ids, counts,
// classes and fixed phrases; details of a fault at the levels warn and error only (spec: orchestration).

import { AsyncLocalStorage } from 'node:async_hooks';

export const levels = ['error', 'warn', 'info', 'debug'] as const;
export type Level = (typeof levels)[number];

/** What an entry is about. */
export interface LogIds {
  /** 32 hex digits: of the request that all of it comes from. */
  trace_id?: string;
  session?: string;
  turn?: string;
  /** Of a bounded run. */
  run?: string;
  workflow?: string;
  workflow_run?: string;
  activity?: string;
  attempt?: number;
}

export type Fields = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** Characters of an error's message, and of its stack, at most. */
const messageLimit = 500;
const stackLimit = 4_000;

const contexts = new AsyncLocalStorage<LogIds>();
let processName = 'planner';
let shown = levels.indexOf('warn');

/** Names the process in its entries, and sets the least level that is written. Until then: warn. */
export function openLog(name: string, level: Level): void {
  processName = name;
  shown = levels.indexOf(level);
}

/** Entries that are written while `work` runs, and what it has begun, carry these ids beside those around it. */
export function withIds<T>(ids: LogIds, work: () => T): T {
  return contexts.run({ ...contexts.getStore(), ...ids }, work);
}

/** Adds ids that a row has told to the work that runs, where `withIds` has begun it and does not know them better. */
export function noteIds(ids: LogIds): void {
  const store = contexts.getStore();
  if (store) Object.assign(store, { ...ids, ...store });
}

export const currentIds = (): LogIds => contexts.getStore() ?? {};

export function log(level: Level, message: string, fields: Fields = {}): void {
  if (levels.indexOf(level) > shown) return;
  const time = new Date().toISOString();
  const entry = { time, level, process: processName, message, ...contexts.getStore(), ...fields };
  console.error(JSON.stringify(entry));
}

export const logInfo = (message: string, fields?: Fields): void => log('info', message, fields);

/** `error`: what it comes from; its stack is left out. */
export function logWarning(message: string, error?: unknown, fields?: Fields): void {
  const { stack: _, ...rest } = error === undefined ? {} : faultOf(error);
  log('warn', message, { ...rest, ...fields });
}

/** Details of a fault stay here; users get a fixed sentence. */
export function logError(message: string, error?: unknown, fields?: Fields): void {
  log('error', message, { ...(error === undefined ? {} : faultOf(error)), ...fields });
}

function faultOf(error: unknown): Record<string, string> {
  const { message, stack, name, code }: Error & { code?: unknown } =
    error instanceof Error ? error : new Error(String(error));
  return {
    error: name,
    ...(code === undefined ? {} : { code: String(code) }),
    reason: message.slice(0, messageLimit),
    ...(stack === undefined ? {} : { stack: stack.slice(0, stackLimit) }),
  };
}
