// Realtime messages: JSON-RPC 2.0 over WebSocket at /rpc, subprotocol `ballet.v1.json` (spec: planner 11).

import { z } from 'zod';
import { failureKinds } from '../../domain/bounded/failures.ts';
import { actor, idOf, time, uuid } from './common.ts';
import { sent } from './planner.ts';
import { runStatus } from './runs.ts';

export const subprotocol = 'ballet.v1.json';

export const rpcCodes = {
  parse: -32700,
  invalid_request: -32600,
  method: -32601,
  params: -32602,
  internal: -32603,
  unauthenticated: -32001,
  forbidden: -32003,
  not_found: -32004,
  conflict: -32009,
  resync: -32010,
  rate_limited: -32029,
  unavailable: -32053,
} as const;

export const closeCodes = { internal: 1011, tryAgainLater: 1013, silent: 4000, unauthenticated: 4001 } as const;

const subscriptionId = z.string().refine((id) => {
  const bytes = new TextEncoder().encode(id).length;
  return bytes >= 1 && bytes <= 64;
}, 'must have 1-64 bytes');
const number = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
const token = z.string().max(12_000);

/** An id; one that is none is not found. */
const session = z.string().max(200);

/** Params of each method that a client may call. */
export const rpcParams = {
  auth: z.strictObject({ token }),
  'auth.refresh': z.strictObject({ token }),
  '$/heartbeat': z.strictObject({ time: z.string().max(100).optional() }),
  'system.ping': z.strictObject({}),
  'stream.subscribe': z.strictObject({
    subscription: subscriptionId,
    /** `project:<KEY>` or `item:<KEY>` */
    stream: z.string().max(200),
    /** The last seq that the client has, 0: none; absent: live only. */
    from_seq: number.optional(),
  }),
  /** Ends a subscription made by stream.subscribe or planner.watch. */
  'stream.unsubscribe': z.strictObject({ subscription: subscriptionId }),
  'planner.send': z.strictObject({ session, text: z.string(), message_id: z.string().optional() }),
  'planner.cancel': z.strictObject({ session, turn: idOf('a turn').optional() }),
  'planner.watch': z.strictObject({
    subscription: subscriptionId,
    session,
    /** The last output that the client has, 0: none; absent: the running turn from its start, then live. */
    from_output: number.optional(),
  }),
  'run.watch': z.strictObject({
    subscription: subscriptionId,
    /** The run's own id, or its run id where only one repository has it. */
    run: z.string().max(200),
    /** As in planner.watch; absent: the present attempt from its start, then live. */
    from_output: number.optional(),
  }),
  'run.cancel': z.strictObject({ run: z.string().max(200) }),
} as const;
export type RpcMethod = keyof typeof rpcParams;
export type RpcParams = { [Method in RpcMethod]: z.input<(typeof rpcParams)[Method]> };

const authenticated = z.strictObject({ subject: z.string(), expires_at: time });
const nothing = z.strictObject({});

/** Results of each method. */
export const rpcResults = {
  auth: authenticated,
  'auth.refresh': authenticated,
  '$/heartbeat': nothing,
  'system.ping': z.strictObject({ time, subject: z.string() }),
  /** seq: the stream's newest at this moment; what is replayed or follows arrives as stream.event. */
  'stream.subscribe': z.strictObject({ subscription: z.string(), seq: z.number().int() }),
  'stream.unsubscribe': nothing,
  'planner.send': sent,
  'planner.cancel': nothing,
  /** output: the session's newest at this moment; what is replayed or follows arrives as planner.output. */
  'planner.watch': z.strictObject({ subscription: z.string(), running: uuid.optional(), output: z.number().int() }),
  /** As in planner.watch; what is replayed or follows arrives as run.output. `running`: the run, while it goes on. */
  'run.watch': z.strictObject({
    subscription: z.string(),
    status: runStatus,
    running: uuid.optional(),
    output: z.number().int(),
  }),
  'run.cancel': nothing,
} as const;
export type RpcResults = { [Method in RpcMethod]: z.infer<(typeof rpcResults)[Method]> };

export const streamEvent = z.strictObject({
  subscription: z.string(),
  seq: z.number().int(),
  type: z.string(),
  entity_type: z.string(),
  entity_id: z.string(),
  entity_key: z.string().optional(),
  occurred_at: time,
  actor,
  payload: z.record(z.string(), z.unknown()).optional(),
});

