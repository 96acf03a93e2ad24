// A Markdown text that one writes, and looks at as it will be shown.

import { useState, type ReactNode } from 'react';
import { Button } from '../base/button.tsx';
import { Field } from '../base/field.tsx';
import { Markdown } from '../base/markdown.tsx';

interface MarkdownFieldProps {
  label: string;
  hint?: ReactNode;
  value: string;
  rows?: number;
  onChange(value: string): void;
}

export function MarkdownField({ label, hint = 'Markdown.', value, rows = 14, onChange }: MarkdownFieldProps) {
  const [preview, setPreview] = useState(false);
  return (
    <div className="markdown-field">
      {preview ? (
        <section className="field" aria-label={`${label}, preview`}>
          <strong className="small">{label}</strong>
          <div className="preview">
            {value.trim() === '' ? <p className="muted">Nothing is written yet.</p> : <Markdown text={value} />}
          </div>
        </section>
      ) : (
        <Field label={label} hint={hint}>
          {(props) => (
            <textarea {...props} rows={rows} value={value} onChange={(event) => onChange(event.target.value)} />
          )}
        </Field>
      )}
      <Button small aria-pressed={preview} onClick={() => setPreview(!preview)}>
        {preview ? 'Write' : 'Preview'}
      </Button>
    </div>
  );
}
