// The plan in a real Chromium: review and its choice, stale operations, board, tree, items, conflicts, accessibility.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Locator, Page } from 'playwright-core';
import type { Changeset, Rest } from '../../client/index.ts';
import { axeFindings, startTestPage, type TestPage } from '../support/page.ts';
import { makePlan, person, propose, type SmallPlan } from '../support/plan-page.ts';
import { until } from '../support/planner.ts';

let web: TestPage;
let plan: SmallPlan;
let bob: Rest;
let viewer: string;

beforeAll(async () => {
  web = await startTestPage();
  plan = await makePlan(web.rest);
  ({ rest: bob } = await person(web, 'bob', 'engineer'));
  ({ token: viewer } = await person(web, 'vera', 'viewer'));
});
afterAll(() => web?.close());

const operation = (page: Page, number: number): Locator =>
  page.getByRole('checkbox', { name: new RegExp(`^Operation ${number}:`) });
const card = (page: Page, number: number): Locator => page.locator(`#operation-${number}`);
const decision = (page: Page): Locator => page.getByRole('region', { name: 'Decision' });
const button = (place: Page | Locator, name: string): Locator => place.getByRole('button', { name, exact: true });

const openChangeset = async ({ id }: Changeset): Promise<Page> => {
  const page = await web.open(`/projects/WEB/changesets/${id}`);
  await decision(page).or(page.getByText('Rejected:')).first().waitFor();
  return page;
};
const openItem = async (key: string): Promise<Page> => {
  const page = await web.open(`/projects/WEB/items/${key}`);
  await button(page, 'Edit').waitFor();
  return page;
};
const shown = (place: Locator): Promise<void> => place.first().waitFor();
const focused = (page: Page): Promise<string> =>
  page.evaluate(() => document.activeElement?.textContent ?? document.activeElement?.tagName ?? '');

