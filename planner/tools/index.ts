// The planner's tools: the list, their JSON Schemas, and the one way to call them (spec: planner 6).

import { z } from 'zod';
import type { Tool } from './tool.ts';

export { callTool } from './call.ts';
export type { Tool, ToolContext } from './tool.ts';

export const tools: readonly Tool[] = [];

export function findTool(name: string): Tool | undefined {
  return tools.find((tool) => tool.name === name);
}

/** What the model is told about the tools; made from the schemas that validate its calls. */
export function toolSchemas(): { name: string; description: string; parameters: Record<string, unknown> }[] {
  return tools.map((tool) => ({
    name: tool.name,
    description: tool.description,
    parameters: z.toJSONSchema(tool.input, { io: 'input' }),
  }));
}
