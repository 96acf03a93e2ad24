// The planner's tools: the list, their JSON Schemas, and the one way to call them (spec: planner 6).

import { z } from 'zod';
import { callAmong, prepareAmong } from './call.ts';
import { createKnowledge } from './create-knowledge.ts';
import { getItem } from './get-item.ts';
import { getKnowledge } from './get-knowledge.ts';
import { listChangesets } from './list-changesets.ts';
import { listItems } from './list-items.ts';
import { listRunnable } from './list-runnable.ts';
import { listSkills } from './list-skills.ts';
import { proposeChangeset } from './propose-changeset.ts';
import { readSkill } from './read-skill.ts';
import { searchKnowledge } from './search-knowledge.ts';
import { searchProject } from './search-project.ts';
import type { Preparation, Tool, ToolContext, ToolOutcome } from './tool.ts';
import { updateKnowledge } from './update-knowledge.ts';

export type { Preparation, Tool, ToolContext, ToolOutcome } from './tool.ts';

export const tools: readonly Tool[] = [
  listItems,
  getItem,
  listRunnable,
  searchProject,
  listChangesets,
  proposeChangeset,
  listSkills,
  readSkill,
  searchKnowledge,
  getKnowledge,
  createKnowledge,
  updateKnowledge,
];

export function findTool(name: string): Tool | undefined {
  return tools.find((tool) => tool.name === name);
}

/** What the model is told about the tools; made from the schemas that validate its calls. */
export function toolSchemas(): { name: string; description: string; parameters: Record<string, unknown> }[] {
  return tools.map((tool) => ({ name: tool.name, description: tool.description, parameters: parametersOf(tool) }));
}

function parametersOf(tool: Tool): Record<string, unknown> {
  const { $schema: _dialect, ...parameters } = z.toJSONSchema(tool.input, {
    io: 'input',
    // Providers know anyOf better than oneOf; the alternatives exclude each other by their kind anyway.
    override({ jsonSchema }) {
      if (!jsonSchema.oneOf) return;
      jsonSchema.anyOf = jsonSchema.oneOf;
      delete jsonSchema.oneOf;
    },
  });
  return parameters;
}

/** Whether a call of the tool is prepared before its transaction. */
export const isPrepared = (name: string): boolean => findTool(name)?.prepare !== undefined;

/** Does what a call needs and no transaction may wait for: the result is for `context.prepared` of `callTool`. */
export function prepareTool(
  context: Preparation,
  name: string,
  input: Record<string, unknown> | string,
): Promise<unknown> {
  return prepareAmong(tools, context, name, input);
}

/**
 * Runs a call inside the context's transaction, in a savepoint: a failing call leaves nothing behind. Every fault that
 * the model or the human can mend is an error result; lost connections, deadlocks and serialization failures are
 * thrown. `input`: the arguments, or the provider's text where that was no JSON object. The caller commits.
 */
export function callTool(
  context: ToolContext,
  name: string,
  input: Record<string, unknown> | string,
): Promise<ToolOutcome> {
  return callAmong(tools, context, name, input);
}
