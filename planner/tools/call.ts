// One tool call: arguments checked, rights read, the effect kept whole or undone, the output cut (spec: planner 6).

import { notFound } from '../../domain/errors.ts';
import type { ToolContext } from './tool.ts';

/**
 * Runs a call inside the context's transaction, in a savepoint: a failing call leaves nothing behind. Every fault that the
 * model or the human can mend is an error result; lost connections, deadlocks and serialization failures are thrown.
 * `input`: the arguments, or the provider's text where that was no JSON object. The caller commits.
 */
export async function callTool(
  _context: ToolContext,
  name: string,
  _input: Record<string, unknown> | string,
): Promise<{ text: string; is_error: boolean }> {
  throw notFound(`There is no tool ${name}.`);
}
