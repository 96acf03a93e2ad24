// Skills, knowledge, search, usage and settings in a real Chromium; the summary and the context of a conversation.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Locator, Page } from 'playwright-core';
import { createRest, type Rest } from '../../client/index.ts';
import { systemActor } from '../../domain/actor.ts';
import type { Embedder } from '../../models/embeddings/index.ts';
import { transaction } from '../../store/database.ts';
import { bindRole } from '../../store/role-bindings.ts';
import { keyring, newSecretKey } from '../../store/sealing.ts';
import { createSubject, createToken } from '../../store/tokens.ts';
import { inHours } from '../support/api.ts';
import { asksForSummary } from '../support/long-session.ts';
import { axeFindings, startTestPage, type TestPage } from '../support/page.ts';
import { makePlan, person, type SmallPlan } from '../support/plan-page.ts';
import { startTestPlanner, until, type TestPlanner } from '../support/planner.ts';
import { indexAll, localEmbedder } from '../support/search.ts';
import { fails, type Reply } from '../support/scripted-model.ts';

let planner: TestPlanner;
let web: TestPage;
let plan: SmallPlan;
let embedder: Embedder;
/** No query is embedded meanwhile. */
let away = false;
let olga: { token: string; rest: Rest };
let viewer: string;

const models = new Map([['scripted', { window: 200_000, prices: { input: 2, output: 10 } }]]);

beforeAll(async () => {
  planner = await startTestPlanner();
  await planner.startWorker({ compactAtTokens: 20_000, gateway: { models } });
  embedder = localEmbedder();
  web = await startTestPage(undefined, planner, {
    gateway: {
      models,
      installation: { model: 'scripted', skill: 'planner', daily_tokens: 0 },
      keys: keyring([newSecretKey()]),
      compactAtTokens: 20_000,
    },
    embedder: { ...embedder, query: (text) => (away ? Promise.reject(new Error('away')) : embedder.query(text)) },
  });
  plan = await makePlan(web.rest);
  olga = await administrator('olga');
  ({ token: viewer } = await person(web, 'vera', 'viewer'));
});
afterAll(async () => {
  await web?.close();
  await embedder?.close();
  await planner?.close();
});

async function administrator(subject: string): Promise<{ token: string; rest: Rest }> {
  const { token } = await transaction(planner.database, async (tx) => {
    await createSubject(tx, { subject, kind: 'human', name: subject });
    const [organization] = await tx.query<{ id: string }>(`SELECT id FROM organizations WHERE key = 'acme'`);
    await bindRole(tx, systemActor, { subject, role: 'organization-admin', organization_id: organization!.id });
    return createToken(tx, { subject, expires_at: inHours(1) });
  });
  return { token, rest: createRest({ address: web.address, token }) };
}

const button = (place: Page | Locator, name: string | RegExp): Locator =>
  place.getByRole('button', typeof name === 'string' ? { name, exact: true } : { name });
const region = (page: Page, name: string): Locator => page.getByRole('region', { name, exact: true });
const shown = (place: Locator): Promise<void> => place.first().waitFor();
const heading = (page: Page, name: string): Locator => page.getByRole('heading', { level: 1, name, exact: true });
const asOlga = (path: string): Promise<Page> => web.open(path, { token: olga.token });

let made = 0;
/** A skill of WEB with that many versions, and a draft that is as the last one. */
async function skill(versions: number, name = `skill-${++made}`): Promise<{ id: string; name: string }> {
  const { id, draft } = await olga.rest.createSkill({
    ...{ scope: 'project', project: 'WEB', name },
    ...{ description: 'When tickets are written.', body: 'Body 1.' },
  });
  let { version } = draft;
  for (let each = 1; each <= versions; each++) {
    if (each > 1) ({ version } = (await olga.rest.updateSkill(id, { version, body: `Body ${each}.` })).draft);
    await olga.rest.publishSkill(id, { version });
  }
  return { id, name };
}

