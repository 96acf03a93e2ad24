// All workflows; what the worker's bundle is made from.

export { boundedClaudePlan } from './bounded-claude-plan.ts';
export { plannerTurn } from './planner-turn.ts';
export { revalidateRunner } from './revalidate-runner.ts';
