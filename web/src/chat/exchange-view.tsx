// One exchange: what the human said, what the planner did and answered, how it ended.

import { memo } from 'react';
import type { Part, Turn } from '../../../client/index.ts';
import { External, Retry } from '../base/icons.tsx';
import { Markdown } from '../base/markdown.tsx';
import { Notice } from '../base/notice.tsx';
import { Time } from '../base/time.tsx';
import { costWords, estimateWords, number, tokens, tokensIn } from '../usage/words.ts';
import { ChangesetCard } from './changeset-card.tsx';
import { saysNothing, type Exchange } from './exchanges.ts';
import { ToolCall } from './tool-call.tsx';
import { proposedBy } from './tool-words.ts';

export interface ExchangeViewProps {
  exchange: Exchange;
  turn: Turn | undefined;
  me: string;
}

export const ExchangeView = memo(function ExchangeView({ exchange, turn, me }: ExchangeViewProps) {
  const { human, parts, running, retrying, turn: id } = exchange;
  return (
    <li className="exchange" data-turn={id}>
      {human && (
        <section className="said" aria-label={human.author && human.author !== me ? human.author : 'You'}>
          <div className="said-text">{human.text}</div>
          <p className="said-foot tiny muted">
            {human.author && human.author !== me && <span>{human.author}</span>}
            {human.created_at ? <Time at={human.created_at} /> : <span>sending …</span>}
          </p>
        </section>
      )}
      <section className="answer" aria-label="Planner" aria-busy={running}>
        {parts.map((part, index) => (
          <PartView key={index} part={part} running={running} />
        ))}
        {retrying && (
          <p className="working small">
            <Retry /> Trying again (attempt {retrying.attempt}): {retrying.reason}
          </p>
        )}
        {running && !retrying && parts.at(-1)?.type !== 'text' && <p className="working small">Working …</p>}
        {!running && id !== undefined && <Ending exchange={exchange} turn={turn} />}
        {turn && <Foot turn={turn} />}
      </section>
    </li>
  );
});

function PartView({ part, running }: { part: Part; running: boolean }) {
  if (part.type === 'text') return <Markdown text={part.text} streaming={part.open && running} />;
  const proposed = proposedBy(part);
  return (
    <>
      <ToolCall part={part} running={running} />
      {proposed && <ChangesetCard {...proposed} />}
    </>
  );
}

const endings: Record<string, string> = {
  cancelled: 'Stopped. What was said until then stays.',
  max_tokens: 'The answer reached its greatest length and was cut. Ask to go on.',
  max_rounds: 'The planner used all rounds of tool calls that a turn may have. Ask to go on.',
  refusal: 'The model refused to answer this.',
};

const answeredNothing = 'The model answered nothing. Send again, or ask differently.';

function Ending({ exchange, turn }: Omit<ExchangeViewProps, 'me'>) {
  const reason = exchange.reason ?? turn?.reason;
  if (reason === 'error') {
    return <Notice tone="error">{exchange.error ?? turn?.failure ?? 'The turn failed. Send the message again.'}</Notice>;
  }
  const words = saysNothing(exchange, reason) ? answeredNothing : reason === undefined ? undefined : endings[reason];
  if (!words) return null;
  return reason === 'cancelled' ? <p className="ended small muted">{words}</p> : <Notice tone="warning">{words}</Notice>;
}

function Foot({ turn }: { turn: Turn }) {
  const { metered } = turn;
  const cost = costWords(metered);
  const estimate = estimateWords(metered);
  return (
    <p className="answer-foot tiny muted">
      {turn.ended_at && <Time at={turn.ended_at} />}
      {tokens(metered) > 0 && (
        <span title="Tokens that the model read and wrote in this turn, retries and failed calls included">
          {number(tokensIn(metered))} tokens in, {number(metered.output)} out
          {estimate && ` (${estimate})`}
        </span>
      )}
      {cost && <span>{cost}</span>}
      {turn.workflow_url && (
        <a href={turn.workflow_url} target="_blank" rel="noopener noreferrer">
          Workflow
          <External />
          <span className="visually-hidden"> of this turn in the Temporal UI, in a new tab</span>
        </a>
      )}
    </p>
  );
}
