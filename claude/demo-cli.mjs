#!/usr/bin/env node
// A demonstration in the place of the Claude CLI: a valid plan from the packet by rule; asks no model, costs nothing.

import { randomUUID } from 'node:crypto';
import { realpathSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

export const flag = (name, args = process.argv) => {
  const at = args.indexOf(name);
  return at < 0 ? undefined : args[at + 1];
};

/** The events of the CLI's stream, with the session and the model of its own arguments; `send` prints one. */
export function createEvents(args, send) {
  const session_id = flag('--session-id', args) ?? flag('--resume', args) ?? randomUUID();
  const model = flag('--model', args) ?? 'none';
  const message = `msg_${randomUUID().slice(0, 8)}`;
  const usage = { input_tokens: 0, output_tokens: 0 };
  const emit = (event) => send({ session_id, uuid: randomUUID(), ...event });
  const stream = (event, more = {}) => emit({ type: 'stream_event', event, parent_tool_use_id: null, ...more });
  return {
    session_id,
    model,
    emit,
    stream,
    init: (more = {}) =>
      emit({
        type: 'system',
        subtype: 'init',
        tools: [],
        mcp_servers: [],
        model,
        permissionMode: 'plan',
        claude_code_version: '0.0.0',
        ...more,
      }),
    start: (more = {}) =>
      stream({
        type: 'message_start',
        message: { id: message, role: 'assistant', model, content: [], usage, ...more },
      }),
    delta: (text) => stream({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }),
    thinking: (text) =>
      stream({ type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: text } }),
    stop: (stop_reason = 'end_turn') => stream({ type: 'message_delta', delta: { stop_reason }, usage }),
    assistant: (text, more = {}) =>
      emit({
        type: 'assistant',
        parent_tool_use_id: null,
        message: {
          id: message,
          role: 'assistant',
          model,
          stop_reason: null,
          content: [{ type: 'text', text }],
          ...more,
        },
      }),
    result: (text, more = {}) =>
      emit({
        type: 'result',
        subtype: 'success',
        is_error: false,
        terminal_reason: 'completed',
        stop_reason: 'end_turn',
        result: text,
        num_turns: 1,
        total_cost_usd: 0,
        usage,
        modelUsage: { [model]: { costUSD: 0 } },
        permission_denials: [],
        ...more,
      }),
  };
}

/** All of stdin, as text. */
export async function readPrompt() {
  let text = '';
  for await (const chunk of process.stdin.setEncoding('utf8')) text += chunk;
  return text;
}

/** A text that was cut within a code fence gets its end: what follows it is no code. */
function closed(text) {
  let open = '';
  for (const line of text.split('\n')) {
    const [, fence, rest] = /^ {0,3}(`{3,}|~{3,})(.*)$/.exec(line) ?? [];
    if (!fence) continue;
    if (open === '') open = fence;
    else if (fence.startsWith(open) && rest.trim() === '') open = '';
  }
  return open === '' ? text : `${text}\n${open}`;
}

/** A plan by rule: what the packet says under a heading is repeated under the plan's. */
export function planByRule(prompt) {
  const section = (name) => {
    const body = prompt.split(new RegExp(`^## ${name}[ \\t]*\\r?$`, 'm'))[1]?.split(/^## /m)[0] ?? '';
    return closed(body.replace(/^#.*$/gm, '').trim()) || 'The packet says nothing about it.';
  };
  return (
    [
      '# Plan Checkpoint',
      '## Goal',
      section('Goal'),
      '## Non-goals',
      section('Non-goals'),
      '## Current-State Evidence',
      section('Current-State Evidence'),
      '## File Scope',
      'Only the files that the evidence names.',
      '## Steps',
      '1. This plan was made by rule, as a demonstration: no model was asked, and nothing was paid.',
      `2. Keep to the constraints: ${section('Constraints')}`,
      '## Risks',
      `What is still open: ${section('Open Decisions')}`,
      '## Acceptance Checks',
      section('Acceptance'),
      '## Rollback',
      'Revert the change as one commit.',
    ].join('\n\n') + '\n'
  );
}

async function main() {
  if (process.argv.includes('--version')) return void console.log('0.0.0 (demonstration, not the Claude CLI)');
  const events = createEvents(process.argv, (event) => process.stdout.write(`${JSON.stringify(event)}\n`));
  const plan = planByRule(await readPrompt());
  events.init();
  events.start();
  for (const line of plan.match(/[^\n]*\n/g) ?? []) {
    events.delta(line);
    await sleep(Number(process.env.DEMO_LINE_MS ?? 40));
  }
  events.assistant(plan);
  events.stop();
  events.result(plan);
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) await main();
