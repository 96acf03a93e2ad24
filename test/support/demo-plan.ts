// A valid plan, as the demonstration makes it from the test's packet.

import { execFileSync } from 'node:child_process';
import { demoCli } from '../../claude/find-cli.ts';
import { packet } from './bounded-attempt.ts';

export const demoPlan = demoPlanOf(packet);

export function demoPlanOf(input: string): string {
  const lines = execFileSync(process.execPath, [demoCli, '--model', 'm'], { input, env: { DEMO_LINE_MS: '0' } });
  const result = JSON.parse(lines.toString().trim().split('\n').at(-1) ?? '{}') as { result: string };
  return result.result;
}
