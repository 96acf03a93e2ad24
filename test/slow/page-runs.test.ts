// Bounded runs in a real Chromium, with the scripted CLI: from a packet to its plan, stop, resume, approval, artifacts.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Locator, Page } from 'playwright-core';
import { axeFindings, startTestPage, type TestPage } from '../support/page.ts';
import { packet } from '../support/bounded-attempt.ts';
import { person } from '../support/plan-page.ts';
import { until } from '../support/planner.ts';
import { startTestRuns, testMachine, type TestRuns } from '../support/runs.ts';

let runs: TestRuns;
let web: TestPage;

beforeAll(async () => {
  // The API of these tests stands on the repository's computer: it serves events.jsonl.
  process.env['PLANNER_MACHINE'] = testMachine;
  runs = await startTestRuns();
  await runs.startHost();
  web = await startTestPage(undefined, runs.planner);
});
afterAll(async () => {
  delete process.env['PLANNER_MACHINE'];
  await web?.close();
  const living = runs.living();
  await runs.close();
  expect(living).toEqual([]);
});

/** Its plan repeats the goal, and so takes the slow CLI some seconds. */
const longPacket = packet.replace('Add a health check.', `Add a health check.${' It answers at once.'.repeat(400)}`);

const button = (place: Page | Locator, name: string): Locator => place.getByRole('button', { name, exact: true });
const region = (page: Page, name: string): Locator => page.getByRole('region', { name, exact: true });
const heading = (page: Page): Locator => page.locator('.view-heading h1');
const packetField = (page: Page): Locator => page.getByRole('textbox', { name: 'Packet', exact: true });
const checked = (page: Page): Locator => page.locator('.packet-problems');

const openRun = async (id: string): Promise<Page> => {
  const page = await web.open(`/projects/WEB/runs/${id}`);
  await heading(page).filter({ hasText: /Run ./ }).waitFor();
  return page;
};
const newRun = async (): Promise<Page> => {
  const page = await web.open('/projects/WEB/runs/new');
  await packetField(page).waitFor();
  return page;
};
/** The name of the section that has the focus. */
const focused = (page: Page): Promise<string | null> =>
  page.evaluate(() => document.activeElement?.getAttribute('aria-label') ?? null);
const idIn = (page: Page): string => new URL(page.url()).pathname.split('/').at(-1)!;
const atARun = (page: Page): Promise<void> => page.waitForURL(/\/runs\/[0-9a-f]{8}-/);

/** A run whose CLI says the beginning of a plan, and then nothing more. */
const goesOn = async (run_id: string): Promise<string> => {
  runs.play('idle');
  const run = await runs.start({ run_id });
  await runs.seen(run, ({ phase }) => phase === 'writing');
  return run;
};
const stopped = async (run: string): Promise<void> => {
  await runs.cancel(run);
  await runs.ended(run);
};

describe('from a packet to a plan', () => {
  test('a packet that is typed is acceptable, its run is watched, its plan shown', async () => {
    runs.play('slow-success');
    const page = await newRun();
    await packetField(page).fill(longPacket);
    await checked(page).getByText('This packet is acceptable.').waitFor();
    await page.getByText(`${longPacket.length.toLocaleString('en-US')} of 24,000 characters`).waitFor();
    await button(page, 'Start the run').click();
    await atARun(page);
    await region(page, 'Visible text so far').getByText('Add a health check.').waitFor();
    await region(page, 'Outcome').getByText('Plan created').waitFor();
    await region(page, 'Plan').getByRole('heading', { name: 'Acceptance Checks' }).waitFor();
    const run = await runs.read(idIn(page));
    expect(run).toMatchObject({ status: 'succeeded', role: 'deep_reasoner', host: 'codex', repo: 'shop' });
    expect(run.packet).toBe(longPacket);
    expect(await region(page, 'Outcome').innerText()).toContain(run.output);
    expect(await page.evaluate(() => sessionStorage.getItem('planner.kept.run.WEB'))).toBeNull();
    await page.goBack();
    expect(await packetField(page).inputValue()).toBe('');
    await page.context().close();
  });

  test('phase, clocks and text are live; after a reload, or a lost connection, nothing is missing', async () => {
    const run = await goesOn('watched');
    const page = await openRun(run);
    const progress = region(page, 'Progress');
    await progress.getByText('writing').waitFor();
    const elapsed = (): Promise<string> => progress.locator('dd').first().innerText();
    const before = await elapsed();
    expect(before).toMatch(/^0:\d\d of 10:00$/);
    await until('the clock', async () => (await elapsed()) !== before, 5_000);
    const text = (): Promise<string> => region(page, 'Visible text so far').innerText();
    const shown = await text();
    expect(shown).toContain('Add a health check.');
    await page.reload();
    await region(page, 'Visible text so far').getByText('Add a health check.').waitFor();
    expect(await text()).toBe(shown);
    web.network.cut(true);
    await page.getByText('Reconnecting').waitFor();
    await stopped(run);
    expect(await region(page, 'Outcome').count()).toBe(0);
    web.network.up();
    await region(page, 'Outcome').getByText('Cancelled').waitFor();
    await page.context().close();
  });

  test('the list shows status, failure, role, host, repository, cost, and is narrowed by status', async () => {
    runs.play('auth');
    await runs.ended(await runs.start({ run_id: 'listed' }));
    const page = await web.open('/projects/WEB/runs');
    const row = page.getByRole('row').filter({ hasText: 'listed' });
    await row.waitFor();
    const words = await row.innerText();
    for (const part of ['Failed', 'authentication', 'shop', 'Codex, Deep reasoner', 'USD', 'just now']) {
      expect(words).toContain(part);
    }
    await page.getByRole('combobox', { name: 'Status' }).selectOption('Rejected');
    await row.waitFor({ state: 'hidden' });
    await page.getByRole('combobox', { name: 'Status' }).selectOption('Failed');
    await row.getByRole('link', { name: 'listed' }).click();
    await region(page, 'Outcome').getByText('authentication').waitFor();
    await page.context().close();
  });
});

