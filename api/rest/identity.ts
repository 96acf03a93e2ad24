// The caller, organizations, projects, role bindings (spec: planner 5, 10).

import { actorOf, type Principal } from '../../domain/actor.ts';
import {
  createOrganization,
  createProject,
  listOrganizations,
  listProjects,
  visibleOrganization,
  type Project,
} from '../../store/projects.ts';
import { authorize } from '../../store/rights.ts';
import { createRoleBinding, deleteRoleBinding, listRoleBindings } from '../../store/role-bindings.ts';
import { readSubject } from '../../store/tokens.ts';
import type { App } from '../app.ts';
import { listOf, pageQuery } from '../contracts/common.ts';
import {
  me,
  newOrganization,
  newProject,
  newRoleBinding,
  organization,
  project,
  roleBinding,
  roleBindingQuery,
  type MeBody,
  type ProjectBody,
} from '../contracts/identity.ts';
import { pageOf } from './page.ts';
import { Routes, type Call } from './routes.ts';

export function identityRoutes(app: App): Routes {
  const routes = new Routes(app, 'Identity');
  routes.get('/me', { summary: 'The caller: who it is, its roles and projects', answer: me }, readMe);
  organizationRoutes(routes);
  projectRoutes(routes);
  bindingRoutes(routes);
  return routes;
}

function organizationRoutes(routes: Routes): void {
  routes.get(
    '/organizations',
    { summary: 'Organizations, by key', query: pageQuery, answer: listOf(organization) },
    async ({ database, principal, query }) =>
      pageOf(await listOrganizations(database, principal), query, ({ key }) => key),
  );
  routes.post(
    '/organizations',
    {
      summary: 'Create an organization',
      body: newOrganization,
      status: 201,
      answer: organization,
      errors: ['forbidden', 'already_exists'],
    },
    ({ principal, body, write }) =>
      write(async (tx) => {
        await authorize(tx, principal, 'organization.create', {});
        return createOrganization(tx, actorOf(principal), body);
      }),
  );
}

function projectRoutes(routes: Routes): void {
  routes.get(
    '/projects',
    { summary: 'Projects, by key', query: pageQuery, answer: listOf(project) },
    async ({ database, principal, query }) =>
      pageOf((await listProjects(database, principal)).map(projectBody), query, ({ key }) => key),
  );
  routes.post(
    '/projects',
    {
      summary: 'Create a project',
      body: newProject,
      status: 201,
      answer: project,
      errors: ['forbidden', 'not_found', 'already_exists'],
    },
    ({ principal, body, write }) => {
      const { organization, key, name, description } = body;
      return write(async (tx) => {
        const { id } = await visibleOrganization(tx, principal, organization, 'project.create');
        const input = { organization_id: id, key, name, ...(description === undefined ? {} : { description }) };
        return projectBody(await createProject(tx, actorOf(principal), input));
      });
    },
  );
}

function bindingRoutes(routes: Routes): void {
  routes.get(
    '/role-bindings',
    { summary: 'Role bindings that the caller may read', query: roleBindingQuery, answer: listOf(roleBinding) },
    async ({ database, principal, query: { limit, after, ...filter } }) => {
      const bindings = await listRoleBindings(database, principal, withoutUndefined({ ...filter, after }));
      const items = bindings.slice(0, limit);
      return { items, ...(bindings.length > limit ? { next: items.at(-1)!.id } : {}) };
    },
  );
  routes.post(
    '/role-bindings',
    {
      summary: 'Bind a role to a subject',
      body: newRoleBinding,
      status: 201,
      answer: roleBinding,
      errors: ['forbidden', 'not_found', 'already_exists'],
    },
    ({ principal, body, write }) => write((tx) => createRoleBinding(tx, principal, withoutUndefined(body))),
  );
  routes.delete(
    '/role-bindings/:id',
    { summary: 'End a role binding; the last platform-admin stays', errors: ['forbidden', 'not_found', 'conflict'] },
    ({ principal, param, write }) => write((tx) => deleteRoleBinding(tx, principal, param('id'))),
  );
}

async function readMe({ app, database, principal, expiresAt }: Call): Promise<MeBody> {
  const { subject, kind } = principal;
  // Its own bindings are shown to a subject whatever actions its token carries.
  const self: Principal = { subject, kind };
  const { name } = await readSubject(database, subject);
  return {
    subject,
    kind,
    name,
    expires_at: expiresAt,
    bindings: await listRoleBindings(database, self, { subject }),
    projects: (await listProjects(database, principal)).map(projectBody),
    model: app.model,
    ...(app.temporal.ui ? { temporal_ui: app.temporal.ui } : {}),
  };
}

function projectBody({ id, key, name, description, organization_key }: Project): ProjectBody {
  return { id, key, name, description, organization: organization_key };
}

type Present<T> = { [Key in keyof T]: Exclude<T[Key], undefined> };

function withoutUndefined<T extends object>(fields: T): Present<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Present<T>;
}
