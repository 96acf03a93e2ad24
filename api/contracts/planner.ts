// Sessions, messages, turns (spec: planner 7, 10).

import { z } from 'zod';
import { idOf, limitTo, seqCursor, time, usage, uuid } from './common.ts';
import { sessionMeter, usageTotals } from './gateway.ts';

export const session = z.strictObject({
  id: uuid,
  /** The project's key. */
  project: z.string(),
  title: z.string(),
  created_by: z.string(),
  created_at: time,
  updated_at: time,
  archived: z.boolean(),
  /** The turn that is pending or active. */
  running: uuid.optional(),
}).meta({ id: 'Session' });
export type SessionBody = z.infer<typeof session>;

const block = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text'), text: z.string() }),
  z.strictObject({
    type: z.literal('tool_use'),
    tool_use_id: z.string(),
    name: z.string(),
    /** The parsed object, or the model's text where that was no JSON object. */
    input: z.union([z.record(z.string(), z.unknown()), z.string()]),
  }),
  z.strictObject({
    type: z.literal('tool_result'),
    tool_use_id: z.string(),
    text: z.string(),
    is_error: z.boolean(),
  }),
]).meta({ id: 'Block' });
export type BlockBody = z.infer<typeof block>;

export const message = z.strictObject({
  seq: z.number().int(),
  role: z.enum(['user', 'assistant']),
  blocks: z.array(block),
  author: z.string().optional(),
  turn: uuid,
  round: z.number().int().optional(),
  stop_reason: z.enum(['end_turn', 'max_tokens', 'tool_use', 'refusal', 'cancelled']).optional(),
  model: z.string().optional(),
  usage: usage.optional(),
  created_at: time,
}).meta({ id: 'Message' });
export type MessageBody = z.infer<typeof message>;

/** GET /planner/sessions/{id}: the whole transcript, or a window of it. */
export const sessionView = session.extend({
  summary: z.string(),
  summary_up_to: z.number().int(),
  /** What it has used, and how full the model's window is. */
  meter: sessionMeter,
  output: z.number().int().meta({ description: 'The newest output\'s number: watch from here.' }),
  messages: z.array(message),
  next: z.number().int().optional().meta({ description: '`after` of the next window, when this one is cut.' }),
}).meta({ id: 'SessionView' });
export type SessionViewBody = z.infer<typeof sessionView>;

/** GET /planner/sessions/{id}: messages after that seq, at most so many; neither: all. */
export const sessionQuery = z.strictObject({
  after: seqCursor.optional(),
  limit: limitTo(1_000).optional(),
});
export type SessionQuery = z.input<typeof sessionQuery>;

// What the conversation itself checks is told here for the document.
const title = z.string().optional().meta({ description: 'On one line, not blank.', minLength: 1, maxLength: 200 });

/** POST /projects/{p}/planner/sessions */
export const newSession = z.strictObject({ title }).meta({ id: 'NewSession' });
export type NewSessionBody = z.infer<typeof newSession>;

/** PATCH /planner/sessions/{id} */
export const sessionPatch = z
  .strictObject({ title, archived: z.boolean().optional() })
  .meta({ id: 'SessionPatch' });
export type SessionPatchBody = z.infer<typeof sessionPatch>;

/** POST /planner/sessions/{id}/messages. A repeated `message_id` is answered as it was the first time. */
export const newMessage = z
  .strictObject({
    text: z.string().meta({ description: 'Not blank.', minLength: 1, maxLength: 100_000 }),
    message_id: z
      .string()
      .optional()
      .meta({ description: 'Of the client; a repeat gets the first answer.', minLength: 1, maxLength: 128 }),
  })
  .meta({ id: 'NewMessage' });
export type NewMessageBody = z.infer<typeof newMessage>;

export const sent = z.strictObject({ seq: z.number().int(), turn: uuid }).meta({ id: 'Sent' });
export type SentBody = z.infer<typeof sent>;

/** POST /planner/sessions/{id}/cancel. `turn` guards against cancelling the next one. */
export const cancel = z.strictObject({ turn: idOf('a turn').optional() }).meta({ id: 'CancelTurn' });
export type CancelBody = z.infer<typeof cancel>;

export const turn = z.strictObject({
  id: uuid,
  session: uuid,
  status: z.enum(['pending', 'active', 'ended']),
  reason: z.enum(['end_turn', 'max_tokens', 'refusal', 'max_rounds', 'cancelled', 'error']).optional(),
  message_seq: z.number().int(),
  workflow_id: z.string(),
  run_id: z.string().optional(),
  /** The workflow in the Temporal UI, where its address is known. */
  workflow_url: z.string().optional(),
  rounds: z.number().int(),
  usage,
  /** All that its calls used: as `usage`, and what retries, failed calls and compaction used besides. */
  metered: usageTotals,
  failure: z.string().optional(),
  created_at: time,
  started_at: time.optional(),
  ended_at: time.optional(),
}).meta({ id: 'Turn' });
export type TurnBody = z.infer<typeof turn>;