describe('a packet with problems', () => {
  test('spec: bounded-claude 2: each is told with its line while one types; a click goes there', async () => {
    const page = await newRun();
    const token = `ghp_${'Zk3v9QmR7tYx2LpW8sNd'}${'4HbJ6cFgA1eUo5Ti'}`;
    const secret = packet.replace('No metrics.', `No metrics.\n\nUse ${token} for it.`);
    const bad = secret.replace('## Constraints', '## Constraint');
    await packetField(page).fill(bad);
    const told = checked(page);
    await told.getByText(/problems?$/).waitFor();
    expect(await told.innerText()).toMatch(/looks like a secret/);
    expect(await told.innerText()).toMatch(/Constraints/);
    expect(await told.innerText()).not.toContain(token);
    const line = bad.split('\n').findIndex((each) => each.includes(token)) + 1;
    await button(told, `Line ${line}`).click();
    const selected = await packetField(page).evaluate((area) => {
      const { value, selectionStart, selectionEnd } = area as HTMLTextAreaElement;
      return value.slice(selectionStart, selectionEnd);
    });
    expect(selected).toBe(`Use ${token} for it.`);
    await button(page, 'Start the run').click();
    const alert = page.getByRole('alert');
    await alert.getByText(`Packet, line ${line}:`).waitFor();
    expect(await alert.getByRole('listitem').count()).toBeGreaterThan(1);
    await packetField(page).fill(packet);
    await told.getByText('This packet is acceptable.').waitFor();
    await page.context().close();
  });

  test('the template shows what is missing; a draft outlives a reload', async () => {
    const page = await newRun();
    await button(page, 'Begin with the template').click();
    await checked(page).getByText('7 problems').waitFor();
    await page.getByRole('combobox', { name: 'Role' }).selectOption('Arbiter');
    const typed = await packetField(page).inputValue();
    await page.reload();
    await packetField(page).waitFor();
    expect(await packetField(page).inputValue()).toBe(typed);
    expect(await page.getByRole('combobox', { name: 'Role' }).inputValue()).toBe('arbiter');
    await page.context().close();
  });

  test('a packet over the limit says by how much, one over a lowered limit too', async () => {
    const page = await newRun();
    await packetField(page).fill(packet + 'x'.repeat(24_000));
    await checked(page).getByText('at most 24000 are allowed').waitFor();
    await packetField(page).fill(packet);
    await page.getByText('Limits, names, identity').click();
    await page.getByRole('spinbutton', { name: 'Packet, characters' }).fill('100');
    await checked(page).getByText('at most 100 are allowed').waitFor();
    await page.context().close();
  });

  test('what only the repository’s host knows rejects the run there, and its packet starts a new one', async () => {
    const run = await runs.start({ run_id: 'no-identity', role: 'fast_worker' });
    await runs.ended(run);
    const page = await openRun(run);
    await region(page, 'Outcome').getByText('No identity is configured for fast_worker').waitFor();
    expect(await region(page, 'Outcome').innerText()).toContain('Nothing was paid');
    expect(await button(page, 'Resume in the same session').count()).toBe(0);
    await button(page, 'New run with this packet').click();
    expect(await packetField(page).inputValue()).toBe(packet);
    await page.context().close();
  });
});

