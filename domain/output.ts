// Turn outputs: what watchers of a session are told, in order (spec: planner 7).

export type TurnReason = 'end_turn' | 'max_tokens' | 'refusal' | 'max_rounds' | 'cancelled' | 'error';

export type OutputBody =
  | { type: 'text'; text: string; replace?: true }
  | { type: 'tool_call'; tool: string; tool_use_id: string; input: unknown }
  | { type: 'tool_result'; tool: string; tool_use_id: string; text: string; is_error: boolean }
  | { type: 'message'; seq: number }
  | { type: 'compacted'; up_to: number }
  | { type: 'retrying'; reason: string }
  | { type: 'error'; text: string }
  | { type: 'done'; text: TurnReason };

/** An output as its writer knows it; its number is given when it is stored. */
export interface NewOutput {
  session: string;
  turn: string;
  /** The attempt of the model call that it belongs to; what an earlier attempt of the same call streamed is void. */
  attempt: number;
  body: OutputBody;
}

export interface StoredOutput extends NewOutput {
  /** Ascends per session in commit order; dense. */
  output: number;
}
