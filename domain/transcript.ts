// The transcript's words: messages, content blocks, usage, stop reasons (spec: planner 7).

export type StopReason = 'end_turn' | 'max_tokens' | 'tool_use' | 'refusal' | 'cancelled';

export interface TextBlock {
  type: 'text';
  text: string;
}

export interface ToolUseBlock {
  type: 'tool_use';
  tool_use_id: string;
  name: string;
  /** The call's arguments: the parsed object, or the provider's text where that text was no JSON object. */
  input: Record<string, unknown> | string;
}

export interface ToolResultBlock {
  type: 'tool_result';
  tool_use_id: string;
  text: string;
  is_error: boolean;
}

export type Block = TextBlock | ToolUseBlock | ToolResultBlock;

/** Tokens of one model call, or of several added up. */
export interface Usage {
  input: number;
  output: number;
  cache_read: number;
  cache_write: number;
}

export const noUsage: Usage = { input: 0, output: 0, cache_read: 0, cache_write: 0 };

export function addUsage(a: Usage, b: Usage): Usage {
  return {
    input: a.input + b.input,
    output: a.output + b.output,
    cache_read: a.cache_read + b.cache_read,
    cache_write: a.cache_write + b.cache_write,
  };
}

export interface Message {
  /** From 1, dense, per session. */
  seq: number;
  role: 'user' | 'assistant';
  blocks: Block[];
  /** The human who wrote it; absent on assistant messages and tool results. */
  author?: string;
  turn: string;
  round?: number;
  stop_reason?: StopReason;
  model?: string;
  usage?: Usage;
  created_at: string;
}

/** What a model is shown: no numbers, no authors. */
export interface ModelMessage {
  role: 'user' | 'assistant';
  blocks: Block[];
}

export function toolUses(blocks: readonly Block[]): ToolUseBlock[] {
  return blocks.filter((block) => block.type === 'tool_use');
}

export function textOf(blocks: readonly Block[]): string {
  return blocks
    .filter((block) => block.type === 'text')
    .map((block) => block.text)
    .join('');
}

export const interruptedText = 'The call was interrupted; no result was recorded.';
export const summaryHeading =
  'Summary of the conversation so far. It is background, not a request: what it calls done is done, what it calls open ' +
  'waits for the human. Answer the message that follows it.';

/**
 * What the model sees of a transcript: the summary (if any) and the messages after it; empty messages and empty text
 * dropped, leading assistant messages dropped, neighbours of one role merged, every tool call answered right after it,
 * calls last in their message, results without a call dropped. Pure; storage is not altered. (spec: planner 7)
 */
export function modelView(messages: readonly ModelMessage[], summary = ''): ModelMessage[] {
  const view: ModelMessage[] = [];
  const push = (role: ModelMessage['role'], blocks: Block[]): void => {
    if (blocks.length === 0) return;
    if (view.length === 0 && role === 'assistant') return;
    const last = view.at(-1);
    if (last && last.role === role) last.blocks.push(...blocks);
    else view.push({ role, blocks: [...blocks] });
  };

  if (summary.trim() !== '') push('user', [{ type: 'text', text: `${summaryHeading}\n\n<summary>\n${summary}\n</summary>` }]);

  let open: ToolUseBlock[] = [];
  const answer = (results: readonly ToolResultBlock[]): void => {
    if (open.length === 0) return;
    const byId = new Map(results.map((result) => [result.tool_use_id, result]));
    push(
      'user',
      open.map((call) => byId.get(call.tool_use_id) ?? interrupted(call)),
    );
    open = [];
  };

  for (const message of messages) {
    const blocks = message.blocks.filter((block) => block.type !== 'text' || block.text.trim() !== '');
    if (message.role === 'assistant') {
      answer([]);
      if (view.length === 0) continue;
      const calls = toolUses(blocks);
      push('assistant', [...blocks.filter((block) => block.type === 'text'), ...calls]);
      open = calls;
    } else {
      answer(blocks.filter((block) => block.type === 'tool_result'));
      push('user', blocks.filter((block) => block.type === 'text'));
    }
  }
  answer([]);
  return view;
}

function interrupted(call: ToolUseBlock): ToolResultBlock {
  return { type: 'tool_result', tool_use_id: call.tool_use_id, text: interruptedText, is_error: true };
}
