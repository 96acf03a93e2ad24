// All workflows; what the worker's bundle is made from.

export { plannerTurn } from './planner-turn.ts';
