// What a tool is: a name, a schema, and an effect inside the caller's transaction (spec: planner 6).

import type { z } from 'zod';
import type { Action, Actor, Principal } from '../../domain/actor.ts';
import type { EmbedQuery } from '../../models/embeddings/index.ts';
import type { Project } from '../../store/projects.ts';
import type { Tx } from '../../store/database.ts';

/** Where a call takes place, and for whom. */
export interface ToolContext {
  tx: Tx;
  project: Project;
  /** Whose rights count. */
  human: Principal;
  /** Who is recorded. */
  actor: Actor;
  /** Longer results are cut, in code points. */
  maxOutputCharacters: number;
  /** What the tool's `prepare` made; undefined where there is none. */
  prepared?: unknown;
}

/** Where a call is prepared: before its transaction, for as long as that takes. */
export interface Preparation extends Omit<ToolContext, 'tx' | 'prepared'> {
  embedQuery: EmbedQuery;
}

/** What the model is told of a call. */
export interface ToolOutcome {
  text: string;
  is_error: boolean;
}

export interface Tool {
  name: string;
  description: string;
  /** The right that the human must have in the session's project. */
  action: Action;
  /** Writing calls run alone and in their place; reading ones side by side. */
  writes: boolean;
  /** Validates the arguments, and is the source of the JSON Schema that the model is given. */
  input: z.ZodType;
  /** How to ask for less: said where a result is cut. */
  narrow: string;
  /** What must not be done while a transaction is open, such as embedding a query. Changes nothing. */
  prepare?(context: Preparation, input: unknown): Promise<unknown>;
  /** The output, JSON. `input` is what the schema made of the arguments. */
  run(context: ToolContext, input: unknown): Promise<unknown>;
}

/** A tool whose `run` is typed by its own schema. */
export function defineTool<Input extends z.ZodType, Prepared = undefined>(
  tool: Omit<Tool, 'input' | 'prepare' | 'run'> & {
    input: Input;
    prepare?(context: Preparation, input: z.output<Input>): Promise<Prepared>;
    run(context: ToolContext & { prepared?: Prepared }, input: z.output<Input>): Promise<unknown>;
  },
): Tool {
  return tool as Tool;
}
