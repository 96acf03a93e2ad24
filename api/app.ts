// What the parts of the API process share.

import type { EmbedQuery } from '../models/embeddings/index.ts';
import type { UsageRoom } from '../planner/usage.ts';
import type { Database } from '../store/database.ts';
import type { VerifyAccessToken } from '../store/issued-subjects.ts';
import type { Keyring } from '../store/sealing.ts';
import type { RateLimit } from './limits.ts';
import type { Metrics } from './metrics.ts';

/** Tells the engine what was committed; a call that gets lost is made up for by the workers. */
export interface EngineDoor {
  sent(turn: string): void;
  cancelled(turn: string): void;
}

/** What the API needs to know of models: presets, windows and prices, and what seals stored credentials. */
export interface ApiGateway extends Omit<UsageRoom, 'database'> {
  keys: Keyring;
  /** Tokens above which a conversation is compacted; 0: never. */
  compactAtTokens: number;
}

export interface App {
  database: Database;
  engine: EngineDoor;
  /** Judges access tokens of an identity provider, where one is configured. */
  verify: VerifyAccessToken | undefined;
  metrics: Metrics;
  limits: { requests: RateLimit; sends: RateLimit };
  model: { name: string; demo: boolean };
  gateway: ApiGateway;
  /** For searches; undefined where the query could not be embedded in time. */
  embedQuery: EmbedQuery;
  /** Answers that don't fit their route's declaration are faults. For tests. */
  checkAnswers: boolean;
  /** The Temporal UI's address and the namespace, for links. */
  temporal: { ui: string | undefined; namespace: string };
}

/** The link to a turn's workflow, where the UI's address is known. */
export function workflowUrl(app: App, turn: { workflow_id: string; run_id?: string }): string | undefined {
  if (!app.temporal.ui) return undefined;
  const base = app.temporal.ui.replace(/\/+$/, '');
  const run = turn.run_id ? `/${encodeURIComponent(turn.run_id)}/history` : '';
  const namespace = encodeURIComponent(app.temporal.namespace);
  return `${base}/namespaces/${namespace}/workflows/${encodeURIComponent(turn.workflow_id)}${run}`;
}
