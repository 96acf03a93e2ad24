// Long conversations: messages put into the database at once, and a model that reports what a real one would.

import { v7 as uuidv7 } from 'uuid';
import { estimateTokens } from '../../domain/compaction.ts';
import type { Database } from '../../store/database.ts';
import { says, type Reply, type ScriptedRequest } from './scripted-model.ts';

/** Appends `count` messages, human and assistant in turn, to an idle session. `text` is given the message's number. */
export async function seedMessages(
  database: Database,
  session: string,
  count: number,
  text: (seq: number) => string,
): Promise<void> {
  const [row] = await database.query<{ last_seq: number }>('SELECT last_seq FROM planner_sessions WHERE id = $1', [
    session,
  ]);
  const from = row!.last_seq;
  const turn = uuidv7();
  await database.query(
    `INSERT INTO planner_turns (id, session_id, human, message_seq, status, reason, workflow_id, outputs_kept, ended_at)
     VALUES ($1, $2, 'ada', $3, 'ended', 'end_turn', $4, false, now())`,
    [turn, session, from + 1, `planner-turn-${turn}`],
  );
  const seqs = Array.from({ length: count }, (_, index) => from + index + 1);
  await database.query(
    `INSERT INTO planner_messages (session_id, seq, role, blocks, author, turn_id, stop_reason)
     SELECT $1, seq, CASE WHEN seq % 2 = 1 THEN 'user' ELSE 'assistant' END, blocks,
            CASE WHEN seq % 2 = 1 THEN 'ada' END, $2, CASE WHEN seq % 2 = 0 THEN 'end_turn' END
     FROM unnest($3::int[], $4::jsonb[]) AS new (seq, blocks)`,
    [session, turn, seqs, seqs.map((seq) => JSON.stringify([{ type: 'text', text: text(seq) }]))],
  );
  await database.query('UPDATE planner_sessions SET last_seq = $2 WHERE id = $1', [session, from + count]);
}

/** The request asks for a summary, not for an answer. */
export function asksForSummary({ tools, messages }: ScriptedRequest): boolean {
  return tools === undefined && /memory of a planning conversation/.test(messages[0]?.content ?? '');
}

/** All text of a request's conversation, without the system prompt. */
export function requestText({ messages }: ScriptedRequest): string {
  return messages.slice(1).map(({ content }) => content ?? '').join('\n');
}

/** An answer with the usage that its request would have. */
export function answers(request: ScriptedRequest, text: string): Reply {
  const input = estimateTokens(JSON.stringify(request.messages)) + estimateTokens(JSON.stringify(request.tools ?? []));
  return [{ usage: { input, output: estimateTokens(text) } }, ...(says(text) as [])];
}
