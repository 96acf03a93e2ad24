// The versions of a text: each opens to what it changed; only then its text is read.

import { useState, type ReactNode } from 'react';
import { Reading, type Read } from '../plan/pieces.tsx';
import { Changes, type FieldTexts } from './changes.tsx';
import { differing } from './draft.ts';

interface VersionProps<Version, Fields extends object> extends FieldTexts<Fields> {
  /** One version, whole; of version 0: nothing is read. */
  useVersion(version: number): Omit<Read<Version>, 'refetch'>;
  fieldsOf(version: Version): Fields;
  /** What stood before version 1. */
  empty: Fields;
}

interface VersionsProps<Summary, Version, Fields extends object> extends VersionProps<Version, Fields> {
  of: Read<readonly Summary[]>;
  /** By whom and when it was written. */
  children(summary: Summary): ReactNode;
}

export function Versions<Summary extends { version: number }, Version, Fields extends object>(
  props: VersionsProps<Summary, Version, Fields>,
) {
  const { of, children, ...how } = props;
  return (
    <section className="item-part" aria-label="Versions">
      <h2>Versions</h2>
      <Reading of={of} what="the versions">
        {(all) => (
          <ol className="plain-list item-part">
            {all.map((each) => (
              <li key={each.version}>
                <VersionChanges version={each.version} {...how}>
                  Version {each.version} <span className="small muted">{children(each)}</span>
                </VersionChanges>
              </li>
            ))}
          </ol>
        )}
      </Reading>
    </section>
  );
}

interface ChangesProps<Version, Fields extends object> extends VersionProps<Version, Fields> {
  version: number;
}

function VersionChanges<Version, Fields extends object>({
  children,
  ...props
}: ChangesProps<Version, Fields> & { children: ReactNode }) {
  const [open, setOpen] = useState(false);
  return (
    <details className="card disclosure" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{children}</summary>
      {open && (
        <div className="disclosure-body">
          <Difference {...props} />
        </div>
      )}
    </details>
  );
}

function Difference<Version, Fields extends object>(props: ChangesProps<Version, Fields>) {
  const { version, useVersion, fieldsOf, empty, ...texts } = props;
  const after = useVersion(version);
  const previous = useVersion(version - 1);
  const error = after.error ?? previous.error;
  if (error) return <p className="field-error">{error.message}</p>;
  if (!after.data || (version > 1 && !previous.data)) return <p className="muted">Reading …</p>;
  const now = fieldsOf(after.data);
  const before = version > 1 && previous.data ? fieldsOf(previous.data) : empty;
  return <Changes names={differing(before, now)} before={before} after={now} {...texts} />;
}
