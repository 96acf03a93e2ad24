// The planner skill: how a project wants its planning done, resolved anew for each model call (spec: planner 3).

import { DomainError } from '../domain/errors.ts';
import { isBlank } from '../domain/text.ts';
import { isConnectionError, isRetryableConflict, type Queryable, type Tx } from '../store/database.ts';
import type { Project } from '../store/projects.ts';
import { skillOf, skillText, type SkillText } from '../store/skill-pins.ts';
import { logWarning } from '../telemetry/log.ts';

/**
 * The skill of that name in the version that the project resolves; undefined where there is none. A look-up that fails,
 * or that a pin's problem leaves without a version, is logged as a warning and gives undefined: the turn goes on. Only
 * what ends the whole transaction (a lost connection, a deadlock) is thrown.
 */
export async function plannerSkill(tx: Tx, project: Project, name: string): Promise<SkillText | undefined> {
  // In a savepoint: a statement that fails would otherwise fail the rest of the transaction.
  await tx.query('SAVEPOINT planner_skill');
  try {
    const text = await resolvedText(tx, project, name);
    await tx.query('RELEASE SAVEPOINT planner_skill');
    return text;
  } catch (error) {
    if (isConnectionError(error) || isRetryableConflict(error)) throw error;
    await tx.query('ROLLBACK TO SAVEPOINT planner_skill');
    await tx.query('RELEASE SAVEPOINT planner_skill');
    logWarning('the planner skill could not be looked up', error, { project: project.key, skill: name });
    return undefined;
  }
}

/** As `plannerSkill`, where nothing is called and nothing logged: what can't be looked up counts as none. */
export async function shownPlannerSkill(q: Queryable, project: Project, name: string): Promise<SkillText | undefined> {
  return resolvedText(q, project, name).catch((error: unknown) => {
    if (error instanceof DomainError) return undefined;
    throw error;
  });
}

async function resolvedText(q: Queryable, project: Project, name: string): Promise<SkillText | undefined> {
  const skill = await skillOf(q, project, name);
  const text = skill && (await skillText(q, skill));
  return text && !isBlank(text.body) ? text : undefined;
}