const outputHead = {
  subscription: z.string(),
  session: uuid,
  turn: uuid,
  /** Of the model call; a higher one voids what the same call's earlier attempts streamed. */
  attempt: z.number().int(),
  output: z.number().int(),
};

export const plannerOutput = z.discriminatedUnion('type', [
  z.strictObject({ ...outputHead, type: z.literal('text'), text: z.string(), replace: z.literal(true).optional() }),
  z.strictObject({
    ...outputHead,
    type: z.literal('tool_call'),
    tool: z.string(),
    tool_use_id: z.string(),
    input: z.unknown(),
  }),
  z.strictObject({
    ...outputHead,
    type: z.literal('tool_result'),
    tool: z.string(),
    tool_use_id: z.string(),
    text: z.string(),
    is_error: z.boolean(),
  }),
  z.strictObject({ ...outputHead, type: z.literal('message'), seq: z.number().int() }),
  z.strictObject({
    ...outputHead,
    type: z.literal('compacted'),
    up_to: z.number().int().describe('Number of the newest message that the summary covers.'),
  }),
  z.strictObject({ ...outputHead, type: z.literal('retrying'), reason: z.string() }),
  z.strictObject({ ...outputHead, type: z.literal('error'), text: z.string() }),
  z.strictObject({ ...outputHead, type: z.literal('done'), text: z.string() }),
]);

const runHead = {
  subscription: z.string(),
  run: uuid,
  /** Of the CLI; 0: before the first one. */
  attempt: z.number().int(),
  output: z.number().int(),
};
const milliseconds = z.number().int().optional();

export const runOutput = z.discriminatedUnion('type', [
  z.strictObject({ ...runHead, type: z.literal('text'), text: z.string(), replace: z.literal(true).optional() }),
  z.strictObject({
    ...runHead,
    type: z.literal('status'),
    phase: z.string(),
    elapsed_ms: milliseconds,
    visible_characters: milliseconds,
    last_event_age_ms: milliseconds,
  }),
  z.strictObject({
    ...runHead,
    type: z.literal('attempt_failed'),
    failure_kind: z.enum(failureKinds),
    failure_detail: z.string(),
  }),
  z.strictObject({ ...runHead, type: z.literal('waiting'), wait_ms: z.number().int() }),
  z.strictObject({ ...runHead, type: z.literal('checkpoint'), text: z.string() }),
  z.strictObject({ ...runHead, type: z.literal('warning'), text: z.string() }),
  z.strictObject({ ...runHead, type: z.literal('error'), text: z.string() }),
  z.strictObject({
    ...runHead,
    type: z.literal('done'),
    status: z.enum(['succeeded', 'failed', 'cancelled', 'rejected']),
    failure_kind: z.enum(failureKinds).optional(),
  }),
]);

/** lagging: subscribe again from the last number. forbidden: the right to read was lost. */
export const streamClosed = z.strictObject({ subscription: z.string(), reason: z.enum(['lagging', 'forbidden']) });

/** Params of each notification that the server sends. */
export const rpcNotifications = {
  '$/heartbeat': z.strictObject({ time }),
  'stream.event': streamEvent,
  'stream.closed': streamClosed,
  'planner.output': plannerOutput,
  'run.output': runOutput,
} as const;
export type RpcNotifications = {
  [Method in keyof typeof rpcNotifications]: z.infer<(typeof rpcNotifications)[Method]>;
};
export type PlannerOutputParams = RpcNotifications['planner.output'];
export type RunOutputParams = RpcNotifications['run.output'];
export type StreamEventParams = RpcNotifications['stream.event'];
export type StreamClosedParams = RpcNotifications['stream.closed'];

export type RpcId = string | number | null;

export interface RpcRequestFrame {
  jsonrpc: '2.0';
  id?: RpcId;
  method: string;
  params?: unknown;
}

/** data of resync (-32010): the newest number, after which the client goes on once it has reloaded. */
export interface RpcErrorBody {
  code: number;
  message: string;
  data?: { output: number };
}

export type RpcResponseFrame =
  | { jsonrpc: '2.0'; id: RpcId; result: unknown }
  | { jsonrpc: '2.0'; id: RpcId; error: RpcErrorBody };
