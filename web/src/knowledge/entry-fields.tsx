// The form fields of a knowledge entry.

import { useState } from 'react';
import { Field } from '../base/field.tsx';
import { Options } from '../base/options.tsx';
import { useMe } from '../data/client.tsx';
import { useProject } from '../data/project.ts';
import { MarkdownField } from '../drafts/markdown-field.tsx';
import { kinds, kindWords, keysIn, type EntryFields, type Kind } from './words.ts';

interface Props {
  fields: EntryFields;
  onChange(fields: EntryFields): void;
}

export function EntryFormFields({ fields, onChange }: Props) {
  const set = (change: Partial<EntryFields>): void => onChange({ ...fields, ...change });
  return (
    <>
      <div className="field-grid">
        <Field label="Title">
          {(props) => (
            <input {...props} value={fields.title} required onChange={(event) => set({ title: event.target.value })} />
          )}
        </Field>
        <Field label="Kind">
          {(props) => (
            <select {...props} value={fields.kind} onChange={(event) => set({ kind: event.target.value as Kind })}>
              <Options of={kinds} words={(each) => kindWords[each]} />
            </select>
          )}
        </Field>
      </div>
      <MarkdownField label="Text" value={fields.body} onChange={(body) => set({ body })} />
      <Projects chosen={fields.projects} onChange={(projects) => set({ projects })} />
      <KeysField
        label="Items"
        hint="Keys of the items that it is about, such as WEB-12."
        keys={fields.items}
        onChange={(items) => set({ items })}
      />
    </>
  );
}

/** Those of the organization that the person sees; others that are named stay. */
function Projects({ chosen, onChange }: { chosen: string[]; onChange(projects: string[]): void }) {
  const { organization } = useProject();
  const { projects } = useMe();
  const offered = projects.filter((project) => project.organization === organization);
  return (
    <fieldset className="project-choice">
      <legend>Projects that it is about</legend>
      <div className="row">
        {offered.map(({ key, name }) => (
          <label key={key} className="check">
            <input
              type="checkbox"
              checked={chosen.includes(key)}
              onChange={({ target }) =>
                onChange(target.checked ? [...chosen, key] : chosen.filter((each) => each !== key))
              }
            />
            <span className="key">{key}</span> {name}
          </label>
        ))}
      </div>
    </fieldset>
  );
}

interface KeysFieldProps {
  label: string;
  hint: string;
  keys: string[];
  onChange(keys: string[]): void;
}

/** What is typed stays as it is typed; keys are what it says. */
function KeysField({ label, hint, keys, onChange }: KeysFieldProps) {
  const [typed, setTyped] = useState<string>();
  const stands = typed !== undefined && keysIn(typed).join() === keys.join();
  return (
    <Field label={label} hint={hint}>
      {(props) => (
        <input
          {...props}
          value={stands ? typed : keys.join(', ')}
          onChange={({ target }) => {
            setTyped(target.value);
            onChange(keysIn(target.value));
          }}
        />
      )}
    </Field>
  );
}
