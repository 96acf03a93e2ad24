// The form fields of an item; which ones, its kind says.

import { useRef, type ReactNode } from 'react';
import { Button, IconButton } from '../base/button.tsx';
import { Field, type ControlProps } from '../base/field.tsx';
import { Close, Plus } from '../base/icons.tsx';
import { useItems } from './data.ts';
import { fieldsOfKind, type FieldName, type Fields } from './fields.ts';
import { fieldWords, isResolved, mergeWords, reviewWords, ticketTypes, typeWords, type Kind } from './words.ts';

interface FieldsProps {
  kind: Kind;
  fields: Fields;
  onChange(fields: Fields): void;
}

export function ItemFields({ kind, fields, onChange }: FieldsProps) {
  const set = <Name extends FieldName>(name: Name, value: Fields[Name]): void => onChange({ ...fields, [name]: value });
  const small = fieldsOfKind(kind).filter((name) => !['title', 'description', 'acceptance_criteria'].includes(name));
  return (
    <>
      <Field label="Title">
        {(props) => (
          <input {...props} value={fields.title} required onChange={(event) => set('title', event.target.value)} />
        )}
      </Field>
      <Field label="Description" hint="Markdown.">
        {(props) => (
          <textarea
            {...props}
            rows={8}
            value={fields.description}
            onChange={(event) => set('description', event.target.value)}
          />
        )}
      </Field>
      {kind === 'ticket' && (
        <CriteriaFields
          criteria={fields.acceptance_criteria}
          onChange={(criteria) => set('acceptance_criteria', criteria)}
        />
      )}
      {small.length > 0 && (
        <div className="field-grid">
          {small.map((name) => (
            <Choice key={name} name={name} fields={fields} onChange={onChange} />
          ))}
        </div>
      )}
    </>
  );
}

function Choice({ name, fields, onChange }: { name: FieldName; fields: Fields; onChange(fields: Fields): void }) {
  const options: Partial<Record<FieldName, (props: ControlProps) => ReactNode>> = {
    type: (props) => select(props, ticketTypes.map((type) => [type, typeWords[type]])),
    review_mode: (props) => select(props, Object.entries(reviewWords)),
    merge_mode: (props) => select(props, Object.entries(mergeWords)),
    epic: (props) => <ParentSelect control={props} kind="epic" value={fields.epic} onChange={change} />,
    milestone: (props) => <ParentSelect control={props} kind="milestone" value={fields.milestone} onChange={change} />,
  };
  const change = (value: string): void => onChange({ ...fields, [name]: value });
  const select = (props: ControlProps, choices: readonly (readonly [string, string])[]): ReactNode => (
    <select {...props} value={String(fields[name])} onChange={(event) => change(event.target.value)}>
      {choices.map(([value, words]) => (
        <option key={value} value={value}>
          {words}
        </option>
      ))}
    </select>
  );
  const control = options[name];
  return control ? <Field label={fieldWords[name]}>{control}</Field> : null;
}

interface ParentProps {
  control: ControlProps;
  kind: 'epic' | 'milestone';
  value: string;
  onChange(value: string): void;
}

/** Open ones, and the one that is set. */
function ParentSelect({ control, kind, value, onChange }: ParentProps) {
  const { data, byKey } = useItems();
  const parents = (data ?? []).filter((item) => item.kind === kind && (!isResolved(item.state) || item.key === value));
  return (
    <select {...control} value={value} onChange={(event) => onChange(event.target.value)}>
      <option value="">None</option>
      {value !== '' && !byKey.has(value) && <option value={value}>{value}</option>}
      {parents.map(({ key, title }) => (
        <option key={key} value={key}>
          {key} {title}
        </option>
      ))}
    </select>
  );
}

function CriteriaFields({ criteria, onChange }: { criteria: string[]; onChange(criteria: string[]): void }) {
  const place = useRef<HTMLFieldSetElement>(null);
  const focus = (index: number): void => {
    requestAnimationFrame(() => {
      const fields = place.current?.querySelectorAll('textarea');
      (fields?.[Math.min(index, fields.length - 1)] ?? place.current?.querySelector('button'))?.focus();
    });
  };
  const add = (): void => {
    onChange([...criteria, '']);
    focus(criteria.length);
  };
  const remove = (index: number): void => {
    onChange(criteria.filter((_, each) => each !== index));
    focus(index);
  };
  return (
    <fieldset className="criteria-fields" ref={place}>
      <legend>Acceptance criteria</legend>
      {criteria.map((text, index) => (
        <div key={index} className="criterion">
          <textarea
            aria-label={`Criterion ${index + 1}`}
            rows={Math.min(6, 1 + Math.floor(text.length / 70))}
            value={text}
            onChange={(event) => onChange(criteria.map((each, at) => (at === index ? event.target.value : each)))}
          />
          <IconButton label={`Remove criterion ${index + 1}`} icon={<Close />} onClick={() => remove(index)} />
        </div>
      ))}
      <div>
        <Button small icon={<Plus />} onClick={add}>
          Add a criterion
        </Button>
      </div>
    </fieldset>
  );
}

/** Criteria left empty are not meant. */
export const withoutBlanks = (fields: Fields): Fields => ({
  ...fields,
  acceptance_criteria: fields.acceptance_criteria.filter((each) => each.trim() !== ''),
});
