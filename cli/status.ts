// `planner status`: turns and the workflows that carry them.

import { createRest, type Me, type Rest, type Session, type Turn } from '../client/index.ts';
import { age, cleanLine, styles, table, UsageError, type Style } from './print.ts';
import type { StackFile } from './stack/stack-file.ts';
import type { Target } from './target.ts';

export interface StatusOptions {
  project?: string;
  session?: string;
  /** Turns at most. */
  limit: number;
  json?: boolean;
}

/** A turn with what a person needs to find it. */
export interface StatusRow extends Turn {
  project: string;
  title: string;
}

// Sessions looked at in each project, newest first.
const sessionsPerProject = 50;

/** `metrics`: where they are scraped. Errors: the client's; UsageError for an unknown project. */
export async function showStatus(
  target: Target,
  options: StatusOptions,
  colour: boolean,
  metrics: readonly string[],
): Promise<string> {
  const rest = createRest(target);
  const me = await rest.me();
  const sessions = await chosenSessions(rest, me, options);
  const rows: StatusRow[] = [];
  const waiting = [...sessions];
  const reader = async (): Promise<void> => {
    for (let session = waiting.shift(); session; session = waiting.shift()) {
      const { title, project } = session;
      const { items } = await rest.turns(session.id, { limit: Math.min(options.limit, 500) });
      rows.push(...items.map((turn) => ({ ...turn, project, title })));
    }
  };
  await Promise.all(Array.from({ length: 4 }, reader));
  const shown = newestFirst(rows).slice(0, options.limit);
  if (options.json) {
    return JSON.stringify({ items: shown.map((row) => withLink(row, me.temporal_ui)), metrics }, null, 2);
  }
  const style = styles(colour);
  const scraped = ['', style.bold('metrics'), ...metrics.map((address) => `  ${address}`), ''];
  return renderStatus(shown, me.temporal_ui, Date.now(), style) + scraped.join('\n');
}

/** Where the metrics of an API are, and of the worker beside it where the stack of the folder is its. */
export function metricsOf(api: string, stack: StackFile | undefined): string[] {
  return [`${api}/metrics`, ...(stack?.api === api && stack.worker_metrics ? [stack.worker_metrics] : [])];
}

async function chosenSessions(rest: Rest, me: Me, options: StatusOptions): Promise<Session[]> {
  if (options.session !== undefined) return [await rest.session(options.session, { limit: 1 })];
  const wanted = options.project?.toUpperCase();
  const keys = me.projects.map((project) => project.key).filter((key) => wanted === undefined || key === wanted);
  if (wanted !== undefined && keys.length === 0) throw new UsageError(`There is no project ${cleanLine(wanted, 40)}.`);
  const lists = await Promise.all(keys.map((key) => rest.sessions(key, { limit: sessionsPerProject })));
  return lists.flatMap((list) => list.items);
}

function isEnded(row: StatusRow): boolean {
  return row.status === 'ended';
}

/** Running turns on top, then the newest. */
export function newestFirst(rows: readonly StatusRow[]): StatusRow[] {
  const running = (row: StatusRow): number => (isEnded(row) ? 0 : 1);
  return [...rows].sort((a, b) => running(b) - running(a) || (a.created_at < b.created_at ? 1 : -1));
}

/** Ends with a line feed. */
export function renderStatus(
  rows: readonly StatusRow[],
  temporalUi: string | undefined,
  now: number,
  style: Style,
): string {
  if (rows.length === 0) return 'No turns yet. "planner chat" begins one.\n';
  const head = ['project', 'status', 'rounds', 'tokens', 'age', 'title', 'session', 'workflow'];
  const cells = rows.map((row) => [
    row.project,
    isEnded(row) ? (row.reason ?? 'ended') : row.status === 'active' ? 'running' : row.status,
    String(row.rounds),
    String(row.usage.input + row.usage.output + row.usage.cache_read + row.usage.cache_write),
    age(row.created_at, now),
    cleanLine(row.title, 32),
    row.session,
    row.workflow_id,
  ]);
  const [title = '', ...lines] = table(head, cells).split('\n');
  const painted = lines.map((line, index) => paint(line, rows[index], style));
  const links = rows.flatMap((row) => {
    const link = withLink(row, temporalUi).workflow_url;
    return link === undefined ? [] : [`  ${link}`];
  });
  const failures = rows.flatMap((row) =>
    isEnded(row) && row.failure ? [`  ${row.workflow_id}: ${cleanLine(row.failure, 300)}`] : [],
  );
  return [
    style.bold(title),
    ...painted,
    ...(failures.length > 0 ? ['', style.bold('failures'), ...failures] : []),
    ...(links.length > 0 ? ['', style.bold('in the Temporal UI'), ...links] : []),
    '',
  ].join('\n');
}

function paint(line: string, row: StatusRow | undefined, style: Style): string {
  if (!row || !isEnded(row)) return style.green(line);
  return row.reason === 'error' ? style.red(line) : line;
}

function withLink(row: StatusRow, temporalUi: string | undefined): StatusRow {
  if (row.workflow_url !== undefined || temporalUi === undefined) return row;
  const base = temporalUi.replace(/\/+$/, '');
  return { ...row, workflow_url: `${base}/namespaces/default/workflows/${encodeURIComponent(row.workflow_id)}` };
}
