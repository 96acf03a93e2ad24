// Sessions as people use them: create, send, cancel, read, watch. Every function authorizes. (spec: planner 5, 7)

import { v7 as uuidv7 } from 'uuid';
import { actorOf, type Action, type Principal } from '../domain/actor.ts';
import { conflict, DomainError, forbidden, invalid, notFound } from '../domain/errors.ts';
import type { StoredOutput, TurnReason } from '../domain/output.ts';
import { badCursor, isUuid } from '../domain/input.ts';
import { characters, isBlank, isOneLine, lines, storable } from '../domain/text.ts';
import { textOf, type Message, type Usage } from '../domain/transcript.ts';
import { turnWorkflowId } from '../domain/turn.ts';
import { transaction, type Database, type Queryable, type Tx } from '../store/database.ts';
import { visibleProject } from '../store/projects.ts';
import { authorize, can } from '../store/rights.ts';
import { appendMessage, finishTurn, lockTurn } from '../store/turns.ts';
import { currentTrace } from '../telemetry/trace.ts';

export interface Session {
  id: string;
  /** Project key. */
  project: string;
  title: string;
  created_by: string;
  created_at: string;
  updated_at: string;
  archived: boolean;
  /** The open turn, if there is one. */
  running?: string;
}

export interface SessionView extends Session {
  summary: string;
  summary_up_to: number;
  /** The newest output number: watch from here to miss nothing after this view. */
  output: number;
  messages: Message[];
  /** With a window: the seq to go on after. */
  next?: number;
}

export interface Turn {
  id: string;
  session: string;
  status: 'pending' | 'active' | 'ended';
  reason?: TurnReason;
  message_seq: number;
  workflow_id: string;
  run_id?: string;
  /** Model calls whose answer was stored. */
  rounds: number;
  usage: Usage;
  /** The error's text for humans. */
  failure?: string;
  created_at: string;
  started_at?: string;
  ended_at?: string;
}

/** Human text: 1 to this many characters. (spec: planner 7) */
export const maxMessageCharacters = 100_000;
const maxTitleCharacters = 200;

const sessionColumns = `s.id, p.key AS project, s.title, s.created_by, s.created_at, s.updated_at, s.archived,
  (SELECT t.id FROM planner_turns t WHERE t.session_id = s.id AND t.status <> 'ended') AS running`;

type SessionRow = Omit<Session, 'running'> & { running: string | null };

/** Creates a session in a project (by key). The title defaults to the first words of the first message. */
export async function createSession(
  tx: Tx,
  principal: Principal,
  input: { project: string; title?: string | undefined },
): Promise<Session> {
  const project = await visibleProject(tx, principal, input.project, 'tracker.write');
  const title = input.title === undefined ? 'New session' : checkTitle(input.title);
  const id = uuidv7();
  await tx.query('INSERT INTO planner_sessions (id, project_id, title, created_by) VALUES ($1, $2, $3, $4)', [
    id,
    project.id,
    title,
    principal.subject,
  ]);
  await tx.query('INSERT INTO planner_output_counters (session_id) VALUES ($1)', [id]);
  tx.emit({
    type: 'planner.session_created',
    organization_id: project.organization_id,
    project_id: project.id,
    entity_type: 'planner_session',
    entity_id: id,
    actor: actorOf(principal),
    payload: { title },
  });
  return sessionById(tx, id);
}

/** The sessions of a project, newest first. `after`: the id to go on after. */
export async function listSessions(
  database: Database,
  principal: Principal,
  projectKey: string,
  page: { limit: number; after?: string | undefined },
): Promise<{ items: Session[]; next?: string }> {
  const project = await visibleProject(database, principal, projectKey, 'tracker.read');
  const rows = await database.query<SessionRow>(
    `SELECT ${sessionColumns} FROM planner_sessions s JOIN projects p ON p.id = s.project_id
     WHERE s.project_id = $1 AND ($2::uuid IS NULL OR s.id < $2) ORDER BY s.id DESC LIMIT $3`,
    [project.id, cursor(page.after), page.limit + 1],
  );
  return paged(rows.map(toSession), page.limit, (session) => session.id);
}

