// What a signed-in socket can ask for (spec: planner 11).

import { cancelRun } from '../../bounded/index.ts';
import { cancelTurn, sendMessage } from '../../planner/conversation.ts';
import { rpcParams, type RpcMethod, type RpcResults } from '../contracts/realtime.ts';
import { parse } from '../../domain/input.ts';
import type { Connection } from './connection.ts';
import { runPosition } from './run-position.ts';
import { eventPosition } from './streams.ts';

/** A result, and what begins once it has been sent. */
export interface Answer<Result = unknown> {
  result: Result;
  begin?(): void;
}

type Served = Exclude<RpcMethod, 'auth' | 'auth.refresh'>;
type Methods = {
  [Method in Served]: (connection: Connection, params: unknown) => Promise<Answer<RpcResults[Method]>>;
};

const nothing: Record<string, never> = {};

export const methods: Methods = {
  async '$/heartbeat'(_connection, params) {
    parse(rpcParams['$/heartbeat'], params);
    return { result: nothing };
  },

  async 'system.ping'(connection, params) {
    parse(rpcParams['system.ping'], params);
    return { result: { time: new Date().toISOString(), subject: connection.principal().subject } };
  },

  async 'stream.subscribe'(connection, params) {
    const { subscription, stream, from_seq } = parse(rpcParams['stream.subscribe'], params);
    connection.subscriptions.check(subscription);
    const { database } = connection.realtime.app;
    const position = await eventPosition(database, connection.principal(), stream, from_seq);
    return {
      result: { subscription, seq: position.newest },
      begin: () => connection.subscriptions.follow(subscription, position),
    };
  },

  async 'stream.unsubscribe'(connection, params) {
    const { subscription } = parse(rpcParams['stream.unsubscribe'], params);
    connection.subscriptions.end(subscription);
    return { result: nothing };
  },

  async 'planner.send'(connection, params) {
    const input = parse(rpcParams['planner.send'], params);
    const { database, engine, limits } = connection.realtime.app;
    limits.sends.take(connection.principal().subject);
    const { seq, turn, fresh } = await sendMessage(database, connection.principal(), input);
    if (fresh) engine.sent(turn);
    return { result: { seq, turn } };
  },

  async 'planner.cancel'(connection, params) {
    const input = parse(rpcParams['planner.cancel'], params);
    const { database, engine } = connection.realtime.app;
    const { turn } = await cancelTurn(database, connection.principal(), input);
    if (turn) engine.cancelled(turn);
    return { result: nothing };
  },

  async 'planner.watch'(connection, params) {
    const { subscription, session, from_output } = parse(rpcParams['planner.watch'], params);
    connection.subscriptions.check(subscription);
    const position = await connection.subscriptions.place(session.toLowerCase(), from_output);
    const { running, newest } = position;
    return {
      result: { subscription, ...(running ? { running } : {}), output: newest },
      begin: () => connection.subscriptions.watch(subscription, position),
    };
  },

  async 'run.watch'(connection, params) {
    const { subscription, run, from_output } = parse(rpcParams['run.watch'], params);
    connection.subscriptions.check(subscription);
    const { database } = connection.realtime.app;
    const position = await runPosition(database, connection.principal(), run, from_output);
    const running = position.running ? { running: position.run } : {};
    return {
      result: { subscription, status: position.status, ...running, output: position.newest },
      begin: () => connection.subscriptions.watchRun(subscription, position),
    };
  },

  async 'run.cancel'(connection, params) {
    const { run } = parse(rpcParams['run.cancel'], params);
    await cancelRun(connection.realtime.app.database, connection.principal(), { run });
    return { result: nothing };
  },
};

export function isMethod(method: string): method is RpcMethod {
  return Object.hasOwn(rpcParams, method);
}
