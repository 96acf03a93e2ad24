// `planner token`: works on the database itself, so that the first token needs none.

import { roles, roleScopes, systemActor, type Action, type Role } from '../domain/actor.ts';
import { DomainError, notFound } from '../domain/errors.ts';
import { openDatabase, transaction, type Database, type Tx } from '../store/database.ts';
import { organizationByKey, projectByKey } from '../store/projects.ts';
import { bindRole } from '../store/role-bindings.ts';
import { createSubject, createToken, listTokens, revokeToken, type TokenInfo } from '../store/tokens.ts';
import { cleanLine, table, UsageError } from './print.ts';

export interface NewTokenOptions {
  subject: string;
  /** Milliseconds. */
  expires: number;
  label?: string;
  action?: string[];
  /** Make the subject known first, as this kind. */
  new?: string;
  name?: string;
  /** Bind this role to the subject, in a project, an organization, or the platform. */
  role?: string;
  project?: string;
  organization?: string;
}

/** Prints the token, once. Errors: the store's; UsageError. */
export async function createTokenCommand(databaseUrl: string, options: NewTokenOptions): Promise<string> {
  const kind = options.new;
  if (kind !== undefined && kind !== 'human' && kind !== 'service') {
    throw new UsageError('--new takes human or service.');
  }
  if (options.name !== undefined && kind === undefined) {
    throw new UsageError('--name goes with --new human or --new service.');
  }
  checkRoleOptions(options);
  return withDatabase(databaseUrl, async (database) => {
    const expires = new Date(Date.now() + options.expires);
    const made = await transaction(database, async (tx) => {
      if (kind) await createSubject(tx, { subject: options.subject, kind, name: options.name ?? options.subject });
      await giveRole(tx, options);
      const [bound] = await tx.query('SELECT 1 FROM role_bindings WHERE subject = $1 LIMIT 1', [options.subject]);
      const token = await createToken(tx, {
        subject: options.subject,
        expires_at: expires,
        ...(options.label === undefined ? {} : { label: options.label }),
        // The store refuses unknown ones and names those that there are.
        ...(options.action === undefined ? {} : { actions: options.action as Action[] }),
      });
      return { ...token, mayAct: bound !== undefined };
    }).catch((error: unknown) => {
      if (!(error instanceof DomainError) || !/^There is no subject/.test(error.message)) throw error;
      throw notFound(`${error.message} Add --new human (or --new service) to make it known.`);
    });
    return [
      made.token,
      '',
      `Token ${made.id} speaks for ${options.subject} until ${expires.toISOString()}. It is shown only now.`,
      ...(made.mayAct ? [] : [`${options.subject} has no role yet and may do nothing. ${roleHint}`]),
    ].join('\n');
  });
}

const roleHint = 'Add --role, for example: --role engineer --project WEB.';

function checkRoleOptions({ role, project, organization }: NewTokenOptions): void {
  if (role === undefined) {
    if (project ?? organization) throw new UsageError(`--project and --organization go with --role. ${roleHint}`);
    return;
  }
  if (project !== undefined && organization !== undefined) {
    throw new UsageError('Give --project or --organization, not both.');
  }
  const known = roles.find((each) => each === role);
  if (!known) throw new UsageError(`There is no role "${cleanLine(role, 40)}". Roles: ${roles.join(', ')}.`);
  const at = project !== undefined ? 'project' : organization !== undefined ? 'organization' : 'platform';
  if (roleScopes[known].includes(at)) return;
  const wanted = roleScopes[known].filter((scope) => scope !== 'platform').map((scope) => `--${scope} KEY`);
  const rule = wanted.length > 0 ? `needs ${wanted.join(' or ')}` : 'takes neither --project nor --organization';
  throw new UsageError(`The role ${role} ${rule}.`);
}

/** A role that the subject has there already is no error. */
async function giveRole(tx: Tx, { subject, role, project, organization }: NewTokenOptions): Promise<void> {
  if (role === undefined) return;
  const scope = {
    ...(project === undefined ? {} : { project_id: (await projectByKey(tx, project.toUpperCase())).id }),
    ...(organization === undefined ? {} : { organization_id: (await organizationByKey(tx, organization)).id }),
  };
  await bindRole(tx, systemActor, { subject, role: role as Role, ...scope }).catch((error: unknown) => {
    if (!(error instanceof DomainError) || error.code !== 'already_exists') throw error;
  });
}

export async function listTokensCommand(
  databaseUrl: string,
  options: { subject?: string; json?: boolean },
): Promise<string> {
  return withDatabase(databaseUrl, async (database) => {
    const tokens = await listTokens(database, options.subject === undefined ? {} : { subject: options.subject });
    return options.json ? JSON.stringify({ items: tokens }, null, 2) : renderTokens(tokens, Date.now());
  });
}

export async function revokeTokenCommand(databaseUrl: string, id: string): Promise<string> {
  return withDatabase(databaseUrl, async (database) => {
    await transaction(database, (tx) => revokeToken(tx, id));
    return `Token ${id} is revoked; its connections close at once.`;
  });
}

export function renderTokens(tokens: readonly TokenInfo[], now: number): string {
  if (tokens.length === 0) return 'No tokens. "planner token create --subject S" makes one.';
  const rows = tokens.map((token) => [
    token.id,
    cleanLine(token.subject, 60),
    token.revoked_at ? 'revoked' : Date.parse(token.expires_at) <= now ? 'expired' : 'valid',
    minute(token.created_at),
    minute(token.expires_at),
    token.revoked_at ? minute(token.revoked_at) : '',
    token.actions?.join(',') ?? 'all',
    cleanLine(token.label, 60),
  ]);
  return table(['id', 'subject', 'status', 'created', 'expires', 'revoked', 'actions', 'label'], rows);
}

function minute(time: string): string {
  return `${time.slice(0, 16).replace('T', ' ')}Z`;
}

async function withDatabase<Result>(url: string, body: (database: Database) => Promise<Result>): Promise<Result> {
  const database = openDatabase(url, { max: 1, name: 'planner token' });
  try {
    return await body(database);
  } finally {
    await database.close();
  }
}
