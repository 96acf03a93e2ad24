// What the event reader knows of an attempt when its verdict is due (spec: bounded-claude 5).

import type { FailureKind } from './failures.ts';
import type { Json } from './envelope.ts';

export interface Result {
  success: boolean;
  text: string;
  fields: Json;
  errors: string[];
}

/** What the reader knows; the verdict is a function of it and of how the process ended. */
export interface Evidence {
  sessionId: string;
  model: string;
  ending: { failure_kind: FailureKind; detail: string } | undefined;
  init: Json | undefined;
  sessionIds: Set<string>;
  models: Set<string>;
  results: Result[];
  resultCount: number;
  /** Fields of the CLI's own error messages (`<synthetic>`), newest last, at most 5. */
  errors: Json[];
  retry: Json | undefined;
  upstreamIdle: boolean;
  refused: boolean;
  stopReason: string | undefined;
  continuations: number;
  broken: string[];
  notes: string[];
  events: number;
}

/** The same model, but for a suffix such as `[1m]`, which the CLI tells or leaves out. */
export const sameModel = (a: string, b: string): boolean => withoutSuffix(a) === withoutSuffix(b);
const withoutSuffix = (model: string): string => model.replace(/\[[\w-]+\]$/, '');
