// One field's change, before and after: short values side by side, long ones line by line.

import type { ReactNode } from 'react';
import { Markdown } from '../base/markdown.tsx';
import { equal } from '../drafts/draft.ts';
import type { FieldName, Fields } from './fields.ts';
import { Lines, linesOf } from './lines.tsx';
import { fieldWords, mergeWords, reviewWords, typeWords } from './words.ts';

/** Shows a reference: a key or a `$ref`. */
export type Name = (name: string) => ReactNode;

/** A field's value. */
export function Value({ field, fields, name }: { field: FieldName; fields: Partial<Fields>; name: Name }) {
  const { type, review_mode, merge_mode } = fields;
  switch (field) {
    case 'title':
      return <span className="change-title">{fields.title}</span>;
    case 'description':
      return fields.description ? <Markdown text={fields.description} /> : <None />;
    case 'acceptance_criteria':
      return <Criteria criteria={fields.acceptance_criteria ?? []} />;
    case 'type':
      return type ? typeWords[type] : <None />;
    case 'review_mode':
      return review_mode ? reviewWords[review_mode] : <None />;
    case 'merge_mode':
      return merge_mode ? mergeWords[merge_mode] : <None />;
    case 'epic':
    case 'milestone':
      return fields[field] ? name(fields[field]) : <None />;
  }
}

const None = () => <span className="muted">none</span>;

export function Criteria({ criteria }: { criteria: readonly string[] }) {
  if (criteria.length === 0) return <None />;
  return (
    <ul className="criteria">
      {criteria.map((each, index) => (
        <li key={index}>{each}</li>
      ))}
    </ul>
  );
}

interface ChangeProps {
  field: FieldName;
  /** Absent: only what it becomes is known. */
  before: Fields | undefined;
  after: Partial<Fields>;
  name: Name;
}

/** A row of a `<dl>`. */
export function Change({ field, before, after, name }: ChangeProps) {
  return (
    <div className="change">
      <dt>{fieldWords[field]}</dt>
      <dd>
        <BeforeAfter field={field} before={before} after={after} name={name} />
      </dd>
    </div>
  );
}

function BeforeAfter({ field, before, after, name }: ChangeProps) {
  if (!before) return <Value field={field} fields={after} name={name} />;
  if (equal(before[field], after[field] ?? '')) return <span className="muted">as it is now</span>;
  if (field === 'description') {
    return <Lines before={linesOf(before.description)} after={linesOf(after.description ?? '')} />;
  }
  if (field === 'acceptance_criteria') {
    return <Lines before={before.acceptance_criteria} after={after.acceptance_criteria ?? []} />;
  }
  return (
    <span className="before-after">
      <del>
        <span className="visually-hidden">from </span>
        <Value field={field} fields={before} name={name} />
      </del>
      <span aria-hidden="true">→</span>
      <ins>
        <span className="visually-hidden">to </span>
        <Value field={field} fields={after} name={name} />
      </ins>
    </span>
  );
}
