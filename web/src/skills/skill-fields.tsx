// The form fields of a skill: description, SKILL.md, further files.

import { useRef } from 'react';
import { Button, IconButton } from '../base/button.tsx';
import { Field } from '../base/field.tsx';
import { Close, Plus } from '../base/icons.tsx';
import { MarkdownField } from '../drafts/markdown-field.tsx';
import type { SkillFields } from './words.ts';

interface Props {
  fields: SkillFields;
  onChange(fields: SkillFields): void;
}

export function SkillFormFields({ fields, onChange }: Props) {
  return (
    <>
      <Field label="Description" hint="When the planner should read it. The planner sees this of every skill.">
        {(props) => (
          <textarea
            {...props}
            rows={2}
            required
            value={fields.description}
            onChange={(event) => onChange({ ...fields, description: event.target.value })}
          />
        )}
      </Field>
      <MarkdownField label="SKILL.md" value={fields.body} onChange={(body) => onChange({ ...fields, body })} />
      <Files files={fields.files} onChange={(files) => onChange({ ...fields, files })} />
    </>
  );
}

type File = SkillFields['files'][number];

function Files({ files, onChange }: { files: SkillFields['files']; onChange(files: SkillFields['files']): void }) {
  const place = useRef<HTMLFieldSetElement>(null);
  const focus = (index: number): void => {
    requestAnimationFrame(() => {
      const paths = place.current?.querySelectorAll('input');
      (paths?.[Math.min(index, paths.length - 1)] ?? place.current?.querySelector('button'))?.focus();
    });
  };
  const set = (index: number, change: Partial<File>): void =>
    onChange(files.map((file, at) => (at === index ? { ...file, ...change } : file)));
  return (
    <fieldset className="skill-files" ref={place}>
      <legend>Further files</legend>
      {files.length === 0 && <p className="small muted">None. Templates and examples can stand beside SKILL.md.</p>}
      {files.map((file, index) => (
        <div key={index} className="skill-file card">
          <div className="skill-file-head">
            <Field label={`Path of file ${index + 1}`}>
              {(props) => (
                <input
                  {...props}
                  value={file.path}
                  required
                  placeholder="templates/epic.md"
                  onChange={(event) => set(index, { path: event.target.value })}
                />
              )}
            </Field>
            <IconButton
              label={`Remove file ${index + 1}`}
              icon={<Close />}
              onClick={() => {
                onChange(files.filter((_, at) => at !== index));
                focus(index);
              }}
            />
          </div>
          <textarea
            aria-label={`Content of file ${index + 1}`}
            rows={6}
            value={file.content}
            onChange={(event) => set(index, { content: event.target.value })}
          />
        </div>
      ))}
      <div>
        <Button
          small
          icon={<Plus />}
          onClick={() => {
            onChange([...files, { path: '', content: '' }]);
            focus(files.length);
          }}
        >
          Add a file
        </Button>
      </div>
    </fieldset>
  );
}
