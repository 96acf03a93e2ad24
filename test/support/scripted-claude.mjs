#!/usr/bin/env node
// A scripted Claude CLI for tests: one mode a kind of behaviour. The mode comes from SCRIPTED_CLAUDE_MODE, else from
// $HOME/scripted-claude.json {modes: [...], heartbeat?}: the n-th start takes the n-th mode, then the last one again.
// Each start appends a line to $HOME/scripted-claude.log; the heartbeat file is touched as long as the process or its
// grandchild lives.

import { spawn } from 'node:child_process';
import { appendFileSync, existsSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createEvents, planByRule, readPrompt } from '../../claude/demo-cli.mjs';

if (process.argv.includes('--version')) {
  console.log('2.1.332 (Claude Code)');
  process.exit(0);
}

const home = process.env.HOME ?? '/nonexistent';
const log = path.join(home, 'scripted-claude.log');
const starts = existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n').length : 0;
const control = readControl();
const mode =
  process.env.SCRIPTED_CLAUDE_MODE ?? control.modes?.[Math.min(starts, control.modes.length - 1)] ?? 'success';
const heartbeat = process.env.SCRIPTED_CLAUDE_HEARTBEAT ?? control.heartbeat;

const write = (text) => writeAll(Buffer.from(text));
const line = (text) => write(`${text}\n`);
const events = createEvents(process.argv, (event) => line(JSON.stringify(event)));
const forever = () => new Promise(() => setInterval(() => undefined, 60_000));

function readControl() {
  try {
    return JSON.parse(readFileSync(path.join(home, 'scripted-claude.json'), 'utf8'));
  } catch {
    return {};
  }
}

/** Whole or not at all, whatever the pipe takes at a time. */
function writeAll(bytes) {
  for (let at = 0; at < bytes.length;) {
    try {
      at += writeSync(1, bytes, at);
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2);
    }
  }
}

const secret = () => ['gh', 'p_', 'aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC2dF4gH6'].join('');

function open() {
  events.init();
  events.start();
}

function whole(plan) {
  open();
  events.delta(plan);
  close(plan);
}

function close(plan, more) {
  events.assistant(plan);
  events.stop();
  events.result(plan, more);
}

const failure = (subtype, more) =>
  events.result('', {
    subtype,
    is_error: true,
    result: undefined,
    terminal_reason: 'model_error',
    stop_reason: null,
    ...more,
  });

/** What is printed for ever in place of an end. */
async function every(ms, work) {
  for (;;) {
    work();
    await sleep(ms);
  }
}

function grandchild(detached) {
  const beat = `setInterval(() => require('fs').writeFileSync(process.argv[1], String(Date.now())), 50)`;
  const args = ['-e', heartbeat ? beat : 'setInterval(() => undefined, 1000)', heartbeat ?? ''];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit'], detached });
  child.unref();
}