describe('stop and resume', () => {
  test('Stop in mid-run ends the CLI; what was said stays', async () => {
    const run = await goesOn('stop-me');
    const page = await openRun(run);
    await region(page, 'Visible text so far').getByText('Add a health check.').waitFor();
    await button(page, 'Stop').click();
    await region(page, 'Outcome').getByText('Cancelled').waitFor();
    expect(await focused(page)).toBe('Outcome');
    await region(page, 'What the last attempt said').getByText('Add a health check.').waitFor();
    expect((await runs.ended(run)).status).toBe('cancelled');
    await until('the end of the CLI', async () => runs.living().length === 0);
    await page.context().close();
  });

  test('a failed run is resumed in the same session: what it may cost is said first, both attempts shown', async () => {
    runs.play('auth', 'slow-success');
    const run = await runs.start({ run_id: 'again', packet: longPacket });
    const failed = await runs.ended(run);
    const page = await openRun(run);
    await region(page, 'Outcome').getByText('authentication').first().waitFor();
    await button(page, 'Resume in the same session').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('in the same session').waitFor();
    expect(await dialog.innerText()).toMatch(/of 2\.00 USD\. It may cost up to \d\.\d\d USD more/);
    await button(dialog, 'Resume').click();
    await region(page, 'Progress').waitFor();
    expect(await focused(page)).toBe('Progress');
    await region(page, 'Outcome').getByText('Plan created').waitFor();
    const [first, second] = (await runs.ended(run)).attempt_list;
    expect(second).toMatchObject({ session_id: first!.session_id, session_kind: 'resume', status: 'succeeded' });
    expect(failed.attempts).toBe(1);
    const attempts = region(page, 'Attempts').getByRole('listitem');
    await attempts.nth(1).waitFor();
    expect(await attempts.first().innerText()).toContain('authentication');
    expect(await attempts.nth(1).innerText()).toMatch(/Valid plan.*the same session resumed.*again\.r2/s);
    await page.context().close();
  });

  test('spec: bounded-claude 8: another role runs only once somebody says who approves it, and why', async () => {
    runs.play('auth', 'success');
    const run = await runs.start({ run_id: 'other-role' });
    await runs.ended(run);
    const page = await openRun(run);
    await button(page, 'Approve another role').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('combobox', { name: 'Role' }).selectOption('Arbiter');
    expect(await button(dialog, 'Approve and resume').isDisabled()).toBe(true);
    await dialog.getByRole('textbox').fill('ada, it needs a second opinion');
    await button(dialog, 'Approve and resume').click();
    await region(page, 'Outcome').getByText('Plan created').waitFor();
    await region(page, 'Attempts').getByText('ada, it needs a second opinion').waitFor();
    expect((await runs.ended(run)).attempt_list.map(({ role }) => role)).toEqual(['deep_reasoner', 'arbiter']);
    await page.context().close();
  });

  test('who may only watch is offered neither start, nor stop, nor resume', async () => {
    const { token } = await person(web, 'vera', 'viewer');
    const run = await goesOn('watch-only');
    const page = await web.open(`/projects/WEB/runs/${run}`, { token });
    await region(page, 'Progress').getByText('writing').waitFor();
    expect(await button(page, 'Stop').count()).toBe(0);
    await stopped(run);
    await region(page, 'Outcome').waitFor();
    expect(await region(page, 'Outcome').getByRole('button').count()).toBe(0);
    await page.getByRole('link', { name: 'All runs' }).click();
    await page.getByRole('table').waitFor();
    expect(await page.getByRole('link', { name: 'New run' }).count()).toBe(0);
    await page.context().close();
  });
});