/** A session with its transcript: all of it, or a window of `limit` messages after the seq `after`. */
export async function readSession(
  database: Database,
  principal: Principal,
  id: string,
  window: { after?: number | undefined; limit?: number | undefined } = {},
): Promise<SessionView> {
  return transaction(database, async (tx) => {
    // One snapshot: the newest output number and the messages that were stored with it belong together.
    await tx.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ');
    await visibleSession(tx, principal, id, 'tracker.read');
    const session = await sessionById(tx, id);
    const [extra] = await tx.query<{ summary: string; summary_up_to: number; output: number }>(
      `SELECT s.summary, s.summary_up_to, coalesce(c.number, 0) AS output
       FROM planner_sessions s LEFT JOIN planner_output_counters c ON c.session_id = s.id WHERE s.id = $1`,
      [id],
    );
    const limit = window.limit ?? null;
    const messages = await readMessages(tx, id, window.after ?? 0, limit === null ? null : limit + 1);
    const more = limit !== null && messages.length > limit;
    const shown = more ? messages.slice(0, limit) : messages;
    return { ...session, ...extra!, messages: shown, ...(more ? { next: shown.at(-1)!.seq } : {}) };
  });
}

interface MessageRow {
  seq: number;
  role: 'user' | 'assistant';
  blocks: Message['blocks'];
  author: string | null;
  turn: string;
  round: number | null;
  stop_reason: Message['stop_reason'] | null;
  model: string | null;
  usage: Usage | null;
  created_at: string;
}

/** The messages of a session after a seq, in order. */
export async function readMessages(
  q: Queryable,
  session: string,
  after: number,
  limit: number | null = null,
): Promise<Message[]> {
  const rows = await q.query<MessageRow>(
    `SELECT seq, role, blocks, author, turn_id AS turn, round, stop_reason, model, usage, created_at
     FROM planner_messages WHERE session_id = $1 AND seq > $2::bigint ORDER BY seq LIMIT $3`,
    [session, after, limit],
  );
  return rows.map((row) => withoutNulls(row) as unknown as Message);
}

/** Renames or archives a session. */
export async function updateSession(
  database: Database,
  principal: Principal,
  id: string,
  change: { title?: string | undefined; archived?: boolean | undefined },
): Promise<Session> {
  return transaction(database, async (tx) => {
    const { project_id, organization_id } = await visibleSession(tx, principal, id, 'tracker.write');
    if (change.title === undefined && change.archived === undefined) {
      throw invalid('Nothing to change: give title or archived.');
    }
    const title = change.title === undefined ? null : checkTitle(change.title);
    await tx.query(
      `UPDATE planner_sessions SET title = coalesce($2, title), archived = coalesce($3, archived), updated_at = now()
       WHERE id = $1`,
      [id, title, change.archived ?? null],
    );
    const session = await sessionById(tx, id);
    tx.emit({
      type: 'planner.session_updated',
      organization_id,
      project_id,
      entity_type: 'planner_session',
      entity_id: session.id,
      actor: actorOf(principal),
      payload: { ...(title === null ? {} : { title }), ...(change.archived === undefined ? {} : { archived: change.archived }) },
    });
    return session;
  });
}

/**
 * Commits a human's message and its turn: from here on the message is never lost. A repeat of `message_id` returns the
 * first answer (`fresh` false), also while the session is busy or after the turn's end. Errors: forbidden, invalid
 * text, conflict (busy, archived, or the id with another text). (spec: planner 7, orchestration "Send")
 */
export async function sendMessage(
  database: Database,
  principal: Principal,
  input: { session: string; text: string; message_id?: string | undefined },
): Promise<{ seq: number; turn: string; fresh: boolean }> {
  const text = input.text;
  if (principal.kind !== 'human') throw forbidden('Only humans send messages to the planner.');
  if (isBlank(text)) throw invalid('The message is blank. Write what you want to plan.');
  const length = characters(text);
  if (length > maxMessageCharacters) {
    throw invalid(`The message has ${length} characters; at most ${maxMessageCharacters} are allowed. Shorten or split it.`);
  }
  const id = input.message_id;
  if (id !== undefined && (id.length < 1 || id.length > 128 || isBlank(id) || storable(id) !== id)) {
    throw invalid('message_id must have 1 to 128 characters.');
  }
  const stored = storable(text);
  try {
    return await transaction(database, async (tx) => {
      await visibleSession(tx, principal, input.session, 'tracker.write');
      return (
        (await repeated(tx, principal, input.session, id, stored)) ?? insertTurn(tx, principal, input.session, stored, id)
      );
    });
  } catch (error) {
    if ((error as { code?: unknown }).code !== '23505') throw error;
    // Lost a race for the session or for the message_id: only now is the winner's row visible.
    const first = await transaction(database, (tx) => repeated(tx, principal, input.session, id, stored));
    if (first) return first;
    throw conflict('The planner is still answering in this session. Wait until it is done, or cancel it, then send again.');
  }
}

