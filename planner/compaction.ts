// Compaction: what lies before the turn becomes a summary, in one model call without tools or, where the model's window
// is too small, in several. (spec: planner 8, orchestration "compact")

import { plannerActor } from '../domain/actor.ts';
import { contextTokens, cut, estimateTokens, overheadTokens, partsOf, transcriptTexts } from '../domain/compaction.ts';
import { idsIn, keysIn, listKeys, without } from '../domain/named-things.ts';
import { isBlank, storable } from '../domain/text.ts';
import { addUsage, textOf, type Message } from '../domain/transcript.ts';
import type { CompactInput, CompactOutcome } from '../domain/turn.ts';
import { ModelError, type ModelAnswer } from '../models/gateway.ts';
import { transaction, type Tx } from '../store/database.ts';
import type { Project } from '../store/projects.ts';
import { settingsOf } from '../store/settings.ts';
import { lockFenced, lockTurn, takeFence, TurnLost, type TurnRow } from '../store/turns.ts';
import type { UsageEnd } from '../store/usage.ts';
import { commitPatiently } from './commit.ts';
import { readContext } from './context.ts';
import { openMetered, settleFailed, settleMetered, streamMetered, type MeteredCall } from './metered-call.ts';
import { CallFailure, type ModelCallRoom, type ModelCallSignals } from './model-call.ts';
import { summaryRequest, summarySystem } from './summary-prompt.ts';

export interface CompactionRoom extends ModelCallRoom {
  /** Hears of each compaction that was stored. Keys. */
  compacted(of: { organization: string; project: string }): void;
}

/** What is to be summarized, as it was when the attempt began. */
interface Work {
  row: TurnRow;
  project: Project;
  /** The summary so far. */
  earlier: string;
  texts: string[];
  /** Number of the newest message that is summarized. */
  upTo: number;
  /** Tokens of the context before. */
  estimate: number;
  window: number | undefined;
}

interface Written {
  text: string;
  answer: ModelAnswer;
  call: MeteredCall;
}

/** A part has so many tokens at least, however small the model's window is said to be. */
const leastPart = 500;

/**
 * Summarizes everything before the turn's human message and stores the summary; a repeat finds it stored. Throws
 * ModelError or CallFailure when no summary could be had, TurnLost when the turn is another attempt's, the signal's
 * reason when the work is to be done elsewhere.
 */
export async function compactSession(
  room: CompactionRoom,
  input: CompactInput,
  signals: ModelCallSignals,
): Promise<CompactOutcome> {
  signals.progress('opening', 0);
  const work = await transaction(room.database, (tx) => open(tx, room, input, signals));
  if ('kind' in work) return work;
  try {
    let limit = firstLimit(room, work);
    for (;;) {
      try {
        return await store(room, signals, work, await summarize(room, signals, work, limit));
      } catch (error) {
        const smaller = smallerLimit(work, limit);
        if (!(error instanceof ModelError && error.class === 'context_length') || smaller < leastPart) throw error;
        limit = smaller;
      }
    }
  } catch (error) {
    if (error instanceof TurnLost && error.why === 'ended') return { kind: 'ended', reason: error.reason };
    if (signals.stopped()) return { kind: 'cancelled' };
    throw error;
  }
}

async function open(
  tx: Tx,
  room: CompactionRoom,
  input: CompactInput,
  signals: ModelCallSignals,
): Promise<Work | CompactOutcome> {
  const before = await lockTurn(tx, input.turn);
  if (before.status === 'ended') return { kind: 'ended', reason: before.reason ?? 'error' };
  const taken = await takeFence(tx, input.turn, signals.attempt);
  if (taken.cancel_requested_at !== null) return { kind: 'cancelled' };
  const context = await readContext(tx, taken, room.gateway.installation);
  if (context.summaryAt >= taken.message_seq) return { kind: 'compacted' };
  const summarized: readonly Message[] = context.messages.slice(0, cut(context.messages));
  const last = summarized.at(-1);
  if (!last) return { kind: 'skipped' };
  const { model } = await settingsOf(tx, context.project, room.gateway.installation);
  return {
    row: { ...taken, round: input.round, call_attempt: signals.attempt.attempt },
    project: context.project,
    earlier: context.summary,
    texts: transcriptTexts(summarized),
    upTo: last.seq,
    estimate: contextTokens(context, overheadTokens(context)),
    window: room.gateway.models.get(model)?.window,
  };
}

/** Tokens of the text of one call: what the window leaves; where it is unknown, twice what a call usually has. */
function firstLimit(room: CompactionRoom, { earlier, window }: Work): number {
  if (window === undefined) return Math.max(2 * room.compactAtTokens, leastPart);
  const { maxTokens } = room.gateway.settings;
  const rest = window - Math.min(maxTokens, window / 4) - estimateTokens(summarySystem) - estimateTokens(earlier);
  // The estimate may be off.
  return Math.max(Math.floor(0.8 * rest), leastPart);
}

/** After the provider found a call too long. */
function smallerLimit({ texts }: Work, limit: number): number {
  const all = texts.reduce((sum, text) => sum + estimateTokens(text), 0);
  return Math.floor(Math.min(limit, all) / 2);
}

