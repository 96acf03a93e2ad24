// Keys of model providers, sealed at rest; people see fingerprints only (spec: planner 9).

import { v7 as uuidv7 } from 'uuid';
import { actorOf, type Principal } from '../domain/actor.ts';
import { DomainError, invalid, notFound } from '../domain/errors.ts';
import { quoted } from '../domain/input.ts';
import { fingerprint } from '../domain/fingerprint.ts';
import { defaultProvider } from '../domain/models.ts';
import { transaction, type Database, type Queryable, type Tx } from './database.ts';
import { visibleOrganization, visibleProject } from './projects.ts';
import { CannotOpen, seal, unseal, type Keyring, type Sealed } from './sealing.ts';

/** Where a credential is kept: an organization or one of its projects. */
export interface CredentialPlace {
  organization_id: string;
  project_id?: string;
}

/** What people are shown. */
export interface Credential {
  provider: string;
  /** The endpoint that the key is for; absent: the installation's. */
  base_url?: string;
  fingerprint: string;
  created_by: string;
  created_at: string;
  updated_at: string;
}

/** A credential as a model call uses it. Never logged, told or stored. */
export interface OpenCredential {
  from: 'project' | 'organization';
  apiKey: string;
  baseUrl: string | undefined;
}

interface Row extends Sealed {
  id: string;
  organization_id: string;
  project_id: string | null;
  provider: string;
  base_url: string | null;
}

const shown = `provider, base_url, fingerprint, created_by, created_at, updated_at`;
const sealedColumns = 'id, organization_id, project_id, provider, base_url, sealed, key_id';

/** What a sealed key is bound to: also its endpoint, so that no other one is ever sent it. */
const binding = (row: Pick<Row, 'organization_id' | 'project_id' | 'provider' | 'base_url'>): readonly unknown[] => [
  'credential',
  row.organization_id,
  row.project_id,
  row.provider,
  row.base_url,
];

/** The organization or project of that key, where the principal manages credentials. Errors: not_found, forbidden. */
export async function credentialPlace(
  q: Queryable,
  principal: Principal,
  named: { organization: string } | { project: string },
): Promise<CredentialPlace> {
  if ('organization' in named) {
    const { id } = await visibleOrganization(q, principal, named.organization, 'credential.manage');
    return { organization_id: id };
  }
  const { id, organization_id } = await visibleProject(q, principal, named.project, 'credential.manage');
  return { organization_id, project_id: id };
}

/** By provider. Asks for no rights. */
export async function listCredentials(q: Queryable, place: CredentialPlace): Promise<Credential[]> {
  const rows = await q.query<Credential & { base_url: string | null }>(
    `SELECT ${shown} FROM credentials WHERE organization_id = $1 AND project_id IS NOT DISTINCT FROM $2
     ORDER BY provider`,
    [place.organization_id, place.project_id ?? null],
  );
  return rows.map(credentialOf);
}

/** Errors: not_found. Asks for no rights. */
export async function readCredential(q: Queryable, place: CredentialPlace, provider: string): Promise<Credential> {
  const found = (await listCredentials(q, place)).find((one) => one.provider === provider);
  if (!found) throw noCredential(provider);
  return found;
}

/**
 * Stores a key, or replaces it. `base_url`: where the key is for; only the default provider may go without, and then
 * the installation's endpoint is asked. Asks for no rights. Errors: invalid_argument, unavailable (no sealing key).
 */
export async function setCredential(
  tx: Tx,
  principal: Principal,
  keys: Keyring,
  place: CredentialPlace,
  input: { provider: string; api_key: string; base_url?: string | undefined },
): Promise<Credential> {
  const { provider, api_key, base_url = null } = input;
  if (base_url === null && provider !== defaultProvider) {
    throw invalid(`base_url is required for the provider ${quoted(provider)}: name the endpoint that the key is for.`);
  }
  const row = { organization_id: place.organization_id, project_id: place.project_id ?? null, provider, base_url };
  const { sealed, key_id } = seal(keys, binding(row), api_key);
  const [stored] = await tx.query<Credential & { base_url: string | null }>(
    `INSERT INTO credentials AS c
       (id, organization_id, project_id, provider, base_url, sealed, key_id, fingerprint, created_by)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
     ON CONFLICT (organization_id, project_id, provider) DO UPDATE SET base_url = excluded.base_url,
       sealed = excluded.sealed, key_id = excluded.key_id, fingerprint = excluded.fingerprint, updated_at = now()
     RETURNING ${shown}`,
    [
      uuidv7(), row.organization_id, row.project_id, provider, base_url, sealed, key_id, fingerprint(api_key),
      principal.subject,
    ],
  );
  emit(tx, principal, place, 'credential.set', provider);
  return credentialOf(stored!);
}

