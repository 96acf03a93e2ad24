// Settings of organizations and projects: model, provider, planner skill, daily tokens; what is absent is inherited
// (spec: planner 9, 13).

import { defaultProvider } from '../domain/models.ts';
import type { Queryable } from './database.ts';

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
