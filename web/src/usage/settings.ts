// Settings as people edit them: texts, where an empty one means inherited. Pure.

import type { ProjectPatch, ProjectView } from '../../../client/index.ts';
import { number } from './words.ts';

type Own = ProjectView['settings'];
export type SettingName = keyof Own & string;

export const settingNames = ['model', 'provider', 'skill', 'daily_tokens'] as const satisfies readonly SettingName[];

export const settingWords: Record<SettingName, string> = {
  model: 'Model',
  provider: 'Provider',
  skill: 'Planner skill',
  daily_tokens: 'Tokens a day',
};

export const settingHints: Record<SettingName, string> = {
  model: 'As the provider names it.',
  provider: 'Whose key is used.',
  skill: 'The planner reads it at the start of each turn.',
  daily_tokens: 'Input, output and cache writes of a UTC day. 0: no limit of its own.',
};

/** What holds where nothing is set here, in words. */
export type Inherited = Partial<Record<SettingName, string>>;

export interface About {
  name: string;
  description?: string;
}

export interface SettingsFields {
  about: About;
  settings: Record<SettingName, string>;
}

export interface Change extends Partial<About> {
  settings: NonNullable<ProjectPatch['settings']>;
}

export const shownSetting = (name: SettingName, value: string | number): string =>
  name !== 'daily_tokens' ? String(value) : value === 0 ? 'no limit' : number(Number(value));

export const settingsFields = (about: About, own: Own): SettingsFields => ({
  about,
  settings: {
    model: own.model ?? '',
    provider: own.provider ?? '',
    skill: own.skill ?? '',
    daily_tokens: own.daily_tokens === undefined ? '' : String(own.daily_tokens),
  },
});

/** What holds of what the project has not set itself; where it is from, as far as that is known. */
export function inheritedOf({ effective, settings }: ProjectView): Inherited {
  const inherited: Inherited = {};
  for (const name of settingNames) {
    if (settings[name] !== undefined) continue;
    const from = name === 'model' || name === 'provider' ? `, from the ${effective[`${name}_from`]}` : '';
    inherited[name] = shownSetting(name, effective[name]) + from;
  }
  return inherited;
}

/** What differs, as the API takes it; undefined: nothing does. A number that is none goes as it is: the API says so. */
export function changeOf(before: SettingsFields, after: SettingsFields): Change | undefined {
  const settings: Record<string, string | number | null> = {};
  for (const name of settingNames) {
    const text = after.settings[name].trim();
    if (text === before.settings[name]) continue;
    settings[name] = text === '' ? null : name === 'daily_tokens' ? Number(text.replace(/[, ]/g, '')) : text;
  }
  const about: Partial<About> = {};
  if (after.about.name !== before.about.name) about.name = after.about.name;
  const { description } = after.about;
  if (description !== undefined && description !== before.about.description) about.description = description;
  if (Object.keys(settings).length + Object.keys(about).length === 0) return undefined;
  return { ...about, settings };
}
