// What the project has used: by day, model or session, and what is left of today's budget.

import { Link, useSearchParams } from 'wouter';
import type { ProjectUsage, UsageRow, UsageTotals } from '../../../client/index.ts';
import { Columns } from '../base/columns.tsx';
import { Empty, Notice } from '../base/notice.tsx';
import { Options } from '../base/options.tsx';
import { Time } from '../base/time.tsx';
import { useProject } from '../data/project.ts';
import { paths } from '../paths.ts';
import { Paged } from '../plan/pieces.tsx';
import { counted } from '../plan/words.ts';
import { View } from '../shell/view.tsx';
import { Bars, Share } from './bars.tsx';
import { useUsage } from './data.ts';
import {
  budgetLeft,
  byWords,
  columnWords,
  costWords,
  daysBetween,
  estimateWords,
  groupings,
  number,
  periods,
  tokens,
  tokensIn,
  type By,
} from './words.ts';

export function UsageView() {
  const project = useProject();
  const [search, setSearch] = useSearchParams();
  const by = groupings.find((each) => each === search.get('by')) ?? 'day';
  const days = periods.find((each) => String(each) === search.get('days')) ?? 30;
  const choose = (change: { by?: string; days?: string }): void =>
    setSearch({ by, days: String(days), ...change }, { replace: true });
  const query = useUsage(by, days);
  return (
    <View
      title="Usage"
      actions={
        <>
          <select aria-label="Grouping" value={by} onChange={(event) => choose({ by: event.target.value })}>
            <Options of={groupings} words={(each) => byWords[each]} />
          </select>
          <select aria-label="Period" value={days} onChange={(event) => choose({ days: event.target.value })}>
            <Options of={periods} words={(each) => `Last ${each} days`} />
          </select>
          <Link className="button" href={paths.settings(project.key)}>
            Model, budget, keys
          </Link>
        </>
      }
    >
      <Paged of={query} what="the usage" more="Show more">
        {(rows, [first]) =>
          first && (
            <>
              <Budget budget={first.budget} />
              {rows.length === 0 ? (
                <Empty title={`Nothing was used in the last ${days} days`}>
                  <p>
                    Each call to a model is counted here.{' '}
                    <Link href={paths.chat(project.key)}>Ask the planner</Link> for something.
                  </p>
                </Empty>
              ) : (
                <>
                  {by === 'day' && <DayBars usage={first} rows={rows} />}
                  <Table by={by} rows={rows} total={first.total} />
                  <Footnotes total={first.total} />
                </>
              )}
            </>
          )
        }
      </Paged>
    </View>
  );
}

function Budget({ budget }: { budget: ProjectUsage['budget'] }) {
  const left = budgetLeft(budget);
  const above = budget.organization_daily_tokens;
  return (
    <section className="card budget" aria-label="Budget of today">
      <h2>Today (UTC)</h2>
      {left === undefined ? (
        <p>{number(budget.used)} tokens used. The project has no budget of its own.</p>
      ) : (
        <>
          <p>
            <strong>{number(left)} tokens left</strong> of {number(budget.daily_tokens)}; {number(budget.used)} used.
          </p>
          <Share of={budget.daily_tokens} part={budget.used} limit />
        </>
      )}
      {above > 0 && !budget.organization_used_up && (
        <p className="small muted">All projects of the organization together have {number(above)} tokens a day.</p>
      )}
      {(left === 0 || budget.organization_used_up) && (
        <Notice tone="warning">
          {budget.organization_used_up ? 'The organization’s budget of today' : 'Today’s budget'} is used up. The planner
          answers again from <Time at={budget.resets_at} /> on, or once an administrator raises it.
        </Notice>
      )}
    </section>
  );
}

function DayBars({ usage, rows }: { usage: ProjectUsage; rows: readonly UsageRow[] }) {
  const byDay = new Map(rows.map((row) => [row.key, tokens(row)]));
  return <Bars bars={daysBetween(usage.from, usage.to).map((day) => ({ day, tokens: byDay.get(day) ?? 0 }))} />;
}

function Table({ by, rows, total }: { by: By; rows: readonly UsageRow[]; total: UsageTotals }) {
  const most = Math.max(...rows.map(tokens));
  return (
    <div className="card usage">
      <table>
        <Columns names={[columnWords[by], 'Calls', 'Tokens in', 'Tokens out', 'Cost']} />
        <tbody>
          {rows.map((row) => (
            <tr key={row.key}>
              <th scope="row">
                <Name by={by} row={row} />
                {by !== 'day' && <Share of={most} part={tokens(row)} />}
              </th>
              <Sums sum={row} />
            </tr>
          ))}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row">All</th>
            <Sums sum={total} />
          </tr>
        </tfoot>
      </table>
    </div>
  );
}

function Name({ by, row }: { by: By; row: UsageRow }) {
  const project = useProject();
  if (by !== 'session') return row.key;
  return <Link href={paths.session(project.key, row.key)}>{row.title ?? row.key}</Link>;
}

function Sums({ sum }: { sum: UsageTotals }) {
  const estimate = estimateWords(sum);
  return (
    <>
      <td data-name="Calls">
        {number(sum.calls)}
        {sum.unanswered > 0 && <span className="tiny muted"> {number(sum.unanswered)} without an answer</span>}
      </td>
      <td data-name="Tokens in">
        {number(tokensIn(sum))}
        {sum.cache_read > 0 && <span className="tiny muted"> {number(sum.cache_read)} from a cache</span>}
      </td>
      <td data-name="Tokens out">
        {number(sum.output)}
        {estimate && <span className="tiny muted"> {estimate}</span>}
      </td>
      <td data-name="Cost">{costWords(sum) ?? <span className="muted">no price known</span>}</td>
    </>
  );
}

function Footnotes({ total }: { total: UsageTotals }) {
  const notes = [
    total.estimated_tokens > 0 &&
      'Estimated: a call that failed, was stopped or was lost never reported what it used.',
    total.unpriced_calls > 0 &&
      `No price is known for ${counted(total.unpriced_calls, 'call')}: prices are set for each model in planner.toml.`,
  ].filter((note) => note !== false);
  return notes.map((note) => (
    <p key={note} className="small muted">
      {note}
    </p>
  ));
}
