// The CLI's command line (spec: bounded-claude 4).

import type { AttemptPlan } from './types.ts';

/** Arguments of an attempt; the prompt comes on stdin. Never `--fallback-model`; exactly one flag names the session. */
export function commandLine(plan: Pick<AttemptPlan, 'runId' | 'model' | 'effort' | 'budgetUsd' | 'session'>): string[] {
  const session =
    plan.session.kind === 'fresh'
      ? ['--session-id', plan.session.id, '--name', `partner-${plan.runId}`]
      : ['--resume', plan.session.id];
  return [
    '--print',
    '--safe-mode',
    '--no-chrome',
    '--tools',
    '',
    '--strict-mcp-config',
    '--setting-sources',
    '',
    '--permission-mode',
    'plan',
    '--model',
    plan.model,
    '--effort',
    plan.effort,
    '--max-budget-usd',
    String(plan.budgetUsd),
    '--output-format',
    'stream-json',
    '--include-partial-messages',
    '--verbose',
    ...session,
  ];
}