describe('skills (spec: planner 3)', () => {
  test('one is written, looked at, published, and then used by the project', async () => {
    const page = await asOlga('/projects/WEB/skills');
    await page.getByRole('link', { name: 'New skill' }).click();
    await page.getByLabel('Name').fill('ticket-style');
    await page.getByLabel('Description').fill('When tickets are written.');
    await page.getByLabel('SKILL.md').fill('# Tickets\n\nEach says **who** needs it.');
    await button(page, 'Preview').click();
    await shown(region(page, 'SKILL.md, preview').locator('strong', { hasText: 'who' }));
    await button(page, 'Add a file').click();
    await page.getByLabel('Path of file 1').fill('templates/epic.md');
    await page.getByLabel('Content of file 1').fill('# Epic');
    await button(page, 'Create the draft').click();
    await shown(page.getByText('no project uses it before it is published'));
    await shown(region(page, 'Further files').getByText('templates/epic.md'));
    expect((await olga.rest.projectSkills('WEB')).items).toEqual([]);
    await button(page, 'Publish version 1').click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Publish' }).click();
    await shown(page.getByText('Published version 1 of ticket-style.'));
    await page.getByRole('link', { name: 'All skills' }).click();
    const used = region(page, 'Used in WEB').getByRole('listitem');
    await shown(used.filter({ hasText: /ticket-style.*Project.*version 1/s }));
    expect((await olga.rest.projectSkills('WEB')).items).toMatchObject([{ name: 'ticket-style', version: 1 }]);
    await page.context().close();
  });

  test('a version that never was is told as a problem; the skill is pinned, disabled, and unpinned', async () => {
    const { name } = await skill(2);
    await olga.rest.pinSkill('WEB', name, { version: 9 });
    const page = await asOlga('/projects/WEB/skills');
    const used = region(page, 'Used in WEB').getByRole('listitem').filter({ hasText: name });
    await shown(used.getByText('Version 9 is pinned, but the newest is 2.'));
    const choose = async (option: string, place: Locator): Promise<void> => {
      await button(place, `Version … of ${name}`).click();
      await page.getByRole('dialog').getByRole('combobox').selectOption(option);
      await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    };
    await choose('Version 1', used);
    await shown(used.getByText('Pinned to version 1'));
    await choose('None: disabled in this project', used);
    const unused = region(page, 'Not used here').getByRole('listitem').filter({ hasText: name });
    await shown(unused.getByText('Disabled here'));
    await choose('The newest version', unused);
    await shown(used.getByText('version 2'));
    expect((await olga.rest.skillPins('WEB')).items).toEqual([]);
    await page.context().close();
  });

  test('a draft that another changed meanwhile keeps what was typed, and what another wrote can be taken', async () => {
    const { id } = await skill(1);
    const page = await asOlga(`/projects/WEB/skills/${id}`);
    await button(page, 'Edit the draft').click();
    await page.getByLabel('SKILL.md').fill('My body.');
    await olga.rest.updateSkill(id, { version: 1, body: 'Their body.', description: 'Their description.' });
    await shown(page.getByText('The draft was changed while you edited it.'));
    await shown(page.getByText('You have changed the same: SKILL.md. Nothing of yours is lost.'));
    expect(await button(page, 'Save the draft').isDisabled()).toBe(true);
    await page.reload();
    expect(await page.getByLabel('SKILL.md').inputValue()).toBe('My body.');
    await button(page, 'Keep my text').click();
    await button(page, 'Save the draft').click();
    await shown(page.getByText('The draft has changes that version 1 has not.'));
    expect((await olga.rest.skill(id)).draft).toMatchObject({ body: 'My body.', description: 'Their description.' });
    await button(page, 'Show the changes').click();
    await shown(page.locator('.line-added').getByText('My body.'));
    await page.context().close();
  });

  test('who may only read sees versions and what each changed, and nothing to press', async () => {
    const { id } = await skill(3);
    const page = await web.open(`/projects/WEB/skills/${id}`, { token: viewer });
    await shown(region(page, 'SKILL.md').getByText('Body 3.'));
    await page.getByLabel('Version shown').selectOption('Version 1');
    await shown(region(page, 'SKILL.md').getByText('Body 1.'));
    await region(page, 'Versions').getByText('Version 2').click();
    await shown(region(page, 'Versions').locator('.line-removed').getByText('Body 1.'));
    await shown(region(page, 'Versions').locator('.line-added').getByText('Body 2.'));
    expect(await button(page, /draft|Publish|^Version …/).count()).toBe(0);
    await page.goto(`${web.address}/projects/WEB/skills`);
    await shown(region(page, 'Used in WEB'));
    expect(await page.getByRole('link', { name: 'New skill' }).count()).toBe(0);
    await page.context().close();
  });
});

