// Where and as whom the runner works: the fields that say it.

import type { ReactNode } from 'react';
import type { Repository } from '../../../client/index.ts';
import { Field } from '../base/field.tsx';
import { Options } from '../base/options.tsx';
import { hosts, hostWords, roles, roleWords, type Host, type Role } from './words.ts';

/** `repo`: an alias. */
export interface Where {
  repo: string;
  host: Host;
  role: Role;
}

interface WhereProps {
  known: readonly Repository[];
  where: Where;
  hints?: { repo?: ReactNode; role?: ReactNode };
  onChange(change: Partial<Where>): void;
}

export function WhereFields({ known, where, hints, onChange }: WhereProps) {
  return (
    <>
      <Field label="Repository" hint={hints?.repo}>
        {(props) => (
          <select {...props} value={where.repo} onChange={({ target }) => onChange({ repo: target.value })}>
            <Options of={known.map(({ alias }) => alias)} words={(alias) => alias} />
          </select>
        )}
      </Field>
      <Field label="Host">
        {(props) => (
          <select {...props} value={where.host} onChange={({ target }) => onChange({ host: target.value as Host })}>
            <Options of={hosts} words={hostWords} />
          </select>
        )}
      </Field>
      <Field label="Role" hint={hints?.role}>
        {(props) => (
          <select {...props} value={where.role} onChange={({ target }) => onChange({ role: target.value as Role })}>
            <Options of={roles} words={roleWords} />
          </select>
        )}
      </Field>
    </>
  );
}
