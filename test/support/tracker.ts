// An installation for tests of the tracker: organizations, projects, and one subject a role.

import type { Principal, Role, SubjectKind } from '../../domain/actor.ts';
import { systemActor } from '../../domain/actor.ts';
import type { StoredEvent } from '../../domain/event.ts';
import type { Item, NewItem } from '../../domain/item.ts';
import { transaction, type Database, type Tx } from '../../store/database.ts';
import { createItem } from '../../store/items.ts';
import { createOrganization, createProject, type Organization, type Project } from '../../store/projects.ts';
import { bindRole } from '../../store/role-bindings.ts';
import type { Scope } from '../../store/rights.ts';
import { createSubject } from '../../store/tokens.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';

export interface Tracker extends TestDatabase {
  organization: Organization;
  /** WEB, where everybody of the team works. */
  web: Project;
  /** OPS, of the same organization; only the administrators reach it. */
  ops: Project;
  admin: Principal;
  engineer: Principal;
  approver: Principal;
  viewer: Principal;
  /** Bound to nothing. */
  stranger: Principal;
  /** The orchestrator of execution: a service that holds run.manage. */
  orchestrator: Principal;
  run<T>(body: (tx: Tx) => Promise<T>): Promise<T>;
  item(fields: Partial<NewItem>): Promise<Item>;
}

export async function createTracker(): Promise<Tracker> {
  const db = await createTestDatabase();
  const run = <T>(body: (tx: Tx) => Promise<T>): Promise<T> => transaction(db.database, body);
  const organization = await run((tx) => createOrganization(tx, systemActor, { key: 'acme', name: 'Acme' }));
  const project = (key: string): Promise<Project> =>
    run((tx) => createProject(tx, systemActor, { organization_id: organization.id, key, name: key }));
  const web = await project('WEB');
  const ops = await project('OPS');
  const at = { project_id: web.id };
  const engineer = await subject(db.database, 'erin', 'human', 'engineer', at);
  return {
    ...db,
    organization,
    web,
    ops,
    admin: await subject(db.database, 'ada', 'human', 'platform-admin', {}),
    engineer,
    approver: await subject(db.database, 'abe', 'human', 'approver', at),
    viewer: await subject(db.database, 'vic', 'human', 'viewer', at),
    stranger: await subject(db.database, 'sam', 'human'),
    orchestrator: await subject(db.database, 'runner', 'service', 'organization-admin', {
      organization_id: organization.id,
    }),
    run,
    item: (fields) => run((tx) => createItem(tx, engineer, 'WEB', { kind: 'ticket', title: 'A ticket', ...fields })),
  };
}

export async function subject(
  database: Database,
  name: string,
  kind: SubjectKind,
  role?: Role,
  scope: Scope = {},
): Promise<Principal> {
  await transaction(database, async (tx) => {
    await createSubject(tx, { subject: name, kind, name });
    if (role) await bindRole(tx, systemActor, { subject: name, role, ...scope });
  });
  return { subject: name, kind };
}

/** The events of a project, in order. */
export async function projectEvents(database: Database, project: Project): Promise<StoredEvent[]> {
  return database.query<StoredEvent>('SELECT * FROM events WHERE scope = $1 ORDER BY seq', [`project:${project.id}`]);
}
