// Re-validation in a real Chromium, with the scripted CLI: started, followed, inspected, scheduled
// (spec: bounded-claude 9).

import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Locator, Page } from 'playwright-core';
import { axeFindings, startTestPage, type TestPage } from '../support/page.ts';
import { startTestRevalidations, type TestRevalidations } from '../support/revalidation.ts';

let runs: TestRevalidations;
let web: TestPage;
beforeAll(async () => {
  runs = await startTestRevalidations();
  await runs.startHost({ tidyMs: 300 });
  web = await startTestPage(undefined, runs.planner);
});
afterAll(async () => {
  await web?.close();
  await runs.close();
});

const button = (place: Page | Locator, name: string): Locator => place.getByRole('button', { name, exact: true });
const region = (page: Page, name: string): Locator => page.getByRole('region', { name, exact: true });
const look = async (page: Page, name: string): Promise<void> => {
  const folder = process.env['PAGE_SHOTS'];
  if (folder) await page.screenshot({ path: `${folder}/${name}.png`, fullPage: true });
};

async function asked(page: Page): Promise<void> {
  await page.getByText('New re-validation', { exact: true }).click();
  await page.getByLabel('Repository').selectOption('shop');
  await page.getByLabel('Host').selectOption('codex');
  await page.getByLabel('Role').selectOption('deep_reasoner');
}

test('started from the page, followed to its end, its failure inspected: the claim holds', async () => {
  runs.play('overloaded', 'slow-success', 'success');
  const page = await web.open('/projects/WEB/runs');
  await page.getByRole('link', { name: 'Validation', exact: true }).click();
  await page.getByText('No re-validation yet').waitFor();
  await asked(page);
  await page.getByText('Three runs, at most 6.00 USD in all.').waitFor();
  await button(page, 'Re-validate now').click();
  await page.waitForURL(/\/runs\/validation\/validation-/);
  await page.getByText('It is under way.').waitFor();
  await button(page, 'Stop').waitFor();
  await page.getByText('One failure waits for somebody to inspect and acknowledge.').waitFor({ timeout: 60_000 });
  const failures = region(page, 'Failures');
  await failures.getByText('upstream_error').waitFor();
  await look(page, 'validation-pending');
  expect(await axeFindings(page)).toEqual([]);
  await failures.getByLabel('What failure 1 was').fill('the API was overloaded');
  await button(failures, 'I inspected it').click();
  await page.getByText('The recovery and the last fresh attempt gave valid plans, on exactly these hashes.').waitFor();
  await failures.getByText(/Inspected by ada, .*: the API was overloaded/).waitFor();
  const attempts = region(page, 'Attempts').getByRole('listitem');
  expect(await attempts.count()).toBe(4);
  await attempts.nth(1).getByText('2. Ended on purpose').waitFor();
  await look(page, 'validation-holds');
  await page.getByRole('link', { name: 'All re-validations' }).click();
  await region(page, 'Claims').getByText('Holds', { exact: true }).waitFor();
  await page.close();
});

test('scheduled from the page: its next times are shown; it is paused, resumed, deleted', async () => {
  const page = await web.open('/projects/WEB/runs/validation');
  await asked(page);
  await page.getByLabel('Schedule', { exact: true }).fill('0 25 * * *');
  await button(page, 'Schedule it').click();
  await page.getByText('"25" is no hour').waitFor();
  await page.getByLabel('Schedule', { exact: true }).fill('0 3 * * mon');
  await button(page, 'Schedule it').click();
  const schedules = region(page, 'Schedules');
  await schedules.getByText('0 3 * * 1').waitFor();
  await schedules.getByText('Next:').waitFor();
  expect(await schedules.locator('time').count()).toBe(3);
  await look(page, 'validation-list');
  expect(await axeFindings(page)).toEqual([]);
  await button(schedules, 'Pause').click();
  await schedules.getByText('Paused').waitFor();
  await button(schedules, 'Resume').click();
  await schedules.getByText('Next:').waitFor();
  await button(schedules, 'Delete schedule').click();
  await schedules.getByText('None. A new re-validation may be given one.').waitFor();
  await page.close();
});

test('no page did what it may not', () => {
  expect(web.problems).toEqual([]);
});
