// The client against the real API: nothing is missed and nothing comes twice, whatever breaks in between.

import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { connect, createRest, type Output, type StreamEvent } from '../client/index.ts';
import { createSession, sendMessage } from '../planner/conversation.ts';
import type { Principal } from '../domain/actor.ts';
import { transaction } from '../store/database.ts';
import { deleteRoleBinding, listRoleBindings } from '../store/role-bindings.ts';
import { revokeToken } from '../store/tokens.ts';
import { inHours, makeToken, startTestApi, type TestApi } from './support/api.ts';
import { startProxy } from './support/proxy.ts';

const engineer: Principal = { subject: 'engineer', kind: 'human' };
const quick = { backoff: 5, backoffMax: 30 };
let world: TestApi;
beforeAll(async () => {
  world = await startTestApi();
});
afterAll(() => world.close());

async function openTurn(): Promise<{ session: string; turn: string }> {
  const session = (await transaction(world.database, (tx) => createSession(tx, engineer, { project: 'WEB' }))).id;
  const { turn } = await sendMessage(world.database, engineer, { session, text: 'plan' });
  return { session, turn };
}

async function write(session: string, turn: string, text: string): Promise<void> {
  const output = { session, turn, attempt: 1, body: { type: 'text', text } } as const;
  await transaction(world.database, async (tx) => tx.output(output));
}

it('reports e05: follows a turn over many broken connections; the connection alone tells when to catch up', async () => {
  const { session, turn } = await openTurn();
  const proxy = await startProxy(Number(new URL(world.address).port));
  const realtime = connect({ address: proxy.address, token: world.tokens.engineer, timings: quick });
  const got: Output[] = [];
  realtime.watch(session, { onOutput: (output) => got.push(output) }, { from_output: 0 });
  for (let n = 0; n < 300; n++) {
    await write(session, turn, `${n} `);
    if (n % 25 === 12) proxy.cut();
  }
  const texts = (): string => got.flatMap((output) => (output.type === 'text' ? [output.text] : [])).join('');
  const all = Array.from({ length: 300 }, (_, n) => `${n} `).join('');
  await vi.waitFor(() => expect(texts()).toBe(all), 10_000);
  expect(got.map((output) => output.output)).toEqual(got.map((_, index) => index + 1));
  realtime.close();
  await proxy.close();
});

it('follows the events of a project over broken connections', async () => {
  const proxy = await startProxy(Number(new URL(world.address).port));
  const realtime = connect({ address: proxy.address, token: world.tokens.engineer, timings: quick });
  const rest = createRest({ address: world.address, token: world.tokens.engineer });
  const got: StreamEvent[] = [];
  const feed = realtime.subscribe('project:WEB', { onEvent: (event) => got.push(event) });
  const { seq } = await feed.ready;
  const keys: string[] = [];
  for (let n = 0; n < 12; n++) {
    keys.push((await rest.createItem('WEB', { kind: 'ticket', title: `Item ${n}` })).key);
    if (n % 4 === 1) proxy.cut();
  }
  await vi.waitFor(() => expect(got.map((event) => event.entity_key)).toEqual(keys), 10_000);
  expect(got.map((event) => event.seq)).toEqual(keys.map((_, index) => seq + 1 + index));
  realtime.close();
  await proxy.close();
});

it('is told to reload when it asks for more than there is, and goes on live', async () => {
  const { session, turn } = await openTurn();
  const realtime = connect({ address: world.address, token: world.tokens.engineer, timings: quick });
  const onResync = vi.fn();
  const got: Output[] = [];
  const from = { from_output: 99_999 };
  const watch = realtime.watch(session, { onOutput: (output) => got.push(output), onResync }, from);
  await watch.ready;
  expect(onResync).toHaveBeenCalledExactlyOnceWith(1);
  await write(session, turn, 'live');
  await vi.waitFor(() => expect(got).toEqual([expect.objectContaining({ text: 'live', output: 2 })]));
  realtime.close();
});

it('sends once, however often it says it', async () => {
  const session = (await transaction(world.database, (tx) => createSession(tx, engineer, { project: 'WEB' }))).id;
  const realtime = connect({ address: world.address, token: world.tokens.engineer, timings: quick });
  const first = await realtime.send({ session, text: 'plan', message_id: 'm1' });
  expect(await realtime.send({ session, text: 'plan', message_id: 'm1' })).toEqual(first);
  await expect(realtime.send({ session, text: 'other' })).rejects.toMatchObject({ code: 'conflict' });
  await expect(realtime.send({ session, text: ' ' })).rejects.toMatchObject({ code: 'invalid_argument' });
  await expect(realtime.cancel({ session, turn: first.turn })).resolves.toBeUndefined();
  realtime.close();
});

it('ends when its token is revoked', async () => {
  const { id, token } = await makeToken(world.database, { subject: 'engineer', expires_at: inHours(1) });
  const problems: (Error | undefined)[] = [];
  const onState = (_: unknown, problem?: Error): void => void problems.push(problem);
  const realtime = connect({ address: world.address, token, timings: quick, onState });
  await realtime.ping();
  await transaction(world.database, (tx) => revokeToken(tx, id));
  await vi.waitFor(() => expect(realtime.state).toBe('closed'), 5_000);
  expect(problems.at(-1)).toMatchObject({ code: 'unauthenticated' });
});

it('is told when the right to read is lost', async () => {
  const { session } = await openTurn();
  const realtime = connect({ address: world.address, token: world.tokens.viewer, timings: quick });
  const onClosed = vi.fn();
  await realtime.watch(session, { onOutput: () => undefined, onClosed }).ready;
  const admin: Principal = { subject: 'admin', kind: 'human' };
  await transaction(world.database, async (tx) => {
    const bindings = await listRoleBindings(tx, admin, { project: 'WEB' });
    const binding = bindings.find((each) => each.subject === 'viewer')!;
    await deleteRoleBinding(tx, admin, binding.id);
  });
  await vi.waitFor(() => expect(onClosed).toHaveBeenCalledExactlyOnceWith('forbidden'), 5_000);
  realtime.close();
});

it('needs no package and nothing of Node, so that browsers run it', () => {
  const folder = fileURLToPath(new URL('../client/', import.meta.url));
  const imports = readdirSync(folder).flatMap((file) =>
    [...readFileSync(folder + file, 'utf8').matchAll(/^(?:import|export) (?!type).*? from '([^']+)'/gms)].map(
      ([, name]) => name,
    ),
  );
  expect(imports.length).toBeGreaterThan(5);
  expect(imports.filter((name) => !name!.startsWith('./'))).toEqual([]);
});
