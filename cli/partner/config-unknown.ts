// What a file of identities holds that no run reads: most likely a mistyped name (spec: bounded-claude 3).

import { parse } from 'smol-toml';
import { hosts, roles, type IdentityFile } from '../../domain/bounded/identity.ts';
import { cleanLine } from '../print.ts';
import { nearest } from './nearest.ts';

const identityNames = ['backend', 'model', 'effort', 'verified', 'verified_at'];

/** A warning for each name that is not known. The file must be valid TOML. */
export function unknownNames({ path, text }: IdentityFile): string[] {
  const found: string[] = [];
  const look = (table: unknown, at: readonly string[], known: readonly string[]): [string, unknown][] => {
    if (typeof table !== 'object' || table === null || Array.isArray(table)) return [];
    return Object.entries(table).filter(([name]) => {
      if (known.includes(name)) return true;
      const near = nearest(name, known);
      const hint = near === undefined ? `Known here: ${known.join(', ')}.` : `Did you mean ${near}?`;
      found.push(`warning: ${path}: ${cleanLine([...at, name].join('.'), 120)} is not known and not read. ${hint}`);
      return false;
    });
  };
  const root = look(parse(text), [], ['schema_version', 'hosts']);
  for (const [host, table] of look(root.find(([name]) => name === 'hosts')?.[1], ['hosts'], hosts)) {
    for (const [, identities] of look(table, ['hosts', host], ['identities'])) {
      for (const [role, fields] of look(identities, ['hosts', host, 'identities'], roles))
        look(fields, ['hosts', host, 'identities', role], identityNames);
    }
  }
  return found;
}
