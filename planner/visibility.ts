// How operators find and read a workflow in Temporal: search attributes, a link to the page, a summary
// (spec: orchestration "Operators"). Ids and fixed phrases only.

import { isGrpcServiceError, type Connection, type WorkflowStartOptions } from '@temporalio/client';
import { defineSearchAttributeKey, type SearchAttributePair } from '@temporalio/common';
import { runningStatus, searchAttributes, type SearchAttribute } from '../domain/search-attributes.ts';
import type { RunToStart } from '../store/runs.ts';
import type { TurnToStart } from '../store/turns.ts';

export interface Labels {
  summary: string;
  attributes: Partial<Record<SearchAttribute, string>>;
  /** Of the page, such as `/projects/WEB/chat/...`. */
  path: string;
}

/** What a start carries of them. */
export type Described = Pick<
  WorkflowStartOptions,
  'staticSummary' | 'staticDetails' | 'memo' | 'typedSearchAttributes'
>;

export function turnLabels({ project, session_id, human }: Omit<TurnToStart, 'id'>): Labels {
  return {
    summary: `planner turn, ${project}`,
    attributes: { PlannerProject: project, PlannerSession: session_id, PlannerHuman: human },
    path: `/projects/${project}/chat/${session_id}`,
  };
}

export function runLabels({ id, project, created_by, role }: RunToStart): Labels {
  return {
    summary: `bounded Claude planning run, ${project}`,
    attributes: { PlannerProject: project, PlannerHuman: created_by, BoundedRole: role },
    path: `/projects/${project}/runs/${id}`,
  };
}

/** `id`: of one; undefined: of all that a schedule starts. */
export function revalidationLabels(of: { id?: string; project: string; created_by: string; role: string }): Labels {
  return {
    summary: `re-validation of ${of.role}, ${of.project}`,
    attributes: { PlannerProject: of.project, PlannerHuman: of.created_by, BoundedRole: of.role },
    path: `/projects/${of.project}/runs/validation${of.id === undefined ? '' : `/${of.id}`}`,
  };
}

export interface VisibilityOptions {
  /** Of the page; undefined: workflows have no link to it. */
  publicUrl?: string | undefined;
  warn(message: string, error?: unknown): void;
  /** Milliseconds after a refusal until search attributes are tried again. Default 10 s. */
  againMs?: number;
}

const invalidArgument = 3;

/** One a process. */
export class Visibility {
  readonly #options: VisibilityOptions;
  #without = 0;
  #refusals = 0;
  #warned = false;

  constructor(options: VisibilityOptions) {
    this.#options = options;
  }

  /** Starts a workflow with its labels; where the server refuses search attributes, without them and with a warning. */
  async start<T>(labels: Labels, start: (described: Described) => Promise<T>): Promise<T> {
    const plain = this.#describe(labels);
    if (Date.now() < this.#without) return start(plain);
    try {
      return await start({ ...plain, typedSearchAttributes: pairs(labels) });
    } catch (error) {
      if (!isRefusal(error)) throw error;
      this.#without = Date.now() + (this.#options.againMs ?? 10_000);
      const started = await start(plain);
      // A server that was just told of them refuses them for some seconds.
      if (++this.#refusals > 1) this.#warn(error);
      return started;
    }
  }

  /** Makes the search attributes known in the namespace. Never fails: a server that refuses them is told once. */
  async register(connection: Pick<Connection, 'operatorService' | 'withDeadline'>, namespace: string): Promise<void> {
    try {
      await connection.withDeadline(Date.now() + 10_000, () => registerSearchAttributes(connection, namespace));
    } catch (error) {
      this.#warn(error);
    }
  }

  #describe({ summary, path }: Labels): Described {
    const { publicUrl } = this.#options;
    if (publicUrl === undefined) return { staticSummary: summary };
    const page = publicUrl.replace(/\/+$/, '') + path;
    return { staticSummary: summary, staticDetails: `[open in the planner](${page})`, memo: { page } };
  }

  #warn(error: unknown): void {
    if (this.#warned) return;
    this.#warned = true;
    this.#options.warn(
      'Temporal refuses search attributes: workflows start without them, and operators cannot search by project, ' +
        'status or failure. docs/operators.md has the commands that register them.',
      error,
    );
  }
}

const keyword = (name: SearchAttribute) => defineSearchAttributeKey(name, 'KEYWORD');

function pairs({ attributes }: Labels): SearchAttributePair[] {
  const all = Object.entries({ ...attributes, PlannerStatus: runningStatus }) as [SearchAttribute, string][];
  return all.map(([name, value]) => ({ key: keyword(name), value }));
}

/** INDEXED_VALUE_TYPE_KEYWORD of Temporal's API. */
const keywordType = 2;

/** The search attributes that the namespace does not know. */
export async function missingSearchAttributes(
  connection: Pick<Connection, 'operatorService'>,
  namespace: string,
): Promise<SearchAttribute[]> {
  const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
  return searchAttributes.filter((name) => !(name in customAttributes));
}

async function registerSearchAttributes(
  connection: Pick<Connection, 'operatorService'>,
  namespace: string,
): Promise<void> {
  const missing = await missingSearchAttributes(connection, namespace);
  if (missing.length === 0) return;
  const types = Object.fromEntries(missing.map((name) => [name, keywordType]));
  try {
    await connection.operatorService.addSearchAttributes({ namespace, searchAttributes: types });
  } catch (error) {
    // Another worker may have been faster.
    if ((await missingSearchAttributes(connection, namespace)).length > 0) throw error;
  }
}

function isRefusal(error: unknown): boolean {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  return isGrpcServiceError(cause) && Number(cause.code) === invalidArgument;
}
