// The API against its own document: generated requests, well formed and not, find no fault of the server and no answer
// that is not documented (spec: planner 10).

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { run } from '../../cli/stack/run.ts';
import { fetchTool, toolRoot } from '../../cli/stack/tools.ts';
import { keyring, newSecretKey } from '../../store/sealing.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { furnish, secret } from '../support/tenants.ts';

let t: TestApi;
let folder: string;
beforeAll(async () => {
  await fetchTool('schemathesis', (line) => console.log(line));
  folder = mkdtempSync(path.join(tmpdir(), 'planner-fuzz-'));
  t = await startTestApi({ gateway: { keys: keyring([newSecretKey()]) } });
});
afterAll(async () => {
  await t.close();
  rmSync(folder, { recursive: true, force: true });
});

/**
 * unsupported_method wants 405, which is none of the specification's codes: a path with another method is 404.
 * positive_data_acceptance: some rules, such as which kind may have which field, are no part of a schema.
 */
const unchecked = 'unsupported_method,positive_data_acceptance';

// About two minutes on a machine with nothing else to do.
const limit = { timeout: 1_500_000 };

test('spec: planner 10.3, 10.5: in 10,000 requests no fault and no undocumented answer', limit, async () => {
  writeFileSync(path.join(folder, 'schemathesis.toml'), await settings());
  const location = `${t.address}/api/openapi.json`;
  const { code, output } = await run(
    'python3',
    ['-m', 'schemathesis.cli', 'run', location, '--phases', 'coverage,fuzzing', '--max-examples', '110',
      '--exclude-checks', unchecked, '--continue-on-failure', '--seed', '20', '--suppress-health-check', 'all',
      '--warnings', 'off', '--generation-database', 'none', '--no-color'],
    { cwd: folder, env: { ...process.env, PYTHONPATH: toolRoot('schemathesis'), PYTHONDONTWRITEBYTECODE: '1' } },
  );
  expect(code, output.slice(-20_000)).toBe(0);
  expect(await requests()).toBeGreaterThanOrEqual(10_000);
});

/** Most parameters name what is there, some do not. */
async function settings(): Promise<string> {
  const names = await furnish(t.database, { subject: 'admin', kind: 'human' }, 'WEB');
  const { organization, project, session, run, provider, item, epic, other } = names;
  const known: Record<string, string[]> = {
    organization: [organization],
    project: [project, 'OPS'],
    key: [item, epic, other],
    session: [session],
    run: [run],
    provider: [provider, 'openai'],
    name: [`${secret}-skill`, 'metadata.json', 'recovery.md'],
    id: [names.dependency, names.changeset, names.skill, names.entry, names.binding],
  };
  const lines = Object.entries(known);
  return [
    '[headers]',
    `Authorization = "Bearer ${t.tokens.admin}"`,
    '[dictionaries]',
    ...lines.map(([name, values]) => `${name} = { values = ${JSON.stringify(values)} }`),
    '[parameters]',
    ...lines.map(([name]) => `"path.${name}" = { dictionary = "${name}", probability = 0.7 }`),
    '',
  ].join('\n');
}

async function requests(): Promise<number> {
  const text = await (await fetch(`${t.address}/metrics`)).text();
  const counts = [...text.matchAll(/^ballet_api_request_seconds_count\{.*\} (\d+)$/gm)];
  return counts.reduce((sum, [, count]) => sum + Number(count), 0);
}
