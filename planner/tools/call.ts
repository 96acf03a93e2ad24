// One tool call: arguments checked, rights read, the effect kept whole or undone, the output cut (spec: planner 6).

import { DomainError, invalid } from '../../domain/errors.ts';
import { parse, quoted } from '../../domain/input.ts';
import { characters, firstCharacters, storable } from '../../domain/text.ts';
import { isConnectionError, isRetryableConflict, type Tx } from '../../store/database.ts';
import { authorize } from '../../store/rights.ts';
import { logError } from '../../telemetry/log.ts';
import type { Preparation, Tool, ToolContext, ToolOutcome } from './tool.ts';

/** Arguments of one call, in bytes of UTF-8. */
const argumentsLimit = 256 * 1024;

const forbiddenText =
  'The human whom the planner acts for may not do this in this project; ask them to have the right granted, or go on ' +
  'without this call.';

/** Calls the tool of that name among `tools`. See `callTool`. */
export async function callAmong(
  tools: readonly Tool[],
  context: ToolContext,
  name: string,
  input: Record<string, unknown> | string,
): Promise<ToolOutcome> {
  const tool = tools.find((each) => each.name === name);
  if (!tool) return failure(unknownTool(tools, name), context);
  try {
    const output = await inSavepoint(context.tx, (tx) => run(tool, { ...context, tx }, input));
    return { text: cut(shown(output), context.maxOutputCharacters, tool.narrow), is_error: false };
  } catch (error) {
    if (isConnectionError(error) || isRetryableConflict(error)) throw error;
    return failure(explain(tool, error), context);
  }
}

/** What the tool prepares for the call. Arguments that don't fit prepare nothing: `callAmong` says what is wrong. */
export async function prepareAmong(
  tools: readonly Tool[],
  context: Preparation,
  name: string,
  input: Record<string, unknown> | string,
): Promise<unknown> {
  const tool = tools.find((each) => each.name === name);
  if (!tool?.prepare) return undefined;
  try {
    return await tool.prepare(context, parse(tool.input, argumentsOf(tool, input)));
  } catch (error) {
    if (error instanceof DomainError) return undefined;
    throw error;
  }
}

async function run(tool: Tool, context: ToolContext, input: Record<string, unknown> | string): Promise<unknown> {
  await authorize(context.tx, context.human, tool.action, { project_id: context.project.id });
  return tool.run(context, parse(tool.input, argumentsOf(tool, input)));
}

/** The arguments as an object. Models send text that is no JSON object; then the parser's complaint is quoted. */
function argumentsOf(tool: Tool, input: Record<string, unknown> | string): unknown {
  const written = typeof input === 'string' ? input : JSON.stringify(input);
  const bytes = Buffer.byteLength(written);
  if (bytes > argumentsLimit) {
    throw invalid(`The arguments of ${tool.name} have ${bytes} bytes; at most ${argumentsLimit} are allowed.`);
  }
  if (typeof input !== 'string') return input;
  if (input.trim() === '') return {};
  const value = parsed(tool, input);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  throw invalid(`The arguments of ${tool.name} must be one JSON object, not ${quoted(input)}.`);
}

function parsed(tool: Tool, input: string): unknown {
  try {
    return JSON.parse(input);
  } catch (error) {
    const complaint = storable((error as Error).message);
    throw invalid(`The arguments of ${tool.name} are malformed JSON: ${complaint}. Send one JSON object.`);
  }
}

/** Runs `body` so that what it wrote, and what it would tell others, is undone when it throws. */
async function inSavepoint<T>(tx: Tx, body: (tx: Tx) => Promise<T>): Promise<T> {
  const told: (() => void)[] = [];
  const inner: Tx = {
    query: (text, values) => tx.query(text, values),
    emit: (event) => void told.push(() => tx.emit(event)),
    output: (output) => void told.push(() => tx.output(output)),
    notify: (note) => void told.push(() => tx.notify(note)),
    fact: (fact) => void told.push(() => tx.fact(fact)),
  };
  await tx.query('SAVEPOINT tool_call');
  try {
    const result = await body(inner);
    await tx.query('RELEASE SAVEPOINT tool_call');
    for (const tell of told) tell();
    return result;
  } catch (error) {
    // After a lost connection or a deadlock there is nothing to go back to, and `error` is thrown on.
    if (!isConnectionError(error) && !isRetryableConflict(error)) {
      await tx.query('ROLLBACK TO SAVEPOINT tool_call');
      await tx.query('RELEASE SAVEPOINT tool_call');
    }
    throw error;
  }
}

function explain(tool: Tool, error: unknown): string {
  if (error instanceof DomainError) return error.code === 'forbidden' ? forbiddenText : error.message;
  logError('a tool failed', error, { tool: tool.name });
  return 'internal error';
}

const failure = (text: string, { maxOutputCharacters }: ToolContext): ToolOutcome => ({
  text: cut(text, maxOutputCharacters, 'the message is longer than this'),
  is_error: true,
});

function shown(output: unknown): string {
  const text = typeof output === 'string' ? output : (JSON.stringify(output) ?? '');
  return text.trim() === '' ? '(no output)' : text;
}

/** At most `limit` characters, the marker included where it fits. */
function cut(text: string, limit: number, narrow: string): string {
  const count = characters(text);
  if (count <= limit) return text;
  const marker = `\n[cut: ${count} characters, ${limit} allowed. To see less at once: ${narrow}.]`;
  return firstCharacters(text, Math.max(0, limit - characters(marker))) + marker;
}

function unknownTool(tools: readonly Tool[], name: string): string {
  const near = tools
    .map((tool) => ({ name: tool.name, distance: editDistance(firstCharacters(name, 64), tool.name) }))
    .filter((each) => each.distance <= Math.max(3, each.name.length / 2))
    .sort((a, b) => a.distance - b.distance)
    .slice(0, 3);
  const names = (near.length > 0 ? near : tools).map((each) => each.name).join(', ');
  return `There is no tool ${quoted(name)}. ${near.length > 0 ? 'Nearest' : 'Tools'}: ${names}.`;
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, replaced));
    }
    row = next;
  }
  return row[b.length]!;
}
