// A tiny worker in a process of its own: supervises the attempt in the file of its first argument, and writes the
// outcome and its own peak memory to the file of its second.

import { readFileSync, writeFileSync } from 'node:fs';
import { superviseAttempt } from '../../claude/supervise.ts';
import type { AttemptPlan } from '../../claude/types.ts';

const [planFile = '', outcomeFile = ''] = process.argv.slice(2);
const plan = JSON.parse(readFileSync(planFile, 'utf8')) as AttemptPlan;
const outcome = await superviseAttempt(plan, {
  signal: new AbortController().signal,
  onChange: ({ phase }) => console.log(phase),
  onText: () => undefined,
});
writeFileSync(outcomeFile, JSON.stringify({ outcome, peakBytes: process.resourceUsage().maxRSS * 1024 }));
