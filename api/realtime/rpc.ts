// JSON-RPC 2.0: reading frames, and errors as codes (spec: planner 11).

import { rpcCodes, type RpcErrorBody, type RpcId } from '../contracts/realtime.ts';
import { DomainError, type ErrorCode } from '../../domain/errors.ts';
import { quoted } from '../../domain/input.ts';
import { firstCharacters } from '../../domain/text.ts';
import { databaseAway } from '../outage.ts';

export interface Request {
  /** Absent: a notification, which is never answered. */
  id?: RpcId;
  method: string;
  params: unknown;
}

/** A fault of the protocol itself; `id` as far as it could be read. */
export class RpcFault extends Error {
  readonly id: RpcId;
  readonly code: number;

  constructor(code: number, message: string, id: RpcId = null) {
    super(message);
    this.code = code;
    this.id = id;
  }
}

/** Reads one frame. Throws RpcFault: parse, invalid_request. */
export function readRequest(text: string): Request {
  let frame: unknown;
  try {
    frame = JSON.parse(text);
  } catch (error) {
    throw new RpcFault(rpcCodes.parse, `The frame is no JSON: ${firstCharacters((error as Error).message, 200)}`);
  }
  const bad = (message: string, id: RpcId = null): RpcFault => new RpcFault(rpcCodes.invalid_request, message, id);
  if (Array.isArray(frame)) throw bad('Batches are not supported; send one request a frame.');
  if (typeof frame !== 'object' || frame === null) throw bad('A request is a JSON object.');
  const { jsonrpc, id, method, params, ...unknown } = frame as Record<string, unknown>;
  if (id !== undefined && id !== null && typeof id !== 'string' && typeof id !== 'number') {
    throw bad('A request\'s id is a string or a number.');
  }
  const known = id ?? null;
  if (jsonrpc !== '2.0') throw bad('A request has "jsonrpc": "2.0".', known);
  if (typeof method !== 'string') throw bad('A request has a method, a string.', known);
  if (params !== undefined && (typeof params !== 'object' || params === null)) {
    throw bad('A request\'s params are an object.', known);
  }
  const [member] = Object.keys(unknown);
  if (member !== undefined) throw bad(`A request has no member ${quoted(member)}.`, known);
  return { ...(id === undefined ? {} : { id }), method, params: params ?? {} };
}

const codeOf: Record<ErrorCode, number> = {
  invalid_argument: rpcCodes.params,
  unauthenticated: rpcCodes.unauthenticated,
  forbidden: rpcCodes.forbidden,
  not_found: rpcCodes.not_found,
  conflict: rpcCodes.conflict,
  already_exists: rpcCodes.conflict,
  rate_limited: rpcCodes.rate_limited,
  resync: rpcCodes.resync,
  unavailable: rpcCodes.unavailable,
};

/** An error as clients see it, a database that is away too; undefined: a fault of ours, without detail. */
export function rpcError(error: unknown): RpcErrorBody | undefined {
  if (error instanceof RpcFault) return { code: error.code, message: error.message };
  const known = error instanceof DomainError ? error : databaseAway(error);
  if (!known) return undefined;
  const output = known.data?.['output'];
  return {
    code: codeOf[known.code],
    message: known.message,
    ...(known.code === 'resync' && typeof output === 'number' ? { data: { output } } : {}),
  };
}

export const internalError: RpcErrorBody = { code: rpcCodes.internal, message: 'Internal error.' };
