// Re-validations for a test: the workers of bounded runs, a repository with enough text, the scripted CLI.

import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { RoleRequest } from '../../bounded/revalidation-access.ts';
import { readRevalidation, startRevalidation, type ValidationView } from '../../bounded/revalidations.ts';
import type { RunTimings } from '../../domain/run.ts';
import { ada, until } from './planner.ts';
import { startTestRuns, testMachine, type TestRuns } from './runs.ts';

/** Some 40 files of code, 2 kB each. Long lines: the demonstration takes its time for each. */
export function fillRepository(repo: string, files = 40): void {
  mkdirSync(path.join(repo, 'src'), { recursive: true });
  for (let index = 0; index < files; index++) {
    const words = 'counts what is left of the order after each delivery, and what is owed for it '.repeat(2);
    const lines = Array.from({ length: 12 }, (_, line) => `export const part${line} = (size) => size * ${index}; // ${words}`);
    writeFileSync(path.join(repo, 'src', `module-${String(index).padStart(2, '0')}.ts`), `// Module ${index}.\n${lines.join('\n')}\n`);
  }
}

export interface TestRevalidations extends TestRuns {
  validate(request?: Partial<RoleRequest>): Promise<string>;
  validation(id: string): Promise<ValidationView>;
  concluded(id: string, ms?: number): Promise<ValidationView>;
  /** Waits until the file of its report says this claim. */
  reported(id: string, claim: string): Promise<string>;
}

/** Somewhere else than the API: its own worker checks. */
const elsewhere = { machine: 'another', env: {} };

export async function startTestRevalidations(timings?: Partial<RunTimings>): Promise<TestRevalidations> {
  const runs = await startTestRuns(timings);
  fillRepository(runs.repo);
  const { database } = runs.planner;
  const more = {
    async validate(request: Partial<RoleRequest> = {}) {
      const asked = { repo: 'shop', host: 'codex', role: 'deep_reasoner', ...request };
      return (await startRevalidation(database, ada, asked, { place: elsewhere })).validation_id;
    },
    validation: (id: string) => readRevalidation(database, ada, id, elsewhere),
    concluded: (id: string, ms = 45_000) =>
      until(`the end of ${id}`, async () => {
        const now = await more.validation(id);
        return now.ended_at !== null && now;
      }, ms).catch(async (error: Error) => {
        throw new Error(`${error.message}: ${JSON.stringify(await more.validation(id))}`);
      }),
    reported: (id: string, claim: string) =>
      until(`the report of ${id} to say ${claim}`, async () => {
        try {
          const text = runs.file(`.partner/validations/${id}/report.json`);
          return (JSON.parse(text) as { claim: string }).claim === claim && text;
        } catch {
          return false;
        }
      }),
  };
  return Object.assign(runs, more);
}

export { testMachine };