async function repeated(
  tx: Tx,
  principal: Principal,
  session: string,
  messageId: string | undefined,
  text: string,
): Promise<{ seq: number; turn: string; fresh: false } | undefined> {
  if (messageId === undefined) return undefined;
  const [first] = await tx.query<{ id: string; human: string; message_seq: number; blocks: Message['blocks'] }>(
    `SELECT t.id, t.human, t.message_seq, m.blocks FROM planner_turns t
     JOIN planner_messages m ON m.session_id = t.session_id AND m.seq = t.message_seq
     WHERE t.session_id = $1 AND t.message_id = $2`,
    [session, messageId],
  );
  if (!first) return undefined;
  if (first.human !== principal.subject || textOf(first.blocks) !== text) {
    throw conflict('This message_id was used for another message. Use a new one for each message.');
  }
  return { seq: first.message_seq, turn: first.id, fresh: false };
}

async function insertTurn(
  tx: Tx,
  principal: Principal,
  session: string,
  text: string,
  messageId: string | undefined,
): Promise<{ seq: number; turn: string; fresh: true }> {
  const turn = uuidv7();
  // The turn before the session: the order in which a turn that ends right now takes its locks.
  await tx.query(
    `INSERT INTO planner_turns (id, session_id, human, message_id, message_seq, workflow_id, trace_id)
     VALUES ($1, $2, $3, $4, 0, $5, $6)`,
    [turn, session, principal.subject, messageId ?? null, turnWorkflowId(turn), currentTrace()],
  );
  const [state] = await tx.query<{ archived: boolean; last_seq: number }>(
    'SELECT archived, last_seq FROM planner_sessions WHERE id = $1 FOR NO KEY UPDATE',
    [session],
  );
  if (state!.archived) throw conflict('This session is archived. Take it out of the archive to go on in it.');
  const row = await lockTurn(tx, turn);
  const seq = await appendMessage(tx, row, { role: 'user', blocks: [{ type: 'text', text }], author: principal.subject });
  await tx.query('UPDATE planner_turns SET message_seq = $2 WHERE id = $1', [turn, seq]);
  if (state!.last_seq === 0) {
    await tx.query(`UPDATE planner_sessions SET title = $2 WHERE id = $1 AND title = 'New session'`, [
      session,
      titleFrom(text),
    ]);
  }
  tx.notify({ channel: 'turns', id: turn });
  return { seq, turn, fresh: true };
}

/**
 * Asks for a stop of the session's open turn; returns the turn whose workflow must be told, if any. A no-op on an idle
 * session, and when `turn` names another turn than the open one. A turn that has not begun ends right here.
 */
export async function cancelTurn(
  database: Database,
  principal: Principal,
  input: { session: string; turn?: string | undefined },
): Promise<{ turn?: string }> {
  return transaction(database, async (tx) => {
    await visibleSession(tx, principal, input.session, 'tracker.write');
    const [open] = await tx.query<{ id: string }>(
      `SELECT id FROM planner_turns WHERE session_id = $1 AND status <> 'ended'`,
      [input.session],
    );
    if (!open || (input.turn !== undefined && input.turn.toLowerCase() !== open.id)) return {};
    const row = await lockTurn(tx, open.id);
    if (row.status === 'ended') return {};
    if (row.status === 'pending') {
      await finishTurn(tx, row, 'cancelled');
      return { turn: row.id };
    }
    await tx.query(
      `UPDATE planner_turns SET cancel_requested_at = coalesce(cancel_requested_at, now()), cancel_by = coalesce(cancel_by, $2)
       WHERE id = $1`,
      [row.id, principal.subject],
    );
    tx.notify({ channel: 'cancels', id: row.id });
    return { turn: row.id };
  });
}

/** The turns of a session, newest first. */
export async function listTurns(
  database: Database,
  principal: Principal,
  session: string,
  page: { limit: number; after?: string | undefined },
): Promise<{ items: Turn[]; next?: string }> {
  await visibleSession(database, principal, session, 'tracker.read');
  const rows = await database.query<Record<string, unknown>>(
    `SELECT id, session_id AS session, status, reason, message_seq, workflow_id, run_id, usage, created_at,
            CASE WHEN status = 'ended' THEN failure END AS failure,
            started_at, ended_at,
            CASE WHEN status = 'ended' THEN rounds
                 ELSE (SELECT count(*) FROM planner_messages m WHERE m.turn_id = t.id AND m.role = 'assistant') END AS rounds
     FROM planner_turns t WHERE session_id = $1 AND ($2::uuid IS NULL OR id < $2) ORDER BY id DESC LIMIT $3`,
    [session, cursor(page.after), page.limit + 1],
  );
  return paged(rows.map((row) => withoutNulls(row) as unknown as Turn), page.limit, (turn) => turn.id);
}