describe('review (spec: planner 2)', () => {
  test('each operation is shown: what is created, what changes from what to what, what blocks what', async () => {
    const page = await openChangeset(await propose(web.rest, plan));
    await shown(card(page, 1).getByText('New epic'));
    expect(await card(page, 2).innerText()).toMatch(/\$vouchers Vouchers \(operation 1\)/);
    expect(await card(page, 4).innerText()).toMatch(/\$redeem Redeem a voucher .*blocks \$sell Sell vouchers/s);
    const change = card(page, 5);
    await shown(change.locator('del'));
    expect(await change.locator('del').innerText()).toContain('Show delivery costs in the basket');
    expect(await change.locator('ins').innerText()).toContain('Show delivery costs and vouchers in the basket');
    expect(await change.locator('.line-removed').allInnerTexts()).toEqual([
      expect.stringContaining('show them in the basket'),
      expect.stringContaining('They follow a change of the country.'),
    ]);
    expect(await change.locator('.line-added').allInnerTexts()).toEqual([
      expect.stringContaining('show them and the vouchers in the basket'),
      expect.stringContaining('Vouchers lower the total.'),
    ]);
    await page.context().close();
  });

  test('unchecking a create unchecks what uses it and says why; part of it is applied, with links', async () => {
    const proposed = await propose(web.rest, plan);
    const page = await openChangeset(proposed);
    await operation(page, 2).uncheck();
    expect(await operation(page, 4).isChecked()).toBe(false);
    await shown(card(page, 2).getByText('Unchecked as well: operation 4, because it needs $redeem'));
    await operation(page, 4).check();
    expect(await operation(page, 2).isChecked()).toBe(true);
    await shown(card(page, 4).getByText('Checked as well: operation 2'));
    await operation(page, 1).uncheck();
    for (const number of [2, 3, 4]) expect(await operation(page, number).isChecked()).toBe(false);
    expect(await operation(page, 5).isChecked()).toBe(true);
    await operation(page, 3).check();
    await operation(page, 5).uncheck();
    await button(page, 'Apply 2').click();

    await shown(page.getByText('2 of 5 operations applied'));
    expect(await focused(page)).toContain('2 of 5 operations applied');
    const { approved, results } = await web.rest.changeset(proposed.id);
    expect(approved).toEqual([0, 2]);
    await card(page, 3).getByRole('link', { name: results![2]!.key! }).first().click();
    await shown(page.getByRole('heading', { name: /Sell vouchers/ }));
    expect(new URL(page.url()).pathname).toBe(`/projects/WEB/items/${results![2]!.key}`);
    await page.context().close();
  });

  test('a stale operation is explained; it is applied only when that is accepted', async () => {
    const { key } = plan.tickets[0];
    const proposed = await propose(web.rest, plan);
    const page = await openChangeset(proposed);
    const { version } = await bob.item(key);
    await bob.updateItem(key, { version, description: 'Bob has other plans.' });
    await shown(card(page, 5).getByText(`${key} has changed since this was proposed.`));
    await shown(card(page, 5).getByText('Description changed, by bob'));
    expect(await button(page, 'Apply all').isDisabled()).toBe(true);
    const accept = page.getByLabel('Apply operation 5 over what has changed since the proposal');
    await accept.check();
    expect(await button(page, 'Apply all').isDisabled()).toBe(false);
    await bob.transition(key, { state: 'ready' });
    await shown(card(page, 5).getByText('Moved from Backlog to Ready, by bob'));
    await until('another acceptance to be due', async () => !(await accept.isChecked()));
    expect(await button(page, 'Apply all').isDisabled()).toBe(true);
    await accept.check();
    await button(page, 'Apply all').click();
    await shown(page.getByText('5 of 5 operations applied'));
    expect((await bob.item(key)).title).toBe('Show delivery costs and vouchers in the basket');
    await page.context().close();
  });

  test('reject asks first, and can be called off; what another decides meanwhile shows', async () => {
    const proposed = await propose(web.rest, plan);
    const page = await openChangeset(proposed);
    await button(page, 'Reject').click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Cancel' }).click();
    expect((await web.rest.changeset(proposed.id)).status).toBe('proposed');
    await button(page, 'Reject').click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Reject' }).click();
    await shown(page.getByText('Rejected: the plan was not changed'));
    expect((await web.rest.changeset(proposed.id)).status).toBe('rejected');

    const other = await propose(web.rest, plan);
    await page.goto(`${web.address}/projects/WEB/changesets/${other.id}`);
    await decision(page).waitFor();
    await bob.rejectChangeset(other.id);
    await shown(page.getByText('by bob'));
    await page.context().close();
  });

  test('an apply that the API refuses says why, in its words, and the choice stays', async () => {
    const proposed = await propose(web.rest, plan);
    const page = await openChangeset(proposed);
    await operation(page, 5).uncheck();
    const answer = { error: 'conflict', message: 'Nothing was applied. operation 2: the words of the API' };
    await page.route('**/apply', (route) => route.fulfill({ status: 409, json: answer }));
    await button(page, 'Apply 4').click();
    await shown(page.getByRole('alert').getByText('operation 2: the words of the API'));
    expect(await operation(page, 5).isChecked()).toBe(false);
    await operation(page, 5).check();
    expect(await page.getByRole('alert').count()).toBe(0);
    await operation(page, 5).uncheck();
    await page.unroute('**/apply');
    await button(page, 'Apply 4').click();
    await shown(page.getByText('4 of 5 operations applied'));
    await page.context().close();
  });

  test('who may not decide sees the changeset, and no checkbox', async () => {
    const proposed = await propose(web.rest, plan);
    const page = await web.open(`/projects/WEB/changesets/${proposed.id}`, { token: viewer });
    await shown(page.getByText('one needs the role engineer or approver'));
    expect(await page.getByRole('checkbox').count()).toBe(0);
    await page.context().close();
  });

  test('the list filters by status and shows a new proposal at once', async () => {
    const page = await web.open('/projects/WEB/changesets');
    await page.getByLabel('Status').selectOption('rejected');
    await shown(page.getByText('5 operations'));
    const only = (status: string): Promise<true> =>
      until(`only ${status} ones`, async () => {
        const rows = await page.locator('.changeset-row').allInnerTexts();
        return rows.length > 0 && rows.every((row) => row.includes(status)) && true;
      });
    await only('Rejected');
    await page.getByLabel('Status').selectOption('proposed');
    await only('Proposed');
    await web.rest.proposeChangeset('WEB', {
      title: 'Just now',
      operations: [{ kind: 'create_item', ref: 'x', create: { kind: 'epic', title: 'X' } }],
    });
    await shown(page.getByRole('link', { name: 'Just now' }));
    await page.context().close();
  });
});

