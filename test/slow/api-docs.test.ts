// The API's own page in a real Chromium (spec: planner 10).

import { chromium, type Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.ts';
import { axeFindings } from '../support/page.ts';

let t: TestApi;
let browser: Browser;
beforeAll(async () => {
  t = await startTestApi();
  browser = await chromium.launch({
    executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking'],
  });
});
afterAll(async () => {
  await browser.close();
  await t.close();
});

for (const theme of ['light', 'dark'] as const) {
  for (const width of [1280, 375]) {
    test(`/api/docs, ${theme}, ${width} px wide: every route, all from this server, legible, none cut off`, async () => {
      const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: theme });
      const page = await context.newPage();
      const problems: string[] = [];
      page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
      page.on('pageerror', (error) => problems.push(String(error)));
      page.on('request', (request) => {
        const url = request.url();
        if (!url.startsWith(t.address) && !url.startsWith('data:')) problems.push(url);
      });
      await page.goto(`${t.address}/api/docs`);
      await page.waitForSelector('.opblock');
      const { paths } = (await (await fetch(`${t.address}/api/openapi.json`)).json()) as {
        paths: Record<string, object>;
      };
      const documented = Object.values(paths).reduce((sum, methods) => sum + Object.keys(methods).length, 0);
      expect(await page.locator('.opblock').count()).toBe(documented);
      await page.click('#operations-Items-post_projects_project_items .opblock-summary');
      await page.waitForSelector('.opblock-body .responses-table');
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
      // How Swagger UI nests and names its controls is its own.
      const findings = (await axeFindings(page)).filter((finding) => finding.startsWith('color-contrast'));
      expect(findings).toEqual([]);
      expect(problems).toEqual([]);
      await context.close();
    });
  }
}

test('a call from the page, with a token typed in, is answered', async () => {
  const page = await browser.newPage();
  await page.goto(`${t.address}/api/docs`);
  await page.click('.btn.authorize');
  await page.fill('.modal-ux input[type=text]', t.tokens.engineer);
  await page.click('.modal-ux .btn.authorize');
  await page.click('.modal-ux .btn-done');
  await page.click('#operations-Identity-get_me .opblock-summary');
  await page.click('.try-out__btn');
  await page.click('.btn.execute');
  await page.waitForSelector('.live-responses-table tbody .response-col_status');
  expect(await page.textContent('.live-responses-table tbody .response-col_status')).toContain('200');
});