const modes = {
  success: (plan) => whole(plan),
  'no-session': () => {
    const id = events.session_id;
    process.stderr.write(`No conversation found with session ID: ${id}\n`);
    failure('error_during_execution', { errors: [`No conversation found with session ID: ${id}`], num_turns: 0 });
    return 1;
  },
  'session-taken': () => {
    process.stderr.write(`Error: Session ID ${events.session_id} is already in use.\n`);
    return 1;
  },
  'slow-success': async (plan) => {
    open();
    for (const part of plan.match(/[^]{1,40}/g)) {
      events.delta(part);
      await sleep(Number(process.env.SCRIPTED_CLAUDE_SLOW_MS ?? 20));
    }
    close(plan);
  },
  idle: async (plan) => {
    open();
    events.delta(plan.slice(0, 200));
    await forever();
  },
  'plan-without-result': async (plan) => {
    open();
    events.delta(plan);
    events.assistant(plan);
    await forever();
  },
  'partial-line': async () => {
    open();
    write('{"type":"assistant","message":{"con');
    await forever();
  },
  trickle: async () => {
    open();
    await every(30, () => write(' x'));
  },
  'json-scalars': (plan) => {
    events.init();
    for (const scalar of ['1', '"text"', 'null', 'true', '[]']) line(scalar);
    close(plan);
  },
  'unknown-types': (plan) => {
    open();
    for (const type of ['tool_progress', 'control_request', 'keep_alive', 'foo'])
      events.emit({ type, text: 'unknown' });
    events.emit({ type: 'system', subtype: 'some_news' });
    events.delta(plan);
    close(plan);
  },
  'long-line': async () => {
    open();
    write(`{"type":"foo","text":"${'x'.repeat(2 * 1024 * 1024)}`);
    await forever();
  },
  'long-text': async () => {
    open();
    for (let count = 0; count < 120; count++) events.delta('word '.repeat(200));
    await forever();
  },
  'ping-only': async () => {
    open();
    await every(30, () => events.stream({ type: 'ping' }));
  },
  'upstream-idle': async () => {
    events.init();
    await every(30, () =>
      events.emit({ type: 'system', subtype: 'api_retry', attempt: 1, error_status: 500, error: 'server_error' }),
    );
  },
  'upstream-stall': (plan) => {
    open();
    events.delta(plan.slice(0, 100));
    const text = 'API Error: Stream idle timeout - partial response received';
    events.assistant(text, { model: '<synthetic>', id: 'synthetic' });
    failure('success', { result: text, terminal_reason: 'api_error' });
    return 1;
  },
  'thinking-only': async (plan) => {
    open();
    for (let count = 0; count < 20; count++) {
      events.thinking('hm ');
      await sleep(50);
    }
    events.delta(plan);
    close(plan);
  },
  'tool-use-init': async () => {
    events.init({ tools: ['Bash'] });
    await forever();
  },
  'tool-use-block': async () => {
    open();
    events.stream({
      type: 'content_block_start',
      index: 0,
      content_block: { type: 'tool_use', id: 'toolu_1', name: 'Bash', input: {} },
    });
    await forever();
  },
  'tool-result': async () => {
    open();
    events.emit({
      type: 'user',
      message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'x' }] },
    });
    await forever();
  },
  'ignores-sigterm': async (plan) => {
    for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => undefined);
    open();
    events.delta(plan.slice(0, 100));
    await forever();
  },
  stopped: async () => {
    open();
    process.kill(process.pid, 'SIGSTOP');
    await forever();
  },
  'busy-loop': () => {
    for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => undefined);
    open();
    spawn('true', { stdio: 'ignore' });
    for (;;);
  },
  'grandchild-success': (plan) => {
    grandchild(false);
    whole(plan);
  },
  'grandchild-escapes': async (plan) => {
    grandchild(true);
    whole(plan);
  },
  'grandchild-idle': async () => {
    grandchild(true);
    for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => undefined);
    open();
    await forever();
  },
  burst: (plan) => {
    open();
    let text = '';
    for (const part of plan.match(/[^]{1,3}/g)) text += deltaLine(part);
    const missing = 5_000 - text.split('\n').length;
    write(text + deltaLine('').repeat(Math.max(missing, 0)));
    close(plan);
  },
  'big-burst': (plan) => {
    open();
    const filler = `${JSON.stringify({ type: 'foo', text: 'x'.repeat(100_000) })}\n`;
    write(filler.repeat(105));
    close(plan);
  },
  flood: async () => {
    open();
    const thought = 'x'.repeat(500_000);
    await every(0, () => events.thinking(thought));
  },
  budget: () => {
    open();
    failure('error_max_budget_usd', {
      errors: ['Reached maximum budget ($2)'],
      terminal_reason: 'budget_exhausted',
      total_cost_usd: 2.4,
    });
    return 1;
  },
  auth: async () => {
    events.init();
    events.emit({
      type: 'system',
      subtype: 'api_retry',
      attempt: 1,
      error_status: 401,
      error: 'authentication_failed',
    });
    await forever();
  },
  overloaded: () => {
    events.init();
    events.emit({ type: 'system', subtype: 'api_retry', attempt: 1, error_status: 529, error: 'overloaded' });
    events.assistant('API Error: overloaded', { model: '<synthetic>' });
    failure('success', { result: 'API Error: overloaded', api_error_status: 529 });
    return 1;
  },
  'rate-limit': () => {
    events.init();
    const resetsAt = Math.floor(Date.now() / 1_000) + 30;
    events.emit({ type: 'rate_limit_event', rate_limit_info: { status: 'rejected', resetsAt } });
    failure('success', { result: 'limit', api_error_status: 429 });
    return 1;
  },
  refusal: () => {
    open();
    events.stop('refusal');
    events.emit({ type: 'system', subtype: 'model_refusal_no_fallback' });
    failure('success', { result: 'refused', stop_reason: 'refusal' });
    return 1;
  },
  'max-tokens': (plan) => {
    open();
    events.delta(plan.slice(0, 100));
    events.stop('max_tokens');
    events.emit({ type: 'user', isSynthetic: true, message: { role: 'user', content: 'go on' } });
    close(plan);
  },
  'secret-in-error': () => {
    events.init();
    process.stderr.write(`fatal: refused for token ${secret()}\n`);
    failure('error_during_execution', { errors: [`bad token ${secret()}`] });
    return 1;
  },
  'secret-split-deltas': async (plan) => {
    const text = plan.replace('## Risks', `The token is ${secret()} and no other.\n\n## Risks`);
    const at = text.indexOf(secret()) + 10;
    open();
    events.delta(text.slice(0, at));
    await sleep(500);
    events.delta(text.slice(at));
    close(text);
  },
  'secret-split-events': async (plan) => {
    const text = plan.replace('## Risks', `The token is ${secret()} and no other.\n\n## Risks`);
    const at = text.indexOf(secret()) + 10;
    open();
    events.assistant(text.slice(0, at));
    await sleep(500);
    events.assistant(text.slice(at));
    events.result(text);
  },
  'empty-success': () => {
    open();
    events.result('');
  },
  'malformed-plan': () => {
    whole("Here's the plan:\n\n# Plan Checkpoint\n\n## Goal\n\nGo.\n");
  },
  'nonzero-success': (plan) => {
    whole(plan);
    return 1;
  },
  'wrong-model': async (plan) => {
    events.init({ model: 'claude-other-1' });
    close(plan);
    await forever();
  },
  'wrong-session': async (plan) => {
    events.init({ session_id: '00000000-0000-4000-8000-000000000000' });
    close(plan);
    await forever();
  },
  'two-results': (plan) => {
    whole(plan);
    failure('error_during_execution', { num_turns: 0, errors: ['late'] });
  },
  'two-results-reversed': (plan) => {
    open();
    failure('error_during_execution', { num_turns: 0, errors: ['early'] });
    events.delta(plan);
    close(plan);
  },
  'result-then-hang': async (plan) => {
    whole(plan);
    await forever();
  },
  'cut-utf8': () => {
    open();
    const bytes = Buffer.from('{"type":"foo","text":"\u20ac');
    writeAll(bytes.subarray(0, bytes.length - 1));
  },
  'split-utf8': async (plan) => {
    const text = plan.replace('## Risks', `${'\u20ac'.repeat((70_000 / 3) | 0)}\n\n## Risks`);
    open();
    const bytes = Buffer.from(deltaLine(text));
    for (let at = 0; at < bytes.length; at += 65_536) {
      writeAll(bytes.subarray(at, at + 65_536));
      await sleep(5);
    }
    close(text);
  },
  banner: (plan) => {
    line('Welcome to the CLI');
    line('');
    whole(plan);
  },
  'late-noise': (plan) => {
    open();
    line('Warning: something');
    close(plan);
  },
  nothing: () => undefined,
  'cut-at-64k': () => {
    open();
    write(`{"type":"result","result":"${'x'.repeat(65_536)}`);
  },
};

const deltaLine = (text) => {
  const event = { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } };
  return `${JSON.stringify({ type: 'stream_event', session_id: events.session_id, event })}\n`;
};

const unread = {
  'stdin-unread': async (plan) => {
    open();
    events.delta(plan.slice(0, 100));
    await forever();
  },
  'stdin-closed': async (plan) => {
    process.stdin.destroy();
    await sleep(100);
    whole(plan);
  },
};

const record = { pid: process.pid, mode, args: process.argv.slice(2), cwd: process.cwd(), at: Date.now() };
try {
  appendFileSync(log, `${JSON.stringify(record)}\n`);
} catch {
  // No home, no log.
}
if (heartbeat) setInterval(() => writeFileSync(heartbeat, String(Date.now())), 50).unref();

let code;
if (unread[mode]) {
  code = await unread[mode](planByRule(''));
} else {
  const prompt = await readPrompt();
  if (!modes[mode]) {
    process.stderr.write(`No such mode: ${mode}\n`);
    process.exit(64);
  }
  code = await modes[mode](planByRule(prompt), prompt);
}
process.exit(code ?? 0);
