// How full a conversation's context is, in words. Pure.

import type { SessionMeter } from '../../../client/index.ts';
import { number } from '../usage/words.ts';

export interface ContextLimit {
  tokens: number;
  /** What happens there. */
  kind: 'compaction' | 'window';
}

/** What the context is measured against: the nearer of compaction and the model's window; undefined: neither. */
export function contextLimit({ compact_at_tokens, window }: SessionMeter): ContextLimit | undefined {
  if (compact_at_tokens > 0 && (window === undefined || compact_at_tokens <= window)) {
    return { tokens: compact_at_tokens, kind: 'compaction' };
  }
  return window === undefined ? undefined : { tokens: window, kind: 'window' };
}

export function contextWords(meter: SessionMeter): string {
  const limit = contextLimit(meter);
  const about = `The next call to ${meter.model} takes about ${number(meter.context_tokens)} tokens`;
  if (!limit) return `${about}. How many it may take is not known.`;
  const percent = Math.round((meter.context_tokens / limit.tokens) * 100);
  return limit.kind === 'compaction'
    ? `${about}, ${percent} % of ${number(limit.tokens)}, above which the earlier conversation is summarized.`
    : `${about}, ${percent} % of the model’s window of ${number(limit.tokens)}.`;
}