describe('knowledge (spec: planner 4)', () => {
  const write = (title: string, more: object = {}) =>
    web.rest.createKnowledge('acme', { kind: 'note', title, body: 'As it was said.', ...more });

  test('an engineer of a project writes an entry; its projects and items are links', async () => {
    const page = await web.open('/projects/WEB/knowledge');
    await shown(page.getByText('acme has written down nothing yet'));
    await page.getByRole('link', { name: 'New entry' }).first().click();
    await page.getByLabel('Title').fill('Sessions stay in PostgreSQL');
    await page.getByLabel('Kind').selectOption('Decision');
    await page.getByLabel('Text', { exact: true }).fill('It is **one store less** to run.');
    const [ticket] = plan.tickets;
    await page.getByLabel('Items').fill(`${ticket.key.toLowerCase()}, WEB-999`);
    await button(page, 'Create').click();
    await shown(page.getByRole('alert').getByText('WEB-999'));
    await page.getByLabel('Items').fill(ticket.key.toLowerCase());
    await button(page, 'Create').click();
    await shown(page.locator('.markdown strong', { hasText: 'one store less' }));
    await page.getByRole('link', { name: ticket.key, exact: true }).click();
    await shown(page.getByRole('heading', { name: ticket.title }));
    const { items } = await web.rest.knowledge('acme');
    expect(items).toMatchObject([{ kind: 'decision', projects: ['WEB'], items: [ticket.key], author: 'ada' }]);
    await page.context().close();
  });

  test('a change that comes too late keeps what was typed; versions show what each changed', async () => {
    const { id } = await write('Who to ask');
    const page = await web.open(`/projects/WEB/knowledge/${id}`);
    await button(page, 'Edit').click();
    await page.getByLabel('Text', { exact: true }).fill('Ask Vera.');
    await olga.rest.updateKnowledge('acme', id, { version: 1, title: 'Whom to ask', body: 'Ask Olga.' });
    await button(page, 'Save').click();
    await shown(page.getByText('The entry was changed while you edited it.'));
    await shown(page.getByText('You have changed the same: Text. Nothing of yours is lost.'));
    expect(await page.getByLabel('Text', { exact: true }).inputValue()).toBe('Ask Vera.');
    await button(page, 'Keep my text').click();
    await button(page, 'Save').click();
    await shown(page.getByText('Saved version 3.'));
    await shown(heading(page, 'Whom to ask'));
    const saved = { title: 'Whom to ask', body: 'Ask Vera.', version: 3 };
    expect(await web.rest.knowledgeEntry('acme', id)).toMatchObject(saved);
    await region(page, 'Versions').getByText('Version 2').click();
    await shown(region(page, 'Versions').locator('.line-removed').getByText('Who to ask'));
    await shown(region(page, 'Versions').locator('.line-added').getByText('Ask Olga.'));
    await page.context().close();
  });

  test('a search finds by meaning, narrowed by kind; by words alone it says so', async () => {
    const say = { kind: 'document' as const, body: 'Refunds are paid back to the card within five days.' };
    await write('Giving money back', say);
    await write('The importer has no tests', { kind: 'debt', body: 'It was written in a night.' });
    await indexAll(planner.database, embedder);
    const page = await web.open('/projects/WEB/knowledge');
    const entries = page.getByRole('list', { name: 'Entries' }).getByRole('listitem');
    const box = page.getByRole('searchbox', { name: 'Search the knowledge of acme' });
    await box.fill('reimbursement of customers');
    await until('the first hit', async () => /^Giving money back/.test((await entries.first().innerText()) ?? ''));
    await shown(entries.first().getByText('Refunds are paid back'));
    expect(new URL(page.url()).search).toBe('?q=reimbursement+of+customers');
    await page.getByRole('combobox', { name: 'Kind' }).selectOption('Debt');
    await until('no document', async () => !(await entries.allInnerTexts()).join().includes('Giving money back'));
    away = true;
    await page.getByRole('combobox', { name: 'Kind' }).selectOption('All kinds');
    await box.fill('importer');
    await shown(page.getByText('only words were compared'));
    await shown(entries.filter({ hasText: 'The importer has no tests' }));
    away = false;
    await page.context().close();
  });
});

