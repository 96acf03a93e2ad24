// Fresh data: an organization, a project with a handful of items, a human who may do everything, and the human's token.

import { systemActor, type Principal } from '../../domain/actor.ts';
import type { NewItem } from '../../domain/item.ts';
import { openDatabase, transaction, type Database, type Tx } from '../../store/database.ts';
import { addDependency } from '../../store/dependencies.ts';
import { createItem, transitionItem } from '../../store/items.ts';
import { createOrganization, createProject } from '../../store/projects.ts';
import { bindRole } from '../../store/role-bindings.ts';
import { authenticate, createSubject, createToken } from '../../store/tokens.ts';
import { readToken, writeToken } from './stack-file.ts';

const local: Principal = { subject: 'local', kind: 'human' };
const day = 24 * 60 * 60 * 1_000;
const tokenDays = 90;
const renewDays = 14;
const lock = 0x73656564;

/**
 * Makes sure that the local human is known, and fills a database that knows no organization.
 * Returns that human's sign-in token: the kept one, or a new one when it is about to expire.
 */
export async function seed(url: string, dataDir: string): Promise<string> {
  const database = openDatabase(url, { max: 2, name: 'planner-seed' });
  try {
    await fillFresh(database);
    return await keepToken(database, dataDir);
  } finally {
    await database.close();
  }
}

/** Safe to run from several processes at once. */
export async function fillFresh(database: Database): Promise<void> {
  await transaction(database, async (tx) => {
    await tx.query('SELECT pg_advisory_xact_lock($1)', [lock]);
    await knowLocal(tx);
    const known = await tx.query('SELECT 1 FROM organizations LIMIT 1');
    if (known.length === 0) await fill(tx);
  });
}

async function knowLocal(tx: Tx): Promise<void> {
  const known = await tx.query('SELECT 1 FROM subjects WHERE subject = $1', [local.subject]);
  if (known.length > 0) return;
  await createSubject(tx, { subject: local.subject, kind: 'human', name: 'Local human' });
  await bindRole(tx, systemActor, { subject: local.subject, role: 'platform-admin' });
}

async function fill(tx: Tx): Promise<void> {
  const organization = await createOrganization(tx, systemActor, { key: 'acme', name: 'Acme' });
  const description = 'The web shop: a small example to plan with.';
  const key = 'WEB';
  await createProject(tx, systemActor, { organization_id: organization.id, key, name: 'Web shop', description });
  const add = async (input: NewItem): Promise<string> => (await createItem(tx, local, key, input)).key;

  const milestone = await add({ kind: 'milestone', title: 'First customers can order' });
  const epic = await add({ kind: 'epic', title: 'Checkout', milestone });
  const ticket = (title: string, acceptance_criteria: string[]): Promise<string> =>
    add({ kind: 'ticket', title, epic, milestone, acceptance_criteria });
  const cart = await ticket('Cart keeps its content between visits', ['A cart of yesterday is shown again today']);
  const pay = await ticket('Pay by card', ['A paid order is confirmed by mail', 'A refused card keeps the cart']);
  await transitionItem(tx, local, cart, { state: 'ready' });
  await transitionItem(tx, local, pay, { state: 'ready' });
  await addDependency(tx, local, cart, { type: 'blocks', to: pay });
  await add({ kind: 'ticket', type: 'bug', title: 'The search page forgets its filters on reload' });
}

async function keepToken(database: Database, dataDir: string): Promise<string> {
  const kept = readToken(dataDir);
  const known = await authenticate(database, kept).catch(() => undefined);
  if (kept && known && Date.parse(known.expires_at) - Date.now() > renewDays * day) return kept;
  const expires_at = new Date(Date.now() + tokenDays * day);
  const { token } = await transaction(database, (tx) =>
    createToken(tx, { subject: local.subject, label: 'npm start', expires_at }),
  );
  writeToken(dataDir, token);
  return token;
}