describe('board and tree', () => {
  test('a ticket is moved by the keyboard through the moves that the API allows, and keeps the focus', async () => {
    const ticket = await web.rest.createItem('WEB', { kind: 'ticket', title: 'Move me' });
    const page = await web.open('/projects/WEB/board');
    const trigger = button(page, `Move ${ticket.key} from Backlog`);
    await trigger.focus();
    await page.keyboard.press('Enter');
    await page.getByRole('menu').waitFor();
    expect(await page.getByRole('menuitem').allInnerTexts()).toEqual(['Ready', 'Cancelled', 'Done']);
    await page.keyboard.press('Enter');
    await shown(page.getByRole('region', { name: /^Ready/ }).getByText('Move me'));
    expect((await web.rest.item(ticket.key)).state).toBe('ready');
    await until('the focus', () =>
      page.evaluate((key) => document.activeElement?.getAttribute('data-move') === key, ticket.key),
    );
    await page.context().close();
  });

  test('a ticket is dragged to a column that it may enter, and to no other', async () => {
    const ticket = await web.rest.createItem('WEB', { kind: 'ticket', title: 'Drag me' });
    const page = await web.open('/projects/WEB/board');
    const place = page.locator('.ticket', { hasText: 'Drag me' });
    await place.dragTo(page.getByRole('region', { name: /^Paused/ }));
    await place.dragTo(page.getByRole('region', { name: /^Ready/ }));
    await shown(page.getByRole('region', { name: /^Ready/ }).getByText('Drag me'));
    expect(await web.rest.item(ticket.key)).toMatchObject({ state: 'ready', version: 2 });
    await page.context().close();
  });

  test('what others do shows at once; a blocked ticket says so', async () => {
    const page = await web.open('/projects/WEB/board');
    const ready = page.getByRole('region', { name: /^Ready/ });
    await shown(ready.locator('.ticket', { hasText: 'Pay with one click' }).getByText('Blocked'));
    const made = await bob.createItem('WEB', { kind: 'ticket', title: 'From bob' });
    await shown(page.getByRole('region', { name: /^Backlog/ }).getByText('From bob'));
    await bob.transition(made.key, { state: 'ready' });
    await shown(ready.getByText('From bob'));
    await page.context().close();
  });

  test('the tree shows tickets in epics in milestones; a branch is closed and opened', async () => {
    const page = await web.open('/projects/WEB/tree');
    const milestone = page.getByRole('region', { name: 'Milestones' });
    await shown(milestone.locator('.tree .tree .tree').getByText('Pay with one click'));
    await button(page, `Collapse ${plan.epic.key}`).click();
    expect(await milestone.getByText('Pay with one click').count()).toBe(0);
    await button(page, `Expand ${plan.epic.key}`).click();
    await shown(milestone.getByText('Pay with one click'));
    await page.getByLabel('Open ones only').check();
    expect(await page.getByText('Compare mail providers').count()).toBe(0);
    await page.getByLabel('Filter by key and title').fill('one click');
    expect(await page.locator('.tree-row').count()).toBe(3);
    await page.context().close();
  });
});

