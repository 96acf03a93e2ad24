// Settings of organizations and projects: model, provider, planner skill, daily tokens; what is absent is inherited
// (spec: planner 9, 13).

import { actorOf, type Principal } from '../domain/actor.ts';
import { invalid } from '../domain/errors.ts';
import type { NewEvent } from '../domain/event.ts';
import { defaultProvider } from '../domain/models.ts';
import type { Queryable, Tx } from './database.ts';
import {
  descriptionOf,
  nameOf,
  organizationByKey,
  projectById,
  visibleOrganization,
  visibleProject,
  type Organization,
  type Project,
} from './projects.ts';

/** As an organization or a project sets them for itself. */
export interface OwnSettings {
  model?: string;
  /** Whose credential is used. */
  provider?: string;
  /** Name of the planner skill. */
  skill?: string;
  /** Tokens a UTC day; 0: no limit of its own. */
  daily_tokens?: number;
}

/** What holds where neither the project nor its organization says otherwise. */
export interface Installation {
  model: string;
  skill: string;
  /** Tokens a UTC day of each organization; 0: no limit. */
  daily_tokens: number;
}

export type SettingSource = 'project' | 'organization' | 'installation';

export interface ResolvedSettings {
  model: string;
  model_from: SettingSource;
  provider: string;
  provider_from: SettingSource;
  skill: string;
  /** Of the project; 0: no limit of its own. */
  daily_tokens: number;
  /** Of all the organization's projects together; 0: no limit. */
  organization_daily_tokens: number;
}

/** A project's settings as they hold now. */
export async function settingsOf(
  q: Queryable,
  project: { id: string },
  installation: Installation,
): Promise<ResolvedSettings> {
  const [row] = await q.query<{ own: OwnSettings; above: OwnSettings }>(
    `SELECT p.settings AS own, o.settings AS above
     FROM projects p JOIN organizations o ON o.id = p.organization_id WHERE p.id = $1`,
    [project.id],
  );
  const { own, above } = row ?? { own: {}, above: {} };
  const from = (name: 'model' | 'provider'): SettingSource =>
    own[name] !== undefined ? 'project' : above[name] !== undefined ? 'organization' : 'installation';
  return {
    model: own.model ?? above.model ?? installation.model,
    model_from: from('model'),
    provider: own.provider ?? above.provider ?? defaultProvider,
    provider_from: from('provider'),
    skill: own.skill ?? above.skill ?? installation.skill,
    daily_tokens: own.daily_tokens ?? 0,
    organization_daily_tokens: above.daily_tokens ?? installation.daily_tokens,
  };
}

/** A change of own settings; null: inherit again. */
export type SettingsChange = { [Name in keyof OwnSettings]?: OwnSettings[Name] | null | undefined };

export interface ProjectChange {
  name?: string | undefined;
  description?: string | undefined;
  settings?: SettingsChange | undefined;
}

export interface ProjectWithSettings extends Project {
  settings: OwnSettings;
}

export interface OrganizationWithSettings extends Organization {
  settings: OwnSettings;
}

/** Errors: not_found, forbidden. */
export async function readProject(q: Queryable, principal: Principal, key: string): Promise<ProjectWithSettings> {
  const project = await visibleProject(q, principal, key, 'project.read');
  return { ...project, settings: await ownSettings(q, 'projects', project.id) };
}

/** Errors: not_found, forbidden. */
export async function readOrganization(
  q: Queryable,
  principal: Principal,
  key: string,
): Promise<OrganizationWithSettings> {
  const organization = await visibleOrganization(q, principal, key, 'organization.read');
  return { ...organization, settings: await ownSettings(q, 'organizations', organization.id) };
}

