// A tiny worker in a process of its own: supervises the attempt in the file of its first argument, and writes the
// outcome and its own peak memory to the file of its second.

import { readFileSync } from 'node:fs';
import { superviseAttempt } from '../../claude/supervise.ts';
import type { AttemptPlan } from '../../claude/types.ts';
import { replaceFile } from '../../claude/whole-file.ts';

const [planFile = '', outcomeFile = ''] = process.argv.slice(2);
const plan = JSON.parse(readFileSync(planFile, 'utf8')) as AttemptPlan;
const outcome = await superviseAttempt(plan, {
  signal: new AbortController().signal,
  onChange: ({ phase }) => console.log(phase),
  onText: () => undefined,
});
// Whole or not at all: whoever waits for it reads it at once.
replaceFile(outcomeFile, JSON.stringify({ outcome, peakBytes: process.resourceUsage().maxRSS * 1024 }));