describe('items', () => {
  test('a new ticket: what is typed is kept when the dialog closes, then it is created', async () => {
    const page = await web.open('/projects/WEB/board');
    await button(page, 'New item').click();
    const dialog = page.getByRole('dialog', { name: 'New item' });
    await dialog.getByLabel('Title').fill('Made on the page');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
    await button(page, 'New item').click();
    expect(await dialog.getByLabel('Title').inputValue()).toBe('Made on the page');
    await button(dialog, 'Add a criterion').click();
    await dialog.getByRole('textbox', { name: 'Criterion 1' }).fill('It is there.');
    await dialog.getByLabel('Epic').selectOption(plan.epic.key);
    await dialog.getByLabel('Review').selectOption('Agent and human');
    await button(dialog, 'Create').click();
    await shown(page.getByRole('heading', { name: /Made on the page/ }));
    const key = new URL(page.url()).pathname.split('/').at(-1)!;
    expect(await web.rest.item(key)).toMatchObject({
      kind: 'ticket',
      epic: plan.epic.key,
      acceptance_criteria: ['It is there.'],
      policy: { review_mode: 'agent+human', merge_mode: 'auto' },
    });
    await page.context().close();
  });

  test('what the API refuses is shown in its words, and what was typed stays, over a reload too', async () => {
    const { key } = await web.rest.createItem('WEB', { kind: 'ticket', title: 'To refuse' });
    const page = await openItem(key);
    await button(page, 'Edit').click();
    await page.getByLabel('Title').fill('x'.repeat(301));
    await button(page, 'Save').click();
    await shown(page.getByText('has 301 characters; at most 300 are allowed'));
    await page.reload();
    expect(await page.getByLabel('Title').inputValue()).toBe('x'.repeat(301));
    await page.getByLabel('Title').fill('Accepted');
    await button(page, 'Save').click();
    await shown(page.getByRole('heading', { name: /Accepted/ }));
    expect((await web.rest.item(key)).title).toBe('Accepted');
    await page.context().close();
  });

  test('a version conflict shows what the other changed; mine is saved over it, theirs elsewhere is kept', async () => {
    const { key } = await web.rest.createItem('WEB', { kind: 'ticket', title: 'Both', description: 'Old.' });
    const page = await openItem(key);
    await button(page, 'Edit').click();
    await page.getByLabel('Title').fill('Mine');
    // The newer version is not seen before the save: its event finds no answer.
    const gate = Promise.withResolvers<void>();
    await page.route(`**/api/v1/items/${key}`, async (route) => {
      if (route.request().method() === 'GET') await gate.promise;
      await route.continue();
    });
    await bob.updateItem(key, { version: 1, title: 'Theirs', description: 'New.' });
    const refused = page.waitForResponse((response) => response.request().method() === 'PATCH');
    await button(page, 'Save').click();
    expect((await refused).status()).toBe(409);
    gate.resolve();
    await shown(page.getByText(`${key} was changed by bob while you edited it.`));
    const notice = page.getByRole('status').filter({ hasText: 'was changed by bob' });
    expect(await notice.innerText()).toMatch(/You have changed the same: Title\./);
    expect(await notice.locator('ins').innerText()).toContain('Theirs');
    expect(await page.getByLabel('Title').inputValue()).toBe('Mine');
    expect(await button(page, 'Save').isDisabled()).toBe(true);
    await button(page, 'Keep my text').click();
    expect(await page.getByLabel('Description').inputValue()).toBe('New.');
    await button(page, 'Save').click();
    await shown(page.getByRole('heading', { name: /Mine/ }));
    expect(await web.rest.item(key)).toMatchObject({ title: 'Mine', description: 'New.', version: 3 });
    await page.context().close();
  });

  test('dependencies are added and removed; a cycle is refused in the API’s words', async () => {
    const [a, b] = await Promise.all(
      ['First', 'Second'].map((title) => web.rest.createItem('WEB', { kind: 'ticket', title })),
    );
    const page = await openItem(a!.key);
    const part = page.getByRole('region', { name: 'Dependencies' });
    const form = part.getByRole('form', { name: 'New dependency' });
    const add = async (side: string, key: string): Promise<void> => {
      await form.getByLabel('This item').selectOption(side);
      await form.getByLabel('Item', { exact: true }).fill(key);
      await button(form, 'Add').click();
    };
    await add('is blocked by', b!.key.toLowerCase());
    await shown(part.getByRole('heading', { name: 'Is blocked by' }));
    expect((await web.rest.item(a!.key)).dependencies.blocked_by).toMatchObject([{ key: b!.key }]);
    await add('blocks', b!.key);
    await shown(part.getByText('would close a cycle'));
    await button(part, `Remove: is blocked by ${b!.key}`).click();
    await shown(part.getByText('It depends on no other item.'));
    await shown(page.getByText(`Dependency removed: is blocked by ${b!.key}`));
    await page.context().close();
  });

  test('hostile Markdown in an item and a changeset does nothing', async () => {
    const hostile = [
      '<script>globalThis.hurt = 1</script>',
      '<img src=x onerror="globalThis.hurt = 2">',
      '[click](javascript:globalThis.hurt=3) ![pixel](https://example.org/p.png) ![d](data:image/png;base64,AAAA)',
      '<a href="javascript:globalThis.hurt=4">html</a> <style>body { display: none }</style>',
    ].join('\n\n');
    const item = await web.rest.createItem('WEB', {
      kind: 'ticket',
      title: '<b onmouseover="globalThis.hurt=5">bold</b>',
      description: hostile,
      acceptance_criteria: [hostile],
    });
    const changeset = await web.rest.proposeChangeset('WEB', {
      title: '<img src=x onerror=alert(1)>',
      summary: hostile,
      operations: [
        {
          kind: 'create_item',
          ref: 'x',
          create: { kind: 'ticket', title: hostile.replaceAll('\n', ' ').slice(0, 290), description: hostile },
        },
      ],
    });
    const page = await web.open(`/projects/WEB/items/${item.key}`);
    for (const path of [`items/${item.key}`, `changesets/${changeset.id}`]) {
      await page.goto(`${web.address}/projects/WEB/${path}`);
      await shown(page.locator('.markdown').getByText('click'));
      expect(await page.locator('main :is(img, script, style, [onerror], a[href^="javascript"])').count()).toBe(0);
      await page.locator('.markdown').getByText('click').first().click();
      expect(await page.evaluate(() => 'hurt' in globalThis)).toBe(false);
    }
    await web.rest.rejectChangeset(changeset.id);
    await page.context().close();
  });
});

