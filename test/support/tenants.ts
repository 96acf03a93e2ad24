// Tenants for tests of what outsiders learn: in each project one of everything, and names that nothing has.

import { v7 as uuidv7 } from 'uuid';
import { registerRepository, startRun } from '../../bounded/index.ts';
import { makeValidationId } from '../../bounded/revalidation-runs.ts';
import { systemActor, type Principal } from '../../domain/actor.ts';
import { createSession, sendMessage } from '../../planner/conversation.ts';
import { proposeChangeset } from '../../store/changesets.ts';
import { setCredential } from '../../store/credentials.ts';
import { transaction, type Database, type Tx } from '../../store/database.ts';
import { addDependency } from '../../store/dependencies.ts';
import { createItem } from '../../store/items.ts';
import { createKnowledge } from '../../store/knowledge.ts';
import { projectByKey } from '../../store/projects.ts';
import { insertSchedule } from '../../store/revalidation-schedules.ts';
import { insertValidation } from '../../store/revalidations.ts';
import { bindRole } from '../../store/role-bindings.ts';
import { keyring, newSecretKey } from '../../store/sealing.ts';
import { updateProject } from '../../store/settings.ts';
import { pinSkill } from '../../store/skill-pins.ts';
import { createSkill, publishSkill } from '../../store/skills.ts';
import { createSubject } from '../../store/tokens.ts';
import { openUsage } from '../../store/usage.ts';
import { packet } from './bounded-attempt.ts';

/** In every text that an outsider must never see. */
export const secret = 'hush';

/** What requests name; each has a counterpart of the same length that does not exist. */
export type Names = Record<
  | 'organization'
  | 'project'
  | 'epic'
  | 'item'
  | 'other'
  | 'dependency'
  | 'changeset'
  | 'skill'
  | 'entry'
  | 'session'
  | 'turn'
  | 'binding'
  | 'repository'
  | 'run'
  | 'validation'
  | 'schedule'
  | 'provider',
  string
>;

/** Puts one of everything into a project, by `owner`, who may do all there. */
export async function furnish(database: Database, owner: Principal, projectKey: string): Promise<Names> {
  const project = await projectByKey(database, projectKey);
  const run = <T>(body: (tx: Tx) => Promise<T>): Promise<T> => transaction(database, body);
  const item = (kind: string): Promise<{ key: string }> =>
    run((tx) => createItem(tx, owner, projectKey, { kind, title: `${secret} ${kind}`, description: secret }));
  const [epic, first, second] = [await item('epic'), await item('ticket'), await item('ticket')];
  const { id: dependency } = await run((tx) => addDependency(tx, owner, first.key, { type: 'blocks', to: second.key }));
  const operations = [{ kind: 'create_item', ref: 'a', create: { kind: 'ticket', title: secret } }];
  const changeset = await run((tx) =>
    proposeChangeset(
      tx,
      { project, actor: { kind: 'human', subject: owner.subject }, principal: owner },
      { title: secret, summary: secret, operations },
    ),
  );
  const skill = await run(async (tx) => {
    const texts = { name: `${secret}-skill`, description: secret, body: secret };
    const { id, name } = await createSkill(tx, owner, { scope: 'project', project: projectKey, ...texts });
    await publishSkill(tx, owner, id, { version: 1 });
    await pinSkill(tx, owner, projectKey, name, { version: 1 });
    return id;
  });
  const named = { projects: [projectKey], items: [first.key] };
  const entry = await run((tx) =>
    createKnowledge(tx, owner, project.organization_key, { kind: 'note', title: secret, body: secret, ...named }),
  );
  const session = await run((tx) => createSession(tx, owner, { project: projectKey, title: secret }));
  const { turn } = await sendMessage(database, owner, { session: session.id, text: secret });
  const guest = `${secret}-guest-${projectKey.toLowerCase()}`;
  const binding = await run(async (tx) => {
    await createSubject(tx, { subject: guest, kind: 'human', name: guest });
    return bindRole(tx, systemActor, { subject: guest, role: 'viewer', project_id: project.id });
  });
  const alias = `${secret}-${projectKey.toLowerCase()}`;
  await run((tx) => registerRepository(tx, { machine: secret, path: `/srv/${alias}`, project: projectKey, alias }));
  const started = await startRun(database, owner, { repo: alias, host: 'codex', role: 'deep_reasoner', packet });
  const { validation, schedule } = await run((tx) => revalidate(tx, owner, { project_id: project.id, alias }));
  const provider = `${secret}-provider`;
  const place = { organization_id: project.organization_id };
  const credential = { provider, api_key: secret, base_url: `http://127.0.0.1:9/${secret}` };
  const keys = keyring([newSecretKey()]);
  for (const at of [place, { ...place, project_id: project.id }]) {
    await run((tx) => setCredential(tx, owner, keys, at, credential));
  }
  const call = { session_id: session.id, turn_id: turn, round: 0, attempt: 1, provider, model: `${secret}-model`, input: 1 };
  await run((tx) => openUsage(tx, { ...place, project_id: project.id, ...call, purpose: 'answer' }));
  await run((tx) => updateProject(tx, owner, project.key, { name: secret, description: secret }));
  return {
    organization: project.organization_key,
    project: project.key,
    epic: epic.key,
    item: first.key,
    other: second.key,
    dependency,
    changeset: changeset.id,
    skill,
    entry: entry.id,
    session: session.id,
    turn,
    binding: binding.id,
    repository: alias,
    run: started.run,
    validation,
    schedule,
    provider,
  };
}

async function revalidate(
  tx: Tx,
  { subject: created_by }: Principal,
  { project_id, alias }: { project_id: string; alias: string },
): Promise<Pick<Names, 'validation' | 'schedule'>> {
  const [repository] = await tx.query<{ id: string }>('SELECT id FROM repositories WHERE alias = $1', [alias]);
  const role = {
    repository_id: repository!.id, project_id, host: 'codex', role: 'deep_reasoner', budget_usd: 2, demo: true,
    created_by,
  } as const;
  const schedule = uuidv7();
  const timing = { cron: '0 3 * * *', jitter_seconds: 0, catchup_seconds: 60, paused: false, note: secret };
  await insertSchedule(tx, { ...role, ...timing, id: schedule, next_times: [] });
  const validation = makeValidationId();
  const workflow = { workflow_id: `revalidate-${validation}`, workflow_run_id: null };
  await insertValidation(tx, { ...role, ...workflow, id: validation, schedule_id: schedule });
  return { validation, schedule };
}

/** Names of the same form that nothing has. */
export function madeUp(names: Names): Names {
  const entries = Object.entries(names).map(([name, value], index) => [name, invented(value, index)]);
  return Object.fromEntries(entries) as Names;
}

function invented(name: string, index: number): string {
  if (/^[0-9a-f-]{36}$/.test(name)) return `018f0000-0000-7000-8000-${String(index).padStart(12, '0')}`;
  const number = /^([A-Z]+)-(\d+)$/.exec(name);
  if (number) return `${'Q'.repeat(number[1]!.length)}-${number[2]}`;
  return name.replace(/[a-z]/g, 'q').replace(/[A-Z]/g, 'Q');
}

/** A text with what was asked for replaced by what it is: of two answers that tell the same, one text. */
export function withoutNames(text: string, names: Names): string {
  // Longer ones first: a key holds its project's.
  const found = Object.entries(names).sort(([, a], [, b]) => b.length - a.length);
  return found.reduce((rest, [name, value]) => rest.replaceAll(value, `<${name}>`), text);
}
