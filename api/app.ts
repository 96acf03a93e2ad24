// What the parts of the API process share.

import type { Database } from '../store/database.ts';
import type { VerifyAccessToken } from '../store/issued-subjects.ts';
import type { RateLimit } from './limits.ts';
import type { Metrics } from './metrics.ts';

/** Tells the engine what was committed; a call that gets lost is made up for by the workers. */
export interface EngineDoor {
  sent(turn: string): void;
  cancelled(turn: string): void;
}

export interface App {
  database: Database;
  engine: EngineDoor;
  /** Judges access tokens of an identity provider, where one is configured. */
  verify: VerifyAccessToken | undefined;
  metrics: Metrics;
  limits: { requests: RateLimit; sends: RateLimit };
  model: { name: string; demo: boolean };
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
