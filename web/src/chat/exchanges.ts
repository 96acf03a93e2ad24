// A conversation as it is drawn: one exchange a turn, what the human said and what came of it. Pure.

import type { Message, Part, TurnView } from '../../../client/index.ts';
import type { ConversationState } from './conversation.ts';

export interface Exchange {
  /** Absent while the message is on its way. */
  turn?: string;
  human?: { text: string; author?: string; created_at?: string };
  parts: readonly Part[];
  /** More may come. */
  running: boolean;
  retrying?: TurnView['retrying'];
  /** As heard live; a turn of the past tells it by itself. */
  reason?: string;
  error?: string;
}

/** What the transcript has; oldest first. */
export function storedExchanges(messages: readonly Message[]): Exchange[] {
  return groups(messages).map(([turn, own]) => fromTranscript(turn, own));
}

/**
 * Exchanges, oldest first. The turn that was heard live is drawn from what was heard until the transcript has it all.
 * Those of the past are `stored`'s own objects, so that a growing answer draws itself alone.
 */
export function exchangesOf(state: ConversationState, stored = storedExchanges(state.messages)): Exchange[] {
  const { messages, view, running, outgoing } = state;
  const exchanges = stored.map((each) => (each.turn === running ? { ...each, running: true } : each));
  if (view.turn !== undefined) place(exchanges, view, messages);
  if (outgoing) place(exchanges, outgoing, messages);
  const last = exchanges.at(-1);
  if (running !== undefined && last && last.turn === undefined && outgoing?.seq !== undefined) last.running = true;
  return exchanges;
}

/** The turn whose exchange is the last that a summary up to that message stands for; undefined: none. */
export function summarizedUpTo(messages: readonly Message[], upTo: number): string | undefined {
  return messages.findLast(({ seq }) => seq <= upTo)?.turn;
}

/** The model ended the turn with an answer that has no text and makes no call. */
export function saysNothing({ parts }: Exchange, reason: string | undefined): boolean {
  const last = parts.at(-1);
  return reason === 'end_turn' && (last?.type !== 'text' || last.text.trim() === '');
}

function place(
  exchanges: Exchange[],
  live: TurnView | NonNullable<ConversationState['outgoing']>,
  messages: readonly Message[],
): void {
  if ('text' in live) {
    const of = exchanges.find((each) => each.human === undefined && each.turn !== undefined && each.running);
    if (of && live.seq !== undefined) of.human = { text: live.text };
    else exchanges.push({ human: { text: live.text }, parts: [], running: false });
    return;
  }
  const known = new Set(messages.map(({ seq }) => seq));
  const whole = live.status === 'ended' && live.messages.every((seq) => known.has(seq));
  const at = exchanges.findIndex(({ turn }) => turn === live.turn);
  const found = exchanges[at];
  const exchange: Exchange = {
    ...(found ?? {}),
    ...(live.turn ? { turn: live.turn } : {}),
    parts: whole && found ? found.parts : live.parts,
    running: live.status === 'running',
    ...(live.retrying ? { retrying: live.retrying } : {}),
    ...(live.reason ? { reason: live.reason } : {}),
    ...(live.error ? { error: live.error } : {}),
  };
  if (found) exchanges[at] = exchange;
  else exchanges.push(exchange);
}

function groups(messages: readonly Message[]): [string, Message[]][] {
  const byTurn = new Map<string, Message[]>();
  for (const message of messages) {
    const own = byTurn.get(message.turn);
    if (own) own.push(message);
    else byTurn.set(message.turn, [message]);
  }
  return [...byTurn];
}

function fromTranscript(turn: string, messages: readonly Message[]): Exchange {
  const first = messages.find(({ author }) => author !== undefined);
  const text = first?.blocks.map((block) => (block.type === 'text' ? block.text : '')).join('');
  return {
    turn,
    ...(first ? { human: { text: text ?? '', author: first.author ?? '', created_at: first.created_at } } : {}),
    parts: partsOf(messages.filter((message) => message !== first)),
    running: false,
  };
}

/** Stored messages as the parts that a live turn has. Tool call ids are unique within an answer only. */
export function partsOf(messages: readonly Message[]): Part[] {
  const parts: Part[] = [];
  for (const block of messages.flatMap((message) => message.blocks)) {
    if (block.type === 'text') {
      if (block.text.trim() !== '') parts.push({ type: 'text', text: block.text, open: false });
    } else if (block.type === 'tool_use') {
      parts.push({ type: 'tool', tool_use_id: block.tool_use_id, tool: block.name, input: block.input });
    } else {
      const result = { text: block.text, is_error: block.is_error };
      const at = parts.findLastIndex((part) => part.type === 'tool' && part.tool_use_id === block.tool_use_id);
      const call = parts[at];
      if (call?.type === 'tool') parts[at] = { ...call, result };
    }
  }
  return parts;
}
