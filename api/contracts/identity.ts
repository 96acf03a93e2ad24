// Who and where: the caller, organizations, projects, role bindings (spec: planner 5, 10).

import { z } from 'zod';
import { roles } from '../../domain/actor.ts';
import { cursorForm, formed, uuidPattern } from '../../domain/input.ts';
import { pageQuery, time, uuid } from './common.ts';

const role = z.enum(roles);

// What the store itself checks is told here for the document.
const organizationKey = z.string().meta({ pattern: '^[a-z][a-z0-9-]{1,31}$' });
const projectKey = z.string().meta({ pattern: '^[A-Z][A-Z0-9]{1,9}$' });
const givenName = z.string().meta({ description: 'Not blank.', minLength: 1, maxLength: 200 });

export const organization = z.strictObject({ id: uuid, key: z.string(), name: z.string() }).meta({ id: 'Organization' });
export type OrganizationBody = z.infer<typeof organization>;

/** POST /organizations */
export const newOrganization = z.strictObject({ key: organizationKey, name: givenName }).meta({ id: 'NewOrganization' });
export type NewOrganizationBody = z.infer<typeof newOrganization>;

export const project = z.strictObject({
  id: uuid,
  key: z.string(),
  name: z.string(),
  description: z.string(),
  /** The organization's key. */
  organization: z.string(),
}).meta({ id: 'Project' });
export type ProjectBody = z.infer<typeof project>;

/** POST /projects: `organization` is a key. */
export const newProject = z.strictObject({
  organization: z.string(),
  key: projectKey,
  name: givenName,
  description: z.string().optional(),
}).meta({ id: 'NewProject' });
export type NewProjectBody = z.infer<typeof newProject>;

/** Bound at the platform when it names neither an organization nor a project (both by key). */
export const roleBinding = z.strictObject({
  id: uuid,
  subject: z.string(),
  role,
  organization: z.string().optional(),
  project: z.string().optional(),
  created_at: time,
}).meta({ id: 'RoleBinding' });
export type RoleBindingBody = z.infer<typeof roleBinding>;

/** POST /role-bindings */
export const newRoleBinding = z.strictObject({
  subject: z.string(),
  role,
  organization: z.string().optional(),
  project: z.string().optional(),
}).meta({ id: 'NewRoleBinding' });
export type NewRoleBindingBody = z.infer<typeof newRoleBinding>;

/** GET /role-bindings: those that the caller may read, of a subject, an organization or a project (by key). */
export const roleBindingQuery = z.strictObject({
  ...pageQuery.shape,
  after: formed(uuidPattern, cursorForm).optional(),
  subject: z.string().optional(),
  organization: z.string().optional(),
  project: z.string().optional(),
});
export type RoleBindingQuery = z.input<typeof roleBindingQuery>;

/** GET /me */
export const me = z.strictObject({
  subject: z.string(),
  kind: z.enum(['human', 'service']),
  name: z.string(),
  /** When the presented token expires. */
  expires_at: time,
  bindings: z.array(roleBinding),
  projects: z.array(project),
  /** demo: the built-in demo model answers, no language model. */
  model: z.strictObject({ name: z.string(), demo: z.boolean() }),
  /** The Temporal UI's address, where known. */
  temporal_ui: z.string().optional(),
}).meta({ id: 'Me' });
export type MeBody = z.infer<typeof me>;
