// What the model sees of a conversation: where a summary stands for it, and how full the context is.

import { useState } from 'react';
import type { SessionMeter } from '../../../client/index.ts';
import { Markdown } from '../base/markdown.tsx';
import { Share } from '../usage/bars.tsx';
import { costWords, estimateWords, number, tokens } from '../usage/words.ts';
import { contextLimit, contextWords } from './context-words.ts';

/** The line up to which the model sees a summary; the conversation stays complete above it. */
export function Compacted({ summary }: { summary: string }) {
  const [open, setOpen] = useState(false);
  return (
    <li className="compacted">
      <details onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>Up to here the model sees a summary</summary>
        {open && (
          <section className="card compacted-summary" aria-label="Summary that the model sees">
            <Markdown text={summary} />
          </section>
        )}
      </details>
    </li>
  );
}

export function ContextMeter({ meter }: { meter: SessionMeter }) {
  const limit = contextLimit(meter);
  const words = contextWords(meter);
  const cost = costWords(meter.usage);
  const estimate = estimateWords(meter.usage);
  const used = tokens(meter.usage);
  return (
    <p className="context tiny muted">
      {limit && (
        <span
          className="context-meter"
          role="meter"
          aria-label="Context"
          aria-valuemin={0}
          aria-valuemax={limit.tokens}
          aria-valuenow={Math.min(meter.context_tokens, limit.tokens)}
          aria-valuetext={words}
        >
          <Share of={limit.tokens} part={meter.context_tokens} limit={limit.kind === 'window'} />
        </span>
      )}
      <span title={words}>
        Context: about {number(meter.context_tokens)}
        {limit && ` of ${number(limit.tokens)}`} tokens
      </span>
      {used > 0 && (
        <span className="context-usage" title="All that this session has used, retries and failed calls included">
          Session: {number(used)} tokens{estimate && ` (${estimate})`}
          {cost && `, ${cost}`}
        </span>
      )}
    </p>
  );
}
