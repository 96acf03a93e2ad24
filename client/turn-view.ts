// Folds a turn's outputs into what a person sees of it. Pure: the page and the terminal draw from the same view.

import type { Output } from './wire.ts';

export interface TextPart {
  type: 'text';
  text: string;
  /** True while the model call that streams it has not been stored; a further attempt of that call voids it. */
  open: boolean;
}

export interface ToolPart {
  type: 'tool';
  tool_use_id: string;
  tool: string;
  input: unknown;
  /** Absent while the call runs. */
  result?: { text: string; is_error: boolean };
}

export type Part = TextPart | ToolPart;

export interface TurnView {
  session?: string;
  /** The turn that the view shows; absent before the first output. */
  turn?: string;
  status: 'idle' | 'running' | 'ended';
  /** Text and tool calls in the order in which they came, over all rounds. */
  parts: readonly Part[];
  /** The newest attempt of the model call in progress. */
  attempt: number;
  /** Set from a `retrying` output until the new attempt says something. */
  retrying?: { attempt: number; reason: string };
  /** The earlier conversation, up to this message's number, was summarized for the model in this turn. */
  compacted?: number;
  /** A text a human can act on. */
  error?: string;
  /** Why the turn ended: end_turn, max_tokens, refusal, max_rounds, cancelled or error. */
  reason?: string;
  /** Numbers of the transcript's messages that the turn has stored so far. */
  messages: readonly number[];
  /** The number of the newest output folded in; 0 before the first. */
  last: number;
}

export const emptyView: TurnView = { status: 'idle', parts: [], attempt: 0, messages: [], last: 0 };

/**
 * The view after one more output. An output that the view has seen already (by its session's number) changes nothing;
 * the first output of another turn begins a new view. Text of a later attempt voids what earlier attempts of the same
 * model call streamed, and keeps the text of earlier rounds. (spec: planner 7)
 */
export function fold(view: TurnView, output: Output): TurnView {
  if (output.session === view.session && output.output <= view.last) return view;
  const base: TurnView =
    view.turn === output.turn
      ? { ...view, last: output.output }
      : { ...emptyView, session: output.session, turn: output.turn, status: 'running', last: output.output };

  switch (output.type) {
    case 'text':
      return addText(base, output);
    case 'tool_call':
      return { ...seal(base), parts: [...sealed(base.parts), toolPart(output, output.input)] };
    case 'tool_result':
      return { ...base, parts: withResult(base.parts, output) };
    case 'message':
      return { ...seal(base), messages: [...base.messages, output.seq] };
    case 'compacted':
      return { ...base, compacted: output.up_to };
    case 'retrying':
      if (output.attempt < base.attempt) return base;
      return {
        ...base,
        parts: withoutOpen(base.parts),
        attempt: output.attempt,
        retrying: { attempt: output.attempt, reason: output.reason },
      };
    case 'error':
      return { ...quiet(base), error: output.text };
    case 'done':
      // Text that no message holds by now was never stored.
      return { ...quiet(base), parts: withoutOpen(base.parts), attempt: 0, status: 'ended', reason: output.text };
    default:
      // A newer API may know more types; what they say is no part of this view.
      return base;
  }
}

/** The answer's text so far, over all rounds; a blank line between rounds. */
export function textSoFar(view: TurnView): string {
  return view.parts
    .filter((part) => part.type === 'text')
    .map((part) => part.text)
    .join('\n\n');
}

/** The text of the model call in progress, which may yet be voided; empty when none is open. */
export function openText(view: TurnView): string {
  const last = view.parts.at(-1);
  return last?.type === 'text' && last.open ? last.text : '';
}

/** Ids of the changesets that the turn has proposed, in order. */
export function proposedChangesets(view: TurnView): string[] {
  return view.parts.flatMap((part) => {
    if (part.type !== 'tool' || part.tool !== 'propose_changeset' || !part.result || part.result.is_error) return [];
    try {
      const result: unknown = JSON.parse(part.result.text);
      if (typeof result !== 'object' || result === null || !('changeset' in result)) return [];
      return typeof result.changeset === 'string' ? [result.changeset] : [];
    } catch {
      return [];
    }
  });
}

type TextOutput = Extract<Output, { type: 'text' }>;
type CallOutput = Extract<Output, { type: 'tool_call' }>;
type ResultOutput = Extract<Output, { type: 'tool_result' }>;

function addText(view: TurnView, output: TextOutput): TurnView {
  if (output.attempt < view.attempt) return view;
  const fresh = output.replace === true || output.attempt > view.attempt;
  const kept = fresh ? withoutOpen(view.parts) : view.parts;
  const before = openPart(kept)?.text ?? '';
  const text = before + output.text;
  const parts = before === '' ? kept : kept.slice(0, -1);
  return {
    ...quiet(view),
    attempt: output.attempt,
    parts: text === '' ? parts : [...parts, { type: 'text', text, open: true }],
  };
}

/** The model call in progress is stored: its text stands, and the next call counts its attempts anew. */
function seal(view: TurnView): TurnView {
  return { ...quiet(view), parts: sealed(view.parts), attempt: 0 };
}

function quiet(view: TurnView): TurnView {
  const { retrying: _, ...rest } = view;
  return rest;
}

function openPart(parts: readonly Part[]): TextPart | undefined {
  const last = parts.at(-1);
  return last?.type === 'text' && last.open ? last : undefined;
}

function sealed(parts: readonly Part[]): readonly Part[] {
  const last = openPart(parts);
  return last ? [...parts.slice(0, -1), { ...last, open: false }] : parts;
}

function withoutOpen(parts: readonly Part[]): readonly Part[] {
  return openPart(parts) ? parts.slice(0, -1) : parts;
}

function toolPart(output: CallOutput | ResultOutput, input: unknown): ToolPart {
  return { type: 'tool', tool_use_id: output.tool_use_id, tool: output.tool, input };
}

/** Tool call ids are unique within an answer, not within a turn: the newest call of that id is meant. */
function withResult(parts: readonly Part[], output: ResultOutput): readonly Part[] {
  const result = { text: output.text, is_error: output.is_error };
  const index = parts.findLastIndex((part) => part.type === 'tool' && part.tool_use_id === output.tool_use_id);
  if (index < 0) return [...parts, { ...toolPart(output, {}), result }];
  return parts.map((part, i) => (i === index && part.type === 'tool' ? { ...part, result } : part));
}