/** Events: project.updated, and budget.set where the daily tokens change. Errors: not_found, forbidden, invalid. */
export async function updateProject(
  tx: Tx,
  principal: Principal,
  key: string,
  change: ProjectChange,
): Promise<ProjectWithSettings> {
  const project = await visibleProject(tx, principal, key, 'project.update');
  const place = {
    organization_id: project.organization_id,
    project_id: project.id,
    entity_type: 'project',
    entity_id: project.id,
    entity_key: project.key,
  };
  await update(tx, principal, 'projects', place, change);
  return { ...(await projectById(tx, project.id)), settings: await ownSettings(tx, 'projects', project.id) };
}

/** Events: organization.updated; budget.set where the daily tokens change. Errors: not_found, forbidden, invalid. */
export async function updateOrganization(
  tx: Tx,
  principal: Principal,
  key: string,
  change: Omit<ProjectChange, 'description'>,
): Promise<OrganizationWithSettings> {
  const { id } = await visibleOrganization(tx, principal, key, 'organization.update');
  const place = { organization_id: id, entity_type: 'organization', entity_id: id, entity_key: key };
  await update(tx, principal, 'organizations', place, change);
  return { ...(await organizationByKey(tx, key)), settings: await ownSettings(tx, 'organizations', id) };
}

type Table = 'projects' | 'organizations';

async function ownSettings(q: Queryable, table: Table, id: string): Promise<OwnSettings> {
  const [row] = await q.query<{ settings: OwnSettings }>(`SELECT settings FROM ${table} WHERE id = $1`, [id]);
  return row?.settings ?? {};
}

async function update(
  tx: Tx,
  principal: Principal,
  table: Table,
  place: Pick<NewEvent, 'organization_id' | 'project_id' | 'entity_type' | 'entity_id' | 'entity_key'>,
  { name, description, settings }: ProjectChange,
): Promise<void> {
  if (name === undefined && description === undefined && settings === undefined) {
    throw invalid(`Nothing to change: give name, ${table === 'projects' ? 'description ' : ''}or settings.`);
  }
  const [before] = await tx.query<Record<string, unknown> & { settings: OwnSettings }>(
    `SELECT * FROM ${table} WHERE id = $1 FOR NO KEY UPDATE`,
    [place.entity_id],
  );
  const { daily_tokens, ...others } = { ...settings };
  const wanted = {
    ...(name === undefined ? {} : { name: nameOf(name) }),
    ...(description === undefined ? {} : { description: descriptionOf(description) }),
  };
  const texts = changed(wanted, before!);
  const chosen = changed(others, before!.settings);
  const budget = changed({ daily_tokens }, before!.settings);
  for (const [column, value] of Object.entries(texts)) {
    await tx.query(`UPDATE ${table} SET ${column} = $2 WHERE id = $1`, [place.entity_id, value]);
  }
  const patch = { ...chosen, ...budget };
  if (Object.keys(patch).length > 0) {
    await tx.query(`UPDATE ${table} SET settings = jsonb_strip_nulls(settings || $2) WHERE id = $1`, [
      place.entity_id,
      JSON.stringify(patch),
    ]);
  }
  const actor = actorOf(principal);
  if (Object.keys({ ...texts, ...chosen }).length > 0) {
    // A description may be long: that it changed is told, and whoever wants it reads it.
    const { description: _long, ...told } = texts as { name?: string; description?: string };
    const payload = {
      ...told,
      ...('description' in texts ? { description_changed: true } : {}),
      ...(Object.keys(chosen).length > 0 ? { settings: chosen } : {}),
    };
    tx.emit({ ...place, type: table === 'projects' ? 'project.updated' : 'organization.updated', actor, payload });
  }
  if ('daily_tokens' in budget) tx.emit({ ...place, type: 'budget.set', actor, payload: budget });
}

/** The fields that are given and differ from what is stored; null where they are to be gone. */
function changed(wanted: object, stored: object): Record<string, unknown> {
  const now = stored as Record<string, unknown>;
  return Object.fromEntries(
    Object.entries(wanted).filter(([name, value]) => value !== undefined && value !== (now[name] ?? null)),
  );
}
