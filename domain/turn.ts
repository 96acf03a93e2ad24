// The planner turn as its workflow and its activities know it: ids, counts and classes only (spec: orchestration).

import type { TurnReason } from './output.ts';

export const turnWorkflow = 'plannerTurn';
export const plannerTaskQueue = 'planner';
export const turnWorkflowId = (turn: string): string => `planner-turn-${turn}`;

export interface TurnInput {
  session: string;
  turn: string;
}

export interface TurnResult {
  reason: TurnReason | 'ended';
  /** Rounds that were begun: model calls, their retries not counted. */
  model_calls: number;
}

/** A call that the model made, by its position in the answer. A tool that does not exist is named 'unknown'. */
export interface CallRef {
  call: number;
  tool: string;
  writes: boolean;
}

export interface CallModelInput extends TurnInput {
  round: number;
  /**
   * possible: the workflow can answer `compact`. tried: it has done so in this turn, and the call goes out as it is.
   * Absent: a workflow that knows no compaction.
   */
  compaction?: 'possible' | 'tried';
}

/**
 * tools: run these, then call again. ended: the turn is over in the database. cancelled, max_rounds: end it so.
 * compact: the conversation is too long; run `compact`, then call again.
 */
export type CallModelOutcome =
  | { kind: 'tools'; calls: CallRef[] }
  | { kind: 'compact' }
  | { kind: 'ended'; reason: TurnReason }
  | { kind: 'cancelled' }
  | { kind: 'max_rounds' };

export interface CompactInput extends TurnInput {
  /** The round whose model call asked for it. */
  round: number;
}

/** skipped: there is nothing to summarize. failed: the turn goes on with the conversation as it is. */
export type CompactOutcome =
  | { kind: 'compacted' }
  | { kind: 'skipped' }
  | { kind: 'failed'; failure: FailureClass }
  | { kind: 'cancelled' }
  | { kind: 'ended'; reason: TurnReason };

export interface RunToolInput extends TurnInput {
  round: number;
  call: number;
}

export type RunToolOutcome = 'ok' | 'error' | 'cancelled' | 'ended';

export interface EndTurnInput extends TurnInput {
  reason: 'max_rounds' | 'cancelled' | 'error';
  /** With `error`: why, as a class; the text for humans is in the database or follows from the class. */
  failure?: FailureClass;
}

export interface TurnActivities {
  callModel(input: CallModelInput): Promise<CallModelOutcome>;
  compact(input: CompactInput): Promise<CompactOutcome>;
  runTool(input: RunToolInput): Promise<RunToolOutcome>;
  endTurn(input: EndTurnInput): Promise<TurnReason>;
}

/** Signal `cancel`: by whom a stop was asked for; a fact for operators, not an instruction. */
export interface CancelSignal {
  by: string;
}

/** Answer of the query `status`. */
export interface TurnStatus {
  phase: 'starting' | 'model call' | 'compaction' | 'tool calls' | 'ending' | 'ended';
  round: number;
  cancelled: boolean;
}

/** Most tool calls of one answer that are run; the rest get an error result. */
export const maxCallsPerAnswer = 128;
/** Read-only calls that run side by side. */
export const maxParallelCalls = 8;

/** Between the attempts of a model call; short at first, so that a lost worker's turn goes on at once. */
export const callBackoff = { initialMs: 200, coefficient: 2, maximumMs: 30_000 } as const;

/** Every class of failure that ends a turn or makes a new attempt; the only part of an error that enters a history. */
export const failureClasses = [
  'authentication',
  'permission',
  'not_found',
  'invalid_request',
  'context_length',
  'rate_limited',
  'overloaded',
  'server_error',
  'timeout',
  'connection',
  'cut_stream',
  'silent_stream',
  'bad_response',
  'not_configured',
  'budget',
  'forbidden',
  'hole',
  'stale',
  'worker_lost',
  'shutdown',
  'database',
  'workflow_lost',
  'internal',
] as const;
export type FailureClass = (typeof failureClasses)[number];

export function isFailureClass(text: string | null | undefined): text is FailureClass {
  return failureClasses.some((known) => known === text);
}

/** What a human is told where no better text was stored. */
export const failureTexts: Record<FailureClass, string> = {
  authentication: 'The model provider refused the key. Check PLANNER_MODEL_API_KEY, then send again.',
  permission: 'The model provider does not allow this key to use the model. Check key and model, then send again.',
  not_found: 'The model provider does not know the model or the address. Check PLANNER_MODEL and PLANNER_MODEL_BASE_URL.',
  invalid_request: 'The model provider refused the request. Check the model and its settings, then send again.',
  context_length: 'The conversation is too long for the model. Start a new session, or use a model with a larger window.',
  rate_limited: 'The model provider limits the rate of requests. Send again later.',
  overloaded: 'The model provider is overloaded. Send again later.',
  server_error: 'The model provider keeps failing. Send again later.',
  timeout: 'The model provider took too long to answer. Send again.',
  connection: 'The model provider cannot be reached. Check PLANNER_MODEL_BASE_URL and the network, then send again.',
  cut_stream: "The model provider's answer broke off again and again. Send again.",
  silent_stream: 'The model provider fell silent in mid-answer again and again. Send again.',
  bad_response: "The model provider's answer could not be read. Check that PLANNER_MODEL_BASE_URL is an OpenAI-compatible API.",
  not_configured: 'No usable model is configured. Set PLANNER_MODEL and PLANNER_MODEL_API_KEY, or store a credential.',
  budget: "Today's token budget is used up. An administrator can raise it; it is full again at 00:00 UTC.",
  forbidden: 'You may no longer change this project, so the planner stopped. Ask for the right tracker.write.',
  hole: 'A part of this turn is missing from the database, so the planner stopped. Send again.',
  stale: 'Another attempt took this turn over.',
  worker_lost: 'The workers were lost again and again while they answered. Send again.',
  shutdown: 'A worker was shut down while it answered.',
  database: 'The database could not be reached. Send again.',
  workflow_lost: "The turn's workflow was ended from outside. Send again.",
  internal: 'Something failed inside the planner; the log has the details. Send again.',
};
