// How a run is shown: progress line and text on a terminal, plain lines, JSON (spec: bounded-claude 1).

import { expect, test } from 'vitest';
import { JsonView, PlainView, progressText, TerminalView, VisibleText, type Screen } from '../cli/partner/run-view.ts';
import type { RunOutput } from '../client/index.ts';

interface Paper extends Screen {
  text: { out: string; err: string };
  time: number;
}

function paper(): Paper {
  const text = { out: '', err: '' };
  const made: Paper = {
    text,
    time: 0,
    out: (more) => void (text.out += more),
    err: (more) => void (text.err += more),
    columns: () => 80,
    now: () => made.time,
  };
  return made;
}

let count = 0;
const head = (attempt = 1) => ({
  subscription: '1',
  run: '01890000-0000-7000-8000-000000000000',
  output: ++count,
  attempt,
});
const text = (more: string, attempt = 1, replace?: true): Extract<RunOutput, { type: 'text' }> => ({
  ...head(attempt),
  type: 'text',
  text: more,
  ...(replace ? { replace } : {}),
});
const status = (phase: string, attempt = 1): Extract<RunOutput, { type: 'status' }> => ({
  ...head(attempt),
  type: 'status',
  phase,
  elapsed_ms: 42_000,
  visible_characters: 1234,
  last_event_age_ms: 300,
});

test('spec: bounded-claude 1.2: the progress line has phase, elapsed time, visible characters and the age of the last event', () => {
  expect(progressText(status('writing'), 1, 0)).toBe('writing · 0:42 · 1234 characters · last event 0:00 ago');
  expect(progressText(status('writing', 2), 2, 20_000)).toBe(
    'attempt 2, writing · 1:02 · 1234 characters · last event 0:20 ago',
  );
});

test('on a terminal whole lines of text stand above the progress line, and the rest comes at the end', () => {
  const screen = paper();
  const view = new TerminalView(screen, false);
  view.output(status('writing'));
  view.output(text('# Plan Check'));
  expect(screen.text.out).toBe('');
  view.output(text('point\n\n## Go'));
  expect(screen.text.out).toBe('# Plan Checkpoint\n\n');
  view.close();
  expect(screen.text.out).toBe('# Plan Checkpoint\n\n## Go\n');
  expect(screen.text.err).toMatch(/\r\u001b\[Kwriting · 0:42 · 1234 characters/);
  expect(screen.text.err).toMatch(/\r\u001b\[K$/);
});

test('a demo says so in each progress line', () => {
  const screen = paper();
  const view = new TerminalView(screen, true);
  view.output(status('writing'));
  expect(screen.text.err).toContain('DEMO · writing');
  view.close();
});

test('a progress line never wraps', () => {
  const screen = { ...paper(), columns: () => 20 };
  const view = new TerminalView(screen, false);
  view.output(status('writing'));
  expect(screen.text.err.replace('\r\u001b[K', '')).toHaveLength(19);
  view.close();
});

test('while a question stands, nothing is printed over it; afterwards all of it comes, in order', () => {
  const screen = paper();
  const view = new TerminalView(screen, false);
  view.hold();
  const before = screen.text.err;
  view.output(text('one\n'));
  view.output(status('writing'));
  view.note('two');
  expect(screen.text).toEqual({ out: '', err: before });
  view.release();
  expect(screen.text.out).toBe('one\ntwo\n');
  view.close();
});

test('elsewhere there is a line for each new phase and every half minute, and the text at the end', () => {
  const screen = paper();
  const view = new PlainView(screen);
  for (const phase of ['waiting', 'writing', 'writing']) view.output(status(phase));
  view.output(text('half'));
  expect(screen.text.out).toBe('');
  expect(
    screen.text.err
      .trim()
      .split('\n')
      .map((line) => line.split(' ')[0]),
  ).toEqual(['waiting', 'writing']);
  screen.time = 30_000;
  view.output(status('writing'));
  expect(screen.text.err.match(/writing/g)).toHaveLength(2);
  view.close(true);
  view.close();
  expect(screen.text.out).toBe('half\n');
});

test('the text of a run that made no plan is a note, and of a plan only the last answer is a result', () => {
  const failed = paper();
  const view = new PlainView(failed);
  view.output(text('half'));
  view.close();
  expect(failed.text).toEqual({ out: '', err: 'half\n' });
  const made = paper();
  const second = new PlainView(made);
  second.output(text('half'));
  second.output(text('whole\n', 2));
  second.close(true);
  expect(made.text).toEqual({ out: 'whole\n', err: '' });
});

test('the counter of characters follows the text, for each attempt by itself', () => {
  const screen = paper();
  const view = new TerminalView(screen, false);
  view.output({ ...status('writing'), visible_characters: 2 });
  view.output(text('ä😀'));
  view.output(text('cd'));
  expect(screen.text.err).toMatch(/writing · 0:42 · 4 characters[^]*$/);
  view.output({ ...status('waiting', 2), visible_characters: 0 });
  expect(screen.text.err).toMatch(/attempt 2, waiting · 0:42 · 0 characters[^\r]*$/);
  view.close();
});

test('an answer that begins again is marked, and text that is told once more is printed once', () => {
  const visible = new VisibleText();
  expect(visible.take(text('# Plan'))).toBe('# Plan');
  expect(visible.take(text('# Plan Checkpoint', 1, true))).toBe(' Checkpoint');
  expect(visible.take(text('# Plan', 2))).toBe('\n---- the answer begins again ----\n# Plan');
  expect(visible.take(text('Other', 2, true))).toBe('\n---- the answer begins again ----\nOther');
});

test('text can steer no terminal', () => {
  const screen = paper();
  const view = new PlainView(screen);
  view.output(text('a\u001b[2Jb\u001b]0;title\u0007c\n'));
  view.output({ ...head(), type: 'warning', text: 'x\u001b[1my' });
  view.close(true);
  expect(screen.text.out + screen.text.err).not.toContain('\u001b');
});

test('failures of attempts, warnings and errors are lines; JSON has each event as it came', () => {
  const screen = paper();
  const failed: RunOutput = {
    ...head(),
    type: 'attempt_failed',
    failure_kind: 'idle_timeout',
    failure_detail: 'Silent.',
  };
  const plain = new PlainView(screen);
  plain.output(failed);
  plain.output({ ...head(), type: 'waiting', wait_ms: 5_000 });
  expect(screen.text.err).toBe('attempt 1 ended: idle_timeout. Silent.\ngoing on in 0:05\n');
  const json = new JsonView(screen);
  json.output(failed);
  const { subscription: _, ...event } = failed;
  expect(JSON.parse(screen.text.out)).toEqual(event);
});
