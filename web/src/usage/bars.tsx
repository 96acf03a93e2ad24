// A picture of a project's days: a bar each. The table beside it says the same in numbers.

import { number } from './words.ts';

interface Bar {
  day: string;
  tokens: number;
}

const height = 96;
const step = 12;
const gap = 3;

export function Bars({ bars }: { bars: readonly Bar[] }) {
  const most = bars.reduce((top, each) => (each.tokens > top.tokens ? each : top), { day: '', tokens: 0 });
  if (most.tokens === 0) return null;
  const heightOf = (tokens: number): number => (tokens === 0 ? 0 : Math.max(2, (tokens / most.tokens) * height));
  const [first, last] = [bars[0]?.day, bars.at(-1)?.day];
  return (
    <figure className="card bars">
      <svg
        role="img"
        aria-label={`Tokens a day from ${first} to ${last}; most on ${most.day}: ${number(most.tokens)}`}
        viewBox={`0 0 ${bars.length * step - gap} ${height}`}
        preserveAspectRatio="none"
      >
        {bars.map(({ day, tokens }, index) => (
          <rect key={day} x={index * step} y={height - heightOf(tokens)} width={step - gap} height={heightOf(tokens)}>
            <title>{`${day}: ${number(tokens)} tokens`}</title>
          </rect>
        ))}
      </svg>
      <figcaption className="tiny muted" aria-hidden="true">
        <span>{first}</span>
        <span>
          at most {number(most.tokens)} tokens, on {most.day}
        </span>
        <span>{last}</span>
      </figcaption>
    </figure>
  );
}

interface ShareProps {
  of: number;
  part: number;
  /** All of it is too much. */
  limit?: boolean;
}

/** How much of a whole; says nothing by itself. */
export function Share({ of, part, limit = false }: ShareProps) {
  const share = of === 0 ? 0 : Math.min(1, part / of);
  return (
    <svg className="share" aria-hidden="true" viewBox="0 0 100 6" preserveAspectRatio="none">
      <rect className={limit && share >= 1 ? 'share-full' : 'share-part'} width={share * 100} height="6" />
    </svg>
  );
}