test('spec: bounded-claude 7: artifacts open one by one: metadata, recovery, checkpoint, events', async () => {
  runs.play('malformed-plan');
  const run = await runs.start({ run_id: 'artifacts', resume_attempts: 0 });
  await runs.ended(run);
  const page = await openRun(run);
  const artifacts = region(page, 'Artifacts');
  const open = (name: string): Promise<void> => artifacts.locator('summary', { hasText: name }).click();
  await open('metadata.json');
  await artifacts.getByRole('row', { name: 'failure kind protocol_error' }).waitFor();
  await open('recovery.md');
  await artifacts.getByText('--resume artifacts').first().waitFor();
  await open('checkpoint.md');
  await artifacts.getByText('Here\'s the plan:').waitFor();
  await open('events.jsonl');
  await artifacts.getByRole('list', { name: 'Events' }).getByText('system init').waitFor();
  await page.context().close();
});

test('hostile text of a plan runs nothing and leads nowhere', async () => {
  runs.play('success');
  const hostile = [
    '<img src=x onerror="window.hit = 1"><script>window.hit = 2</script>',
    '[go](javascript:window.hit=3) ![see](data:image/svg+xml,<svg/onload=window.hit=4>)',
  ].join(' ');
  const run = await runs.start({ run_id: 'hostile', packet: packet.replace('Add a health check.', hostile) });
  await runs.ended(run);
  const page = await openRun(run);
  const plan = region(page, 'Plan');
  await plan.getByText('onerror').waitFor();
  expect(await plan.locator('script, img, svg, a').count()).toBe(0);
  expect(await page.evaluate(() => 'hit' in window)).toBe(false);
  await page.context().close();
});

describe('every view, wide and narrow, light and dark', () => {
  const ids: Record<string, string> = {};
  beforeAll(async () => {
    runs.play('auth', 'success', 'malformed-plan');
    ids['resumed'] = await runs.start({ run_id: 'shown-resumed' });
    await runs.ended(ids['resumed']);
    await runs.resume(ids['resumed']);
    await runs.seen(ids['resumed'], ({ status }) => status === 'succeeded');
    ids['failed'] = await runs.start({ run_id: 'shown-failed', resume_attempts: 0 });
    await runs.ended(ids['failed']);
    ids['rejected'] = await runs.start({ run_id: 'shown-rejected', role: 'fast_worker' });
    await runs.ended(ids['rejected']);
    ids['running'] = await goesOn('shown-running');
  });
  afterAll(() => stopped(ids['running']!));

  interface Shown {
    path: () => string;
    /** There once the view is. */
    part: string;
    act?(page: Page): Promise<void>;
  }
  const run = (name: string) => (): string => `/projects/WEB/runs/${ids[name]}`;
  const views: Shown[] = [
    { path: () => '/projects/WEB/runs', part: 'table' },
    {
      path: () => '/projects/WEB/runs/new',
      part: '.packet-editor',
      async act(page) {
        await button(page, 'Begin with the template').click();
        await page.getByText('Limits, names, identity').click();
        await checked(page).getByText('7 problems').waitFor();
      },
    },
    { path: run('running'), part: '.run-clocks' },
    { path: run('resumed'), part: '.run-succeeded' },
    { path: run('rejected'), part: '.run-rejected' },
    {
      path: run('failed'),
      part: '.run-failed',
      async act(page) {
        for (const name of ['metadata.json', 'events.jsonl']) await page.locator('summary', { hasText: name }).click();
        await page.locator('.metadata').waitFor();
        await page.locator('.event-rows').waitFor();
      },
    },
    {
      path: run('failed'),
      part: '.run-failed',
      async act(page) {
        await button(page, 'Approve another role').click();
        await page.getByRole('dialog').waitFor();
      },
    },
  ];
  const looks = [
    { width: 1280, theme: 'light' },
    { width: 1280, theme: 'dark' },
    { width: 375, theme: 'light' },
    { width: 320, theme: 'dark' },
  ] as const;

  test.each(looks)('axe finds nothing serious at $width px, $theme; nothing is wider than the page', async (look) => {
    for (const { path, part, act } of views) {
      const page = await web.open(path(), look);
      await page.locator(part).first().waitFor();
      await act?.(page);
      expect(await axeFindings(page), path()).toEqual([]);
      expect(await tooWide(page), path()).toEqual([]);
      await page.context().close();
    }
  });
});

/** Elements that something in them sticks out of, to the right. */
const tooWide = (page: Page): Promise<string[]> =>
  page.evaluate(() =>
    [...document.querySelectorAll('html, main, nav, nav a, .card, .dialog')]
      .filter((box) => box.scrollWidth > box.clientWidth)
      .map((box) => `${box.tagName} ${box.className}: ${box.textContent?.slice(0, 40)}`),
  );

test('no view said anything in the console, nor broke the page’s policy', () => {
  expect(web.problems).toEqual([]);
});
