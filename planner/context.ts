// What a model call sees: system prompt, tools, the summary and the messages after it; and whether that is too much.
// (spec: planner 7, 8)

import { contextTokens, cut, overheadTokens } from '../domain/compaction.ts';
import type { Message } from '../domain/transcript.ts';
import type { ToolSchema } from '../models/gateway.ts';
import type { Tx } from '../store/database.ts';
import { projectById, type Project } from '../store/projects.ts';
import { settingsOf, type Installation } from '../store/settings.ts';
import type { TurnRow } from '../store/turns.ts';
import { readMessages } from './conversation.ts';
import { plannerSkill } from './planner-skill.ts';
import { systemPrompt } from './prompt.ts';
import { toolSchemas } from './tools/index.ts';

export interface CallContext {
  project: Project;
  system: string;
  tools: readonly ToolSchema[];
  summary: string;
  /** The session's newest seq when the summary was stored. */
  summaryAt: number;
  /** The messages after those that the summary covers. */
  messages: readonly Message[];
}

/** The same for every call; making them takes milliseconds. */
let schemas: readonly ToolSchema[] | undefined;

/** As it stands now; the planner skill is resolved anew for each model call. */
export async function readContext(
  tx: Tx,
  turn: Pick<TurnRow, 'session_id' | 'project_id'>,
  installation: Installation,
): Promise<CallContext> {
  const [session] = await tx.query<{ summary: string; summary_up_to: number; summary_at: number }>(
    'SELECT summary, summary_up_to, summary_at FROM planner_sessions WHERE id = $1',
    [turn.session_id],
  );
  const { summary, summary_up_to: upTo, summary_at: summaryAt } = session!;
  const messages = await readMessages(tx, turn.session_id, upTo);
  const project = await projectById(tx, turn.project_id);
  const skill = await plannerSkill(tx, project, (await settingsOf(tx, project, installation)).skill);
  const system = systemPrompt(project, skill);
  schemas ??= toolSchemas();
  return { project, system, tools: schemas, summary, summaryAt, messages };
}

export interface CompactionLimits {
  /** Tokens above which a conversation is summarized; 0: never. */
  compactAtTokens: number;
  /** Called again for a project whose warning was given; says it once. */
  warnOnce(project: string, message: string): void;
}

/** Whether the call needs a compaction first: too long, and there is something that can be summarized. */
export function needsCompaction({ compactAtTokens, warnOnce }: CompactionLimits, context: CallContext): boolean {
  if (compactAtTokens === 0) return false;
  const overhead = overheadTokens(context);
  if (overhead > compactAtTokens) {
    const { key } = context.project;
    warnOnce(
      key,
      `The system prompt and the tools of project ${key} alone take about ${overhead} tokens, more than ` +
        `planner.compact_at_tokens (${compactAtTokens}): its conversations are not summarized. Raise it.`,
    );
    return false;
  }
  return isCompactable(context) && contextTokens(context, overhead) > compactAtTokens;
}

export function isCompactable({ messages }: CallContext): boolean {
  return cut(messages) > 0;
}