/** Part by part, each after the summary of the ones before; the last call's row is closed with the summary's commit. */
async function summarize(
  room: CompactionRoom,
  signals: ModelCallSignals,
  work: Work,
  limit: number,
): Promise<Written> {
  const parts = partsOf(work.texts, limit);
  let written: Written | undefined;
  for (const [index, part] of parts.entries()) {
    if (written) (await settleMetered(room.database, room.gateway, written.call, 'ok'))();
    const request = summaryRequest(written?.text ?? work.earlier, part, index + 1, parts.length);
    written = await write(room, signals, work, request);
  }
  if (!written) throw new CallFailure('internal');
  return written;
}

async function write(
  room: CompactionRoom,
  signals: ModelCallSignals,
  work: Work,
  messages: ReturnType<typeof summaryRequest>,
): Promise<Written> {
  const call = await transaction(room.database, async (tx) => {
    const row = await lockFenced(tx, work.row.id, work.row.fence);
    const { round, call_attempt } = work.row;
    const content = { system: summarySystem, messages, tools: [] };
    return openMetered(tx, room.gateway, { ...row, round, call_attempt }, work.project, 'compaction', content);
  });
  if ('failure' in call) throw new CallFailure(call.failure, call.text);
  signals.progress('summarizing', 0);
  let characters = 0;
  const heard = (delta = ''): void => signals.progress('summarizing', (characters += delta.length));
  try {
    const answer = await streamMetered(call, { signal: signals.signal, onText: heard, onProgress: () => heard() });
    const text = textOf(answer.blocks).trim();
    if (isBlank(text) || answer.stop_reason === 'refusal') {
      throw new ModelError('bad_response', { text: 'The model wrote no summary.', retryable: false });
    }
    return { text: storable(text), answer, call };
  } catch (error) {
    const status: UsageEnd = signals.stopped() ? 'cancelled' : error instanceof ModelError ? 'error' : 'lost';
    await settleFailed(room.database, room.gateway, call, status, error);
    throw error;
  }
}

async function store(
  room: CompactionRoom,
  signals: ModelCallSignals,
  work: Work,
  { text, answer, call }: Written,
): Promise<CompactOutcome> {
  const { project, upTo, estimate } = work;
  const beat = (): void => signals.progress('committing', 0);
  try {
    const tell = await commitPatiently(room.database, room.commitPatienceMs, beat, async (tx) => {
      const row = await lockFenced(tx, work.row.id, work.row.fence);
      const summary = text + (await missing(tx, work, text));
      const [stored] = await tx.query(
        `UPDATE planner_sessions SET summary = $2, summary_up_to = $3, summary_at = last_seq, updated_at = now()
         WHERE id = $1 AND summary_up_to < $3 RETURNING 1`,
        [row.session_id, summary, upTo],
      );
      if (!stored) return settleMetered(tx, room.gateway, call, 'ok');
      if (answer.usage) {
        const usage = addUsage(row.usage, answer.usage);
        await tx.query('UPDATE planner_turns SET usage = $2 WHERE id = $1', [row.id, usage]);
      }
      const attempt = Math.max(row.call_attempt, 1);
      tx.output({ session: row.session_id, turn: row.id, attempt, body: { type: 'compacted', up_to: upTo } });
      tx.emit({
        type: 'planner.compacted',
        organization_id: row.organization_id,
        project_id: row.project_id,
        entity_type: 'planner_session',
        entity_id: row.session_id,
        actor: plannerActor(row.session_id, row.human),
        payload: { up_to: upTo, estimated_tokens: estimate },
      });
      return settleMetered(tx, room.gateway, call, 'ok');
    });
    tell();
    room.compacted({ organization: project.organization_key, project: project.key });
    return { kind: 'compacted' };
  } catch (error) {
    // Paid for, though nobody gets it.
    if (error instanceof TurnLost) await settleFailed(room.database, room.gateway, call, 'lost');
    throw error;
  }
}

/** Item keys and changesets that the summarized part or the earlier summary names and the new summary does not. */
async function missing(tx: Tx, { earlier, texts, project }: Work, text: string): Promise<string> {
  const before = [earlier, ...texts].join('\n');
  const projects = await tx.query<{ key: string }>('SELECT key FROM projects WHERE organization_id = $1', [
    project.organization_id,
  ]);
  const known = new Set(projects.map(({ key }) => key));
  const keys = listKeys(without(keysIn(before, known), keysIn(text, known)));
  const kept = new Set(idsIn(text));
  const changesets = await tx.query<{ id: string; title: string; status: string }>(
    'SELECT id, title, status FROM changesets WHERE project_id = $1 AND id = ANY ($2::uuid[]) ORDER BY id',
    [project.id, idsIn(before).filter((id) => !kept.has(id))],
  );
  return [
    ...(keys === '' ? [] : [`Items named before: ${keys}`]),
    ...(changesets.length === 0 ? [] : ['Changesets named before, with their state when this was written:']),
    ...changesets.map(({ id, title, status }) => `- ${id} (${status}): ${title}`),
  ]
    .map((line, index) => (index === 0 ? `\n\n${line}` : `\n${line}`))
    .join('');
}
