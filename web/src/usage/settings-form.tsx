// The form of a project's or an organization's settings.

import { useEffect, useState, type FormEvent } from 'react';
import { Button } from '../base/button.tsx';
import { Field } from '../base/field.tsx';
import { Notice } from '../base/notice.tsx';
import {
  changeOf,
  settingHints,
  settingNames,
  settingsFields,
  settingWords,
  type About,
  type Change,
  type Inherited,
  type SettingName,
} from './settings.ts';

interface SettingsFormProps {
  title: string;
  about: About;
  settings: Parameters<typeof settingsFields>[1];
  inherited: Inherited;
  problem: string | undefined;
  busy: boolean;
  onSave(change: Change): void;
}

export function SettingsForm({ title, about, settings, inherited, problem, busy, onSave }: SettingsFormProps) {
  const stored = settingsFields(about, settings);
  const key = JSON.stringify(stored);
  const [fields, setFields] = useState(stored);
  const [nothing, setNothing] = useState(false);
  // What is stored anew, by a save or by somebody else, is what one goes on with.
  useEffect(() => setFields(stored), [key]);

  const set = (name: SettingName, value: string): void =>
    setFields({ ...fields, settings: { ...fields.settings, [name]: value } });
  const describe = (change: Partial<About>): void =>
    setFields({ ...fields, about: { ...fields.about, ...change } });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const change = changeOf(stored, fields);
    setNothing(change === undefined);
    if (change) onSave(change);
  };
  const hint = (name: SettingName): string => {
    const now = inherited[name];
    return `${settingHints[name]} Empty: inherited${now === undefined ? '' : `, now ${now}`}.`;
  };
  return (
    <section className="item-part" aria-label={title}>
      <h2>{title}</h2>
      <form className="card draft-form" onSubmit={submit} aria-label={title}>
        <Field label="Name">
          {(props) => (
            <input
              {...props}
              required
              value={fields.about.name}
              onChange={({ target }) => describe({ name: target.value })}
            />
          )}
        </Field>
        {fields.about.description !== undefined && (
          <Field label="Description" hint="The planner reads it in every turn.">
            {(props) => (
              <textarea
                {...props}
                rows={3}
                value={fields.about.description}
                onChange={({ target }) => describe({ description: target.value })}
              />
            )}
          </Field>
        )}
        <div className="field-grid">
          {settingNames.map((name) => (
            <Field key={name} label={settingWords[name]} hint={hint(name)}>
              {(props) => (
                <input
                  {...props}
                  value={fields.settings[name]}
                  inputMode={name === 'daily_tokens' ? 'numeric' : undefined}
                  onChange={(event) => set(name, event.target.value)}
                />
              )}
            </Field>
          ))}
        </div>
        {problem && <Notice tone="error">{problem}</Notice>}
        {nothing && !problem && <Notice>Nothing is changed yet.</Notice>}
        <div className="row form-foot">
          <Button type="submit" look="primary" busy={busy}>
            Save
          </Button>
        </div>
      </form>
    </section>
  );
}