/** Errors: not_found. Asks for no rights. */
export async function deleteCredential(
  tx: Tx,
  principal: Principal,
  place: CredentialPlace,
  provider: string,
): Promise<void> {
  const gone = await tx.query(
    `DELETE FROM credentials
     WHERE organization_id = $1 AND project_id IS NOT DISTINCT FROM $2 AND provider = $3 RETURNING id`,
    [place.organization_id, place.project_id ?? null, provider],
  );
  if (gone.length === 0) throw noCredential(provider);
  emit(tx, principal, place, 'credential.deleted', provider);
}

/** The key that a project's calls to a provider use: its own, else its organization's. Errors: CannotOpen. */
export async function openCredential(
  q: Queryable,
  keys: Keyring,
  project: { id: string; organization_id: string },
  provider: string,
): Promise<OpenCredential | undefined> {
  const [row] = await q.query<Row & Record<string, unknown>>(
    `SELECT ${sealedColumns} FROM credentials
     WHERE organization_id = $1 AND (project_id = $2 OR project_id IS NULL) AND provider = $3
     ORDER BY project_id NULLS LAST LIMIT 1`,
    [project.organization_id, project.id, provider],
  );
  if (!row) return undefined;
  return {
    from: row.project_id === null ? 'organization' : 'project',
    apiKey: unseal(keys, binding(row), row),
    baseUrl: row.base_url ?? undefined,
  };
}

export interface Resealed {
  /** Sealed anew under the first key. */
  resealed: number;
  /** Under the first key already. */
  current: number;
  /** Sealed under a key that is not here, or damaged: set these anew. */
  lost: { organization: string; project?: string; provider: string }[];
}

/** Seals every credential under the first key that is not sealed so yet; afterwards the older keys can be dropped. */
export async function resealCredentials(database: Database, keys: Keyring): Promise<Resealed> {
  return transaction(database, async (tx) => {
    const rows = await tx.query<Row & { organization: string; project: string | null }>(
      `SELECT ${sealedColumns.replaceAll(/\w+/g, 'c.$&')}, o.key AS organization, p.key AS project
       FROM credentials c JOIN organizations o ON o.id = c.organization_id LEFT JOIN projects p ON p.id = c.project_id
       ORDER BY o.key, p.key, c.provider FOR UPDATE OF c`,
    );
    const result: Resealed = { resealed: 0, current: 0, lost: [] };
    for (const row of rows) {
      if (row.key_id === keys[0]?.id) {
        result.current++;
        continue;
      }
      try {
        const { sealed, key_id } = seal(keys, binding(row), unseal(keys, binding(row), row));
        await tx.query('UPDATE credentials SET sealed = $2, key_id = $3 WHERE id = $1', [row.id, sealed, key_id]);
        result.resealed++;
      } catch (error) {
        if (!(error instanceof CannotOpen)) throw error;
        const { organization, project, provider } = row;
        result.lost.push({ organization, ...(project === null ? {} : { project }), provider });
      }
    }
    return result;
  });
}

function credentialOf({ base_url, ...rest }: Omit<Credential, 'base_url'> & { base_url?: string | null }): Credential {
  return { ...rest, ...(base_url ? { base_url } : {}) };
}

function emit(
  tx: Tx,
  principal: Principal,
  place: CredentialPlace,
  type: 'credential.set' | 'credential.deleted',
  provider: string,
): void {
  tx.emit({
    type,
    ...place,
    entity_type: 'credential',
    entity_id: `${place.project_id ?? place.organization_id}:${provider}`,
    actor: actorOf(principal),
    payload: { provider },
  });
}

const noCredential = (provider: string): DomainError =>
  notFound(`No credential is stored here for the provider ${quoted(provider)}.`);