describe('search from anywhere', () => {
  test('"/" opens it, the arrows lead to what is found, Enter opens it; in a field it is a character', async () => {
    const { name, id } = await skill(1, 'voucher-rules');
    await indexAll(planner.database, embedder);
    const page = await web.open('/projects/WEB/tree');
    await page.getByLabel('Filter by key and title').fill('/');
    expect(await page.getByRole('dialog').count()).toBe(0);
    await heading(page, 'Tree').focus();
    await page.keyboard.press('/');
    const dialog = page.getByRole('dialog', { name: 'Search WEB' });
    await shown(dialog);
    await page.keyboard.type('the total is wrong with vouchers');
    const bug = dialog.getByRole('link', { name: /The total is wrong with two vouchers/ });
    await shown(bug);
    await shown(dialog.getByRole('link', { name: new RegExp(name) }));
    await until('what was typed last', async () => /\d hits?/.test(await dialog.getByRole('status').innerText()));
    await page.keyboard.press('ArrowDown');
    expect(await page.evaluate(() => document.activeElement?.textContent)).toContain(plan.tickets[2].key);
    await page.keyboard.press('Enter');
    await shown(page.getByRole('heading', { name: /The total is wrong/ }));
    await page.keyboard.press('/');
    await page.keyboard.type(name);
    await dialog.getByRole('link', { name: new RegExp(`^${name}`) }).click();
    await page.waitForURL(`**/projects/WEB/skills/${id}`);
    expect(await page.getByRole('dialog').count()).toBe(0);
    await page.context().close();
  });
});

