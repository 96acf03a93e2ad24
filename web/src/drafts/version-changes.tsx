// A version in a list: opens to what it changed; only then its text is read.

import { useState, type ReactNode } from 'react';
import { differing } from './draft.ts';
import { Changes, type FieldTexts } from './changes.tsx';

interface Read {
  data: unknown;
  error: Error | null;
}

interface VersionChangesProps<Fields extends object> extends FieldTexts<Fields> {
  version: number;
  /** The fields of a version; of version 0: nothing is read. */
  useFields(version: number): Read & { data: Fields | undefined };
  /** What stood before version 1. */
  empty: Fields;
  children: ReactNode;
}

export function VersionChanges<Fields extends object>(props: VersionChangesProps<Fields>) {
  const [open, setOpen] = useState(false);
  return (
    <details className="card disclosure" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{props.children}</summary>
      {open && (
        <div className="disclosure-body">
          <Difference {...props} />
        </div>
      )}
    </details>
  );
}

function Difference<Fields extends object>({ version, useFields, empty, ...texts }: VersionChangesProps<Fields>) {
  const after = useFields(version);
  const previous = useFields(version - 1);
  const before = version === 1 ? empty : previous.data;
  const error = after.error ?? previous.error;
  if (error) return <p className="field-error">{error.message}</p>;
  if (!after.data || !before) return <p className="muted">Reading …</p>;
  return <Changes names={differing(before, after.data)} before={before} after={after.data} {...texts} />;
}
