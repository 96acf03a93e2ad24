// A model that makes the same failing call again and again: noticed, told, and in the end stopped (reports c49).

import { isDeepStrictEqual } from 'node:util';
import { toolUses, type Block, type ToolUseBlock } from '../domain/transcript.ts';
import type { Queryable } from '../store/database.ts';

/** So many answers in a row that make only the same failing calls end a turn. */
export const maxRepeats = 5;

export const repeatedText =
  `The model made the same failing tool call ${maxRepeats} times in a row, so the planner stopped. ` +
  'Send again and say what to do differently, or choose another model.';

/** Added to a failing result from the second time on. `times`: how often it has failed so, this time included. */
export const repeatNote = (times: number): string =>
  ` This same call has failed ${times} times in a row: change it, or go on without it.`;

/**
 * In how many rounds right before this one all of these calls were made and failed. Looks back `maxRepeats` rounds.
 */
export async function failedBefore(
  q: Queryable,
  turn: string,
  round: number,
  calls: readonly Pick<ToolUseBlock, 'name' | 'input'>[],
): Promise<number> {
  const rounds = await q.query<{ blocks: Block[]; failed: string[] }>(
    `SELECT m.blocks, ARRAY(SELECT r.tool_use_id FROM planner_tool_results r
                            WHERE r.turn_id = m.turn_id AND r.round = m.round AND r.is_error) AS failed
     FROM planner_messages m
     WHERE m.turn_id = $1 AND m.role = 'assistant' AND m.round BETWEEN $2::int - $3::int AND $2::int - 1
     ORDER BY m.round DESC`,
    [turn, round, maxRepeats],
  );
  const others = rounds.findIndex(({ blocks, failed }) => {
    const failing = toolUses(blocks).filter(({ tool_use_id }) => failed.includes(tool_use_id));
    return !calls.every((call) => failing.some((other) => isSame(call, other)));
  });
  return others === -1 ? rounds.length : others;
}

const isSame = (one: Pick<ToolUseBlock, 'name' | 'input'>, other: Pick<ToolUseBlock, 'name' | 'input'>): boolean =>
  one.name === other.name && isDeepStrictEqual(one.input, other.input);