describe('the context (spec: planner 8)', () => {
  test('where a conversation was summarized a line says so, with the summary; all that was said stays', async () => {
    const session = await planner.session();
    const sizes = [30_000, 4_000];
    planner.model.play((request) =>
      asksForSummary(request)
        ? [{ text: 'Ada wants vouchers.' }]
        : [{ text: 'As you say.' }, { usage: { input: sizes.shift() ?? 4_000, output: 100 } }],
    );
    await planner.ended(await planner.send(session, 'I want vouchers.'));
    const page = await web.open(`/projects/WEB/chat/${session}`);
    const meter = page.getByRole('meter', { name: 'Context' });
    await until('the meter', async () => /15\d % of 20,000/.test((await meter.getAttribute('aria-valuetext')) ?? ''));
    expect(await page.getByText('Up to here the model sees a summary').count()).toBe(0);

    await page.getByRole('textbox', { name: 'Message to the planner' }).fill('And now?');
    await page.keyboard.press('Enter');
    const line = page.getByText('Up to here the model sees a summary');
    await shown(line);
    await until('less context', async () => Number(await meter.getAttribute('aria-valuenow')) < 6_000);
    await line.click();
    await shown(region(page, 'Summary that the model sees').getByText('Ada wants vouchers.'));
    const said = await page.getByRole('group', { name: 'Conversation' }).innerText();
    expect(said.indexOf('I want vouchers.')).toBeLessThan(said.indexOf('Up to here'));
    expect(said.indexOf('Up to here')).toBeLessThan(said.indexOf('And now?'));
    await page.reload();
    await shown(line);
    await page.context().close();
  });

  test('spec: planner 9: a turn tells its tokens and its cost, estimates as such', async () => {
    const session = await planner.session();
    const answer: Reply = [{ text: 'Done.' }, { usage: { input: 500_000, output: 1_000 } }];
    planner.model.play((_, n) => (n % 2 === 0 ? fails(500) : answer));
    await planner.ended(await planner.send(session, 'Go.'), 30_000);
    const page = await web.open(`/projects/WEB/chat/${session}`);
    const { items } = await web.rest.turns(session);
    const foot = page.locator('.answer-foot');
    await shown(foot.getByText(/tokens in, 1,000 out/));
    expect(items[0]!.metered.cost_usd).toBeGreaterThanOrEqual(1.01);
    expect(await foot.innerText()).toMatch(/1\.0\d USD/);
    await page.context().close();
  });
});

describe('usage, settings and keys (spec: planner 9)', () => {
  test('usage by day, model and session, with costs; a session leads to its conversation', async () => {
    const session = await planner.session();
    planner.model.play(() => [{ text: 'Yes.' }, { usage: { input: 1_000_000, output: 0 } }]);
    await planner.ended(await planner.send(session, 'Count me.'));
    await web.rest.updateSession(session, { title: 'Counted' });
    const page = await web.open('/projects/WEB/usage');
    const today = new Date().toISOString().slice(0, 10);
    await shown(page.getByRole('img', { name: new RegExp(`Tokens a day .*most on ${today}`) }));
    await shown(page.getByRole('row').filter({ hasText: today }));
    await page.getByLabel('Grouping').selectOption('By model');
    await shown(page.getByRole('rowheader', { name: 'scripted' }));
    await page.getByLabel('Grouping').selectOption('By session');
    const row = page.getByRole('row').filter({ hasText: 'Counted' });
    await shown(row);
    expect(await row.innerText()).toMatch(/1,000,000[\s\S]*2\.00 USD/);
    await row.getByRole('link').click();
    await page.waitForURL(`**/chat/${session}`);
    await page.context().close();
  });

  test('an administrator sets a budget and gives it back; what is left of it shows, or that nothing is', async () => {
    const page = await asOlga('/projects/WEB/usage/settings');
    const form = page.getByRole('form', { name: 'Project WEB' });
    await form.getByLabel('Tokens a day').fill('90,000,000');
    await button(form, 'Save').click();
    await shown(page.getByText('Saved the settings of WEB.'));
    expect((await olga.rest.project('WEB')).settings).toEqual({ daily_tokens: 90_000_000 });
    await page.getByRole('link', { name: 'Usage', exact: true }).last().click();
    await shown(region(page, 'Budget of today').getByText(/tokens left of 90,000,000/));
    await olga.rest.updateProject('WEB', { settings: { daily_tokens: 1 } });
    await page.reload();
    await shown(region(page, 'Budget of today').getByText('Today’s budget is used up.'));
    await page.goto(`${web.address}/projects/WEB/usage/settings`);
    await form.getByLabel('Tokens a day').fill('');
    await button(form, 'Save').click();
    await until('the inherited one', async () => (await olga.rest.project('WEB')).settings.daily_tokens === undefined);
    await page.context().close();
  });

  test('a key is set and removed; its fingerprint is all that is ever shown of it', async () => {
    const page = await asOlga('/projects/WEB/usage/settings');
    const keys = region(page, 'Keys of WEB');
    await keys.getByText('Set a key').click();
    const secret = `sk-${'x7Kq'.repeat(8)}`;
    await keys.getByLabel('Provider').fill('mistral');
    await keys.getByLabel('Key', { exact: true }).fill(secret);
    await button(keys, 'Store the key').click();
    await shown(keys.getByRole('alert').getByText('base_url'));
    await keys.getByLabel('Address').fill('https://llm.example.org/v1');
    await button(keys, 'Store the key').click();
    const row = keys.getByRole('listitem').filter({ hasText: 'mistral' });
    await shown(row);
    const [stored] = (await olga.rest.credentials({ project: 'WEB' })).items;
    expect(await row.innerText()).toContain(stored!.fingerprint);
    expect(await keys.getByLabel('Key', { exact: true }).inputValue()).toBe('');
    expect(await page.content()).not.toContain(secret);
    const kept = await page.evaluate(() => JSON.stringify([{ ...sessionStorage }, { ...localStorage }]));
    expect(kept).not.toContain(secret);
    await button(row, 'Remove the key of mistral').click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Remove' }).click();
    await row.waitFor({ state: 'detached' });
    expect((await olga.rest.credentials({ project: 'WEB' })).items).toEqual([]);
    await page.context().close();
  });

  test('who may not change settings sees what holds, and no keys', async () => {
    const page = await web.open('/projects/WEB/usage/settings');
    await shown(region(page, 'What holds').getByText('scripted'));
    expect(await page.getByRole('textbox').count()).toBe(0);
    expect(await page.getByText('Set a key').count()).toBe(0);
    await page.context().close();
  });
});

