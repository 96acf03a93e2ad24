// Metrics of re-validations (docs/metrics.md, spec: bounded-claude 9).

import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { claims, type Claim } from '../domain/revalidation/contract.ts';
import type { RevalidationEnded } from './fact.ts';

const buckets = [30, 60, 120, 300, 600, 1_200, 1_800, 3_600, 14_400, 86_400];

/** Call the result for each one that has ended. */
export function measureRevalidations(registry: Registry): (fact: RevalidationEnded) => void {
  const registers = [registry];
  const ended = new Counter({
    name: 'partner_revalidation_total',
    help: 'Re-validations that have ended, by status and claim (pending: a failure is not inspected yet).',
    labelNames: ['status', 'claim'] as const,
    registers,
  });
  const attempts = new Counter({
    name: 'partner_revalidation_attempts_total',
    help: 'Attempts of re-validations, by purpose, outcome and kind of failure.',
    labelNames: ['purpose', 'outcome', 'kind'] as const,
    registers,
  });
  const cost = new Counter({
    name: 'partner_revalidation_cost_usd_total',
    help: 'What re-validations that have ended have cost, USD.',
    registers,
  });
  const seconds = new Histogram({
    name: 'partner_revalidation_seconds',
    help: 'Re-validations that have ended, by status: from the request to the end.',
    labelNames: ['status'] as const,
    buckets,
    registers,
  });
  return (fact) => {
    ended.inc({ status: fact.status, claim: fact.claim });
    for (const { purpose, outcome, failure } of fact.attempts) {
      attempts.inc({ purpose, outcome, kind: failure ?? 'none' });
    }
    cost.inc(fact.cost_usd);
    seconds.observe({ status: fact.status }, fact.seconds);
  };
}

/** How many roles have which newest claim, read when it is scraped; absent without the database. */
export function measureClaims(registry: Registry, read: () => Promise<Partial<Record<Claim, number>>>): void {
  new Gauge({
    name: 'partner_revalidation_claims',
    help: 'Roles by the claim of their newest re-validation, of the whole installation.',
    labelNames: ['claim'] as const,
    registers: [registry],
    async collect() {
      const late = new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), 2_000).unref());
      const counts = await Promise.race([read().catch(() => undefined), late]);
      this.reset();
      if (counts) for (const claim of claims) this.set({ claim }, counts[claim] ?? 0);
    },
  });
}
