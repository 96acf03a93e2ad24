// The planner skill: how a project wants its planning done, resolved anew for each model call (spec: planner 3).

import { isBlank } from '../domain/text.ts';
import { isConnectionError, isRetryableConflict, type Tx } from '../store/database.ts';
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
    const skill = await skillOf(tx, project, name);
    const text = skill && (await skillText(tx, skill));
    await tx.query('RELEASE SAVEPOINT planner_skill');
    return text && !isBlank(text.body) ? text : undefined;
  } catch (error) {
    if (isConnectionError(error) || isRetryableConflict(error)) throw error;
    await tx.query('ROLLBACK TO SAVEPOINT planner_skill');
    await tx.query('RELEASE SAVEPOINT planner_skill');
    logWarning('the planner skill could not be looked up', error, { project: project.key, skill: name });
    return undefined;
  }
}