describe('every view', () => {
  test('narrow, the views that have no place are in a menu, which says where one is', async () => {
    const page = await web.open('/projects/WEB/board', { width: 320, height: 640 });
    const views = page.getByRole('navigation', { name: 'Views' });
    await button(views, 'More views').click();
    expect(await page.getByRole('menuitem').allInnerTexts()).toEqual(['Runs', 'Knowledge', 'Skills', 'Usage']);
    await page.getByRole('menuitem', { name: 'Skills' }).click();
    await shown(heading(page, 'Skills'));
    await shown(button(views, /^Skills \(this view\)/));
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(320);
    await page.context().close();
  });

  test.each(['light', 'dark'] as const)('is accessible and as wide as the screen: %s', async (theme) => {
    const { id } = await skill(2);
    const entry = await web.rest.createKnowledge('acme', { kind: 'note', title: 'Axe', body: 'A **text**.' });
    const session = await planner.session();
    const paths = [
      ...['skills', 'skills/new', `skills/${id}`, 'knowledge', 'knowledge/new', `knowledge/${entry.id}`],
      ...['usage', 'usage?by=session', 'usage/settings', `chat/${session}`],
    ];
    for (const width of [1280, 375]) {
      const context = await web.browser.newContext({ viewport: { width, height: 800 }, colorScheme: theme });
      const page = await web.open('/', { token: olga.token, context });
      for (const path of paths) {
        await page.goto(`${web.address}/projects/WEB/${path}`);
        await shown(page.locator('main h1:visible'));
        await page.locator('.waiting').first().waitFor({ state: 'detached' });
        expect(await axeFindings(page), `${path}, ${width}, ${theme}`).toEqual([]);
        const wide = await page.evaluate(() => document.querySelector('main')!.scrollWidth - innerWidth);
        expect(wide, `${path}, ${width}`).toBeLessThanOrEqual(0);
      }
      await button(page, 'Search').click();
      await shown(page.getByRole('dialog'));
      expect(await axeFindings(page), `search, ${width}, ${theme}`).toEqual([]);
      await context.close();
    }
  });

  test('nothing of this violates the page’s policy', () => {
    expect(web.problems).toEqual([]);
  });
});