/** Whether a principal may watch a session, and where its outputs stand. */
export async function authorizeWatch(
  database: Database,
  principal: Principal,
  session: string,
): Promise<{ running?: string; output: number; from: number; pruned: number }> {
  await visibleSession(database, principal, session, 'tracker.read');
  const [row] = await database.query<{ running: string | null; output: number; first: number | null; pruned: number }>(
    `SELECT t.id AS running, c.number AS output, c.pruned,
            (SELECT min(o.number) FROM planner_outputs o WHERE o.turn_id = t.id) AS first
     FROM planner_output_counters c
     LEFT JOIN planner_turns t ON t.session_id = c.session_id AND t.status <> 'ended'
     WHERE c.session_id = $1`,
    [session],
  );
  const { running, output, first, pruned } = row!;
  return { ...(running ? { running } : {}), output, from: running && first !== null ? first - 1 : output, pruned };
}

/** The outputs after the given numbers, for several sessions in one query, in order per session; at most `limit` each. */
export async function readOutputs(
  q: Queryable,
  wanted: readonly { session: string; after: number }[],
  limit: number,
): Promise<StoredOutput[]> {
  if (wanted.length === 0) return [];
  const rows = await q.query<StoredOutput>(
    `SELECT w.session, o.turn_id AS turn, o.attempt, o.number AS output, o.body
     FROM unnest($1::uuid[], $2::bigint[]) AS w (session, after)
     CROSS JOIN LATERAL (SELECT * FROM planner_outputs x WHERE x.session_id = w.session AND x.number > w.after
                         ORDER BY x.number LIMIT $3) o
     ORDER BY w.session, o.number`,
    [wanted.map((one) => one.session), wanted.map((one) => one.after), limit],
  );
  return rows;
}

interface SessionScope {
  project_id: string;
  organization_id: string;
}

/** not_found where the principal may not even read the session's project, forbidden where it lacks only `action`. */
async function visibleSession(q: Queryable, principal: Principal, id: string, action: Action): Promise<SessionScope> {
  const session = sessionId(id);
  const [scope] = await q.query<SessionScope>(
    `SELECT s.project_id, p.organization_id FROM planner_sessions s JOIN projects p ON p.id = s.project_id WHERE s.id = $1`,
    [session],
  );
  if (!scope || !(await can(q, principal, 'tracker.read', { project_id: scope.project_id }))) throw unknownSession(id);
  if (action !== 'tracker.read') await authorize(q, principal, action, { project_id: scope.project_id });
  return scope;
}

function sessionId(id: string): string {
  if (!isUuid(id)) throw unknownSession(id);
  return id;
}

function cursor(after: string | undefined): string | null {
  if (after !== undefined && !isUuid(after)) throw badCursor(after);
  return after ?? null;
}

function unknownSession(id: string): DomainError {
  return notFound(`Session ${id.slice(0, 64)} does not exist. List the sessions of a project to find one.`);
}

async function sessionById(q: Queryable, id: string): Promise<Session> {
  const [row] = await q.query<SessionRow>(
    `SELECT ${sessionColumns} FROM planner_sessions s JOIN projects p ON p.id = s.project_id WHERE s.id = $1`,
    [id],
  );
  return toSession(row!);
}

function toSession(row: SessionRow): Session {
  return withoutNulls(row) as unknown as Session;
}

function checkTitle(title: string): string {
  const length = characters(title);
  if (isBlank(title) || length > maxTitleCharacters) {
    throw invalid(`A session's title must have 1 to ${maxTitleCharacters} characters and not be blank; this one has ${length}.`);
  }
  if (!isOneLine(title)) throw invalid('A session\'s title has no line break: it is one line.');
  return storable(title);
}

function titleFrom(text: string): string {
  const line = lines(text).find((candidate) => !isBlank(candidate)) ?? 'New session';
  const words = line.replace(/^[\s#>*-]+/, '').trim();
  const title = [...(words === '' ? line.trim() : words)];
  return title.length > 60 ? `${title.slice(0, 59).join('').trimEnd()}…` : title.join('');
}

function paged<T>(rows: T[], limit: number, key: (row: T) => string): { items: T[]; next?: string } {
  if (rows.length <= limit) return { items: rows };
  const items = rows.slice(0, limit);
  return { items, next: key(items.at(-1)!) };
}

function withoutNulls(row: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null));
}