describe('for everyone', () => {
  const looks = [
    { width: 1280, theme: 'light' },
    { width: 1280, theme: 'dark' },
    { width: 375, theme: 'light' },
    { width: 375, theme: 'dark' },
  ] as const;

  test.each(looks)('axe finds nothing serious, nothing is wider than the view: $width, $theme', async (look) => {
    const proposed = await propose(web.rest, plan);
    const rejected = await propose(web.rest, plan);
    await web.rest.rejectChangeset(rejected.id);
    const page = await web.open('/projects/WEB/board', look);
    const check = async (name: string): Promise<void> => {
      expect([name, await axeFindings(page)]).toEqual([name, []]);
      const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      const within = await page.locator('main').evaluate((main) => main.scrollWidth - main.clientWidth);
      expect([name, over <= 0, within <= 0]).toEqual([name, true, true]);
    };
    const go = (path: string): Promise<unknown> => page.goto(`${web.address}/projects/WEB/${path}`);
    await shown(page.locator('.ticket'));
    await check('board');
    await page.locator('[data-move]').first().click();
    await check('move menu');
    await page.keyboard.press('Escape');
    await button(page, 'New item').click();
    await check('new item');
    await go('tree');
    await shown(page.locator('.tree-row'));
    await check('tree');
    await go('changesets');
    await shown(page.locator('.changeset-row'));
    await check('changesets');
    await go(`changesets/${proposed.id}`);
    await operation(page, 2).uncheck();
    await check('review');
    await button(page, 'Reject').click();
    await check('rejecting');
    await go(`changesets/${rejected.id}`);
    await shown(page.getByText('Rejected:'));
    await check('rejected');
    await go(`items/${plan.tickets[0].key}`);
    await shown(page.getByRole('region', { name: 'History' }).getByText('Created'));
    await check('item');
    await button(page, 'Edit').click();
    await check('edit');
    await go('items/WEB-999');
    await shown(page.getByRole('alert'));
    await check('no such item');
    await web.rest.rejectChangeset(proposed.id);
    await page.context().close();
  });

  test('an empty project says what to do', async () => {
    const page = await web.open('/projects/WEB/board');
    await page.route('**/api/v1/projects/WEB/items*', (route) => route.fulfill({ json: { items: [] } }));
    await page.route('**/api/v1/projects/WEB/changesets*', (route) => route.fulfill({ json: { items: [] } }));
    const empty = { board: 'No ticket yet', tree: 'No item yet', changesets: 'No changeset yet' };
    for (const [view, name] of Object.entries(empty)) {
      await page.goto(`${web.address}/projects/WEB/${view}`);
      await shown(page.getByRole('heading', { name }));
      await shown(page.locator('.empty').getByRole('link', { name: 'chat' }));
    }
    await page.context().close();
  });

  test('in all of this the console told of no error and no violation of the page’s policy', () => {
    expect(web.problems).toEqual([]);
  });
});
