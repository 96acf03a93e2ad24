// The page in a real Chromium: sign-in, sessions, chat, Stop, reload, tabs, network, hostile text, accessibility.

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Page } from 'playwright-core';
import { axeFindings, startTestPage, type TestPage } from '../support/page.ts';
import { calls, fails, inTurn, says, type Reply } from '../support/scripted-model.ts';
import { transaction } from '../../store/database.ts';
import { authenticate, createToken, revokeToken } from '../../store/tokens.ts';
import { inHours } from '../support/api.ts';
import { ada } from '../support/planner.ts';
import { systemActor } from '../../domain/actor.ts';
import { bindRole } from '../../store/role-bindings.ts';

let web: TestPage;

beforeAll(async () => {
  web = await startTestPage();
});

afterAll(async () => {
  await web?.close();
});

afterEach(() => {
  web.network.up();
});

/** An answer that waits in its middle until told to go on. */
function halves(first: string, second: string): { reply: Reply; goOn(): void } {
  const gate = Promise.withResolvers<void>();
  return { reply: [{ text: first }, { gate: gate.promise }, { text: second }], goOn: () => gate.resolve() };
}

const composer = (page: Page) => page.getByRole('textbox', { name: 'Message to the planner' });
const talk = (page: Page) => page.getByRole('group', { name: 'Conversation' });
const send = (page: Page) => page.getByRole('button', { name: 'Send' });
const stop = (page: Page) => page.getByRole('button', { name: 'Stop' });

async function say(page: Page, text: string): Promise<void> {
  await composer(page).fill(text);
  await composer(page).press('Enter');
}

async function newSession(text: string): Promise<Page> {
  const page = await web.open('/projects/WEB/chat/new');
  await say(page, text);
  await page.waitForURL(/chat\/[0-9a-f-]{36}$/);
  return page;
}

async function eventually<T>(probe: () => Promise<T | false>, ms = 10_000): Promise<T> {
  for (const end = Date.now() + ms; ; ) {
    const found = await probe();
    if (found !== false) return found;
    if (Date.now() > end) throw new Error(`not within ${ms} ms: ${probe}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

const idle = (page: Page) => send(page).waitFor();
const count = (text: string, part: string): number => text.split(part).length - 1;
/** Each test leaves the console clean: no violation of the policy, no error. */
const clean = (): void => expect(web.problems.splice(0)).toEqual([]);

describe('sign-in', () => {
  test('the token of the address is kept for the browser session and leaves the address at once', async () => {
    const page = await web.open('/');
    await page.waitForURL(`${web.address}/projects/WEB/chat`);
    expect(page.url()).not.toContain('token');
    expect(await page.evaluate(() => history.length)).toBeLessThanOrEqual(2);
    await page.reload();
    await composer(page).waitFor();
    expect(await page.evaluate(() => JSON.stringify({ ...localStorage }))).not.toContain('plt_');
    await page.close();
    clean();
  });

  test('without one a form asks for it; an unknown token is refused with the reason; signing out forgets it', async () => {
    const page = await web.open('/', { token: '' });
    await page.getByLabel('Token').fill('plt_unknown');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('status').filter({ hasText: /token/i }).waitFor();
    await page.getByLabel('Token').fill(`${web.address}/#token=${web.token}`);
    await page.getByLabel('Token').press('Enter');
    await composer(page).waitFor();
    await page.evaluate(() => {
      sessionStorage.setItem('planner.draft.some-session', 'typed, not sent');
      sessionStorage.setItem('planner.kept.item.WEB-1', '{"title":"typed, not saved"}');
    });
    await page.getByRole('button', { name: /Account of Ada/ }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByLabel('Token').waitFor();
    expect(await page.evaluate(() => JSON.stringify({ ...sessionStorage }))).not.toMatch(/planner\.token|typed, not/);
    await page.close();
    clean();
  });

  test('a token that is revoked meanwhile leads back to sign-in, with a reason', async () => {
    const { planner } = web;
    const { token } = await transaction(planner.database, (tx) =>
      createToken(tx, { subject: ada.subject, expires_at: inHours(1) }),
    );
    const page = await web.open('/', { token });
    await composer(page).waitFor();
    const { token_id } = await authenticate(planner.database, token);
    await transaction(planner.database, (tx) => revokeToken(tx, token_id!));
    await page.getByLabel('Token').waitFor();
    await page.getByRole('status').filter({ hasText: /token/i }).waitFor();
    await page.close();
    clean();
  });
});

describe('chat', () => {
  test('a message becomes a streamed answer with its tool calls and a card of the changeset that it proposed', async () => {
    const operations = [{ kind: 'create_item', ref: 'form', create: { kind: 'ticket', title: 'Sign-up form' } }];
    const { reply, goOn } = halves('Proposed: **one** ti', 'cket.');
    web.planner.model.play(
      (_, n) =>
        inTurn(
          [{ text: 'Looking.' }, { call: { name: 'list_items', input: { kind: 'ticket' } } }],
          calls('propose_changeset', { title: 'Newsletter', operations }),
          reply,
        )(_, n - first),
    );
    const first = web.planner.model.requests.length;
    const page = await newSession('Plan a newsletter');
    await talk(page).getByText('Proposed: one ti').waitFor();
    await talk(page).getByText('list_items').waitFor();
    await stop(page).waitFor();
    goOn();
    await talk(page).getByText('Proposed: one ticket.').waitFor();
    await idle(page);
    await page.getByText('1 operation', { exact: true }).waitFor();
    await page.getByText('not applied yet').waitFor();

    const [changeset] = (await web.rest.changesets('WEB')).items;
    expect(await page.getByRole('link', { name: 'Review changeset Newsletter' }).getAttribute('href')).toBe(
      `/projects/WEB/changesets/${changeset?.id}`,
    );
    const workflow = await page.getByRole('link', { name: /^Workflow/ }).getAttribute('href');
    expect(workflow).toContain(`/namespaces/${web.planner.temporal.namespace}/workflows/`);
    await page.locator('summary').filter({ hasText: 'list_items' }).click();
    await page.getByLabel('Input').filter({ hasText: '"kind": "ticket"' }).waitFor();
    await page.close();
    clean();
  });

  test('from a message to an applied item: propose, review, apply, see it; the chat knows of it', async () => {
    const operations = [{ kind: 'create_item', ref: 'shop', create: { kind: 'ticket', title: 'Open the shop' } }];
    const first = web.planner.model.requests.length;
    web.planner.model.play((request, n) =>
      inTurn(calls('propose_changeset', { title: 'Opening', operations }), says('Proposed.'))(request, n - first),
    );
    const page = await newSession('Plan the opening');
    await idle(page);
    await page.getByRole('link', { name: 'Review changeset Opening' }).click();
    await page.getByRole('heading', { name: 'Opening' }).waitFor();
    await page.getByRole('button', { name: /^Apply/ }).click();
    const { items } = await eventually(async () => {
      const found = await web.rest.items('WEB');
      return found.items.some(({ title }) => title === 'Open the shop') && found;
    });
    const key = items.find(({ title }) => title === 'Open the shop')?.key ?? '';
    await page.getByRole('link', { name: key }).first().click();
    await page.waitForURL(new RegExp(`/items/${key}$`));
    await page.getByRole('heading', { name: /Open the shop/ }).waitFor();
    await page.getByRole('link', { name: 'Chat' }).click();
    await page.getByRole('link', { name: /^Plan the opening/ }).click();
    await page.getByText('applied', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'Show changeset Opening' }).waitFor();
    await page.close();
    clean();
  });

  test.each(['the button', 'Esc'])('Stop by %s ends the answer and keeps what was said', async (way) => {
    const { reply, goOn } = halves('As far as this', ' and never further');
    web.planner.model.play(() => reply);
    const page = await newSession('Tell me a long story');
    await talk(page).getByText('As far as this').waitFor();
    if (way === 'Esc') await page.keyboard.press('Escape');
    else await stop(page).click();
    await talk(page).getByText('Stopped.').waitFor();
    expect(await composer(page).evaluate((box) => document.activeElement === box)).toBe(true);
    await idle(page);
    goOn();
    const text = await talk(page).innerText();
    expect(count(text, 'As far as this')).toBe(1);
    expect(text).not.toContain('never further');
    await page.reload();
    await talk(page).getByText('As far as this').waitFor();
    await talk(page).getByText('Stopped.').waitFor();
    await page.close();
    clean();
  });

  test('Esc that closes a menu does not stop the answer', async () => {
    const { reply, goOn } = halves('It goes', ' on.');
    web.planner.model.play(() => reply);
    const page = await newSession('Go on whatever I open');
    await talk(page).getByText('It goes').waitFor();
    await page.getByRole('button', { name: /Account of Ada/ }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('menuitem', { name: 'Sign out' }).waitFor({ state: 'detached' });
    goOn();
    await talk(page).getByText('It goes on.').waitFor();
    await page.close();
    clean();
  });

  test('a reload in mid-answer goes on where it was: no gap, nothing twice', async () => {
    const { reply, goOn } = halves('The beginning', ' and the end.');
    web.planner.model.play(() => reply);
    const page = await newSession('Answer over a reload');
    await talk(page).getByText('The beginning').waitFor();
    await page.reload();
    await talk(page).getByText('The beginning').waitFor();
    await stop(page).waitFor();
    goOn();
    await talk(page).getByText('The beginning and the end.').waitFor();
    await idle(page);
    expect(count(await talk(page).innerText(), 'The beginning')).toBe(1);
    expect(count(await talk(page).innerText(), 'Answer over a reload')).toBe(1);
    await page.close();
    clean();
  });

  test('two tabs show the same, whichever sends', async () => {
    const { reply, goOn } = halves('Seen by', ' both.');
    web.planner.model.play(() => reply);
    const one = await newSession('For two tabs');
    const two = await web.open(new URL(one.url()).pathname, { context: one.context() });
    for (const page of [one, two]) await talk(page).getByText('Seen by').waitFor();
    goOn();
    for (const page of [one, two]) await talk(page).getByText('Seen by both.').waitFor();
    web.planner.model.play(() => says('And the second.'));
    await say(two, 'From the second tab');
    for (const page of [one, two]) {
      await talk(page).getByText('And the second.').waitFor();
      await idle(page);
      expect(count(await talk(page).innerText(), 'From the second tab')).toBe(1);
    }
    expect(await talk(one).innerText()).toBe(await talk(two).innerText());
    await one.context().close();
    clean();
  });

  test('a network that is lost in mid-answer is said, and the answer goes on without a gap when it is back', async () => {
    const { reply, goOn } = halves('Before the cut', ', after the cut.');
    web.planner.model.play(() => reply);
    const page = await newSession('Answer over a lost network');
    await talk(page).getByText('Before the cut').waitFor();
    web.network.cut(true);
    await page.getByText('Reconnecting').waitFor();
    goOn();
    await new Promise((resolve) => setTimeout(resolve, 300));
    web.network.up();
    await talk(page).getByText('Before the cut, after the cut.').waitFor();
    await page.getByText('Reconnecting').waitFor({ state: 'detached' });
    await idle(page);
    expect(count(await talk(page).innerText(), 'Before the cut')).toBe(1);
    await page.close();
    clean();
  });

  test('a session that could not be read while the network was away is read when it is back', async () => {
    web.planner.model.play(() => says('Still here.'));
    const page = await newSession('Read me later');
    await idle(page);
    const path = new URL(page.url()).pathname;
    await page.getByRole('link', { name: 'New session' }).click();
    web.network.cut(true);
    await page.getByText('Reconnecting').waitFor();
    await page.locator(`a[href="${path}"]`).click();
    await page.getByRole('alert').filter({ hasText: 'reached' }).waitFor();
    web.network.up();
    await talk(page).getByText('Still here.').waitFor();
    await page.close();
    clean();
  });

  test('spec: planner 5: a right that is lost in mid-watch ends it, and the page says so', async () => {
    const { database } = web.planner;
    web.planner.model.play(() => says('Seen.'));
    const page = await newSession('Until the right is lost');
    await idle(page);
    const bound = await database.query<{ id: string; role: string; project_id: string }>(
      'DELETE FROM role_bindings WHERE subject = $1 RETURNING *', [ada.subject],
    );
    await page.getByText('The right to read this session was lost').waitFor();
    await transaction(database, (tx) =>
      bindRole(tx, systemActor, { subject: ada.subject, role: 'engineer', project_id: bound[0]?.project_id ?? '' }),
    );
    await page.getByRole('button', { name: 'Read again' }).click();
    await page.getByText('The right to read this session was lost').waitFor({ state: 'detached' });
    await page.close();
    clean();
  });

  test('a failing provider is retried and said so; what the failed attempt said is gone', async () => {
    const gate = Promise.withResolvers<void>();
    const first = web.planner.model.requests.length;
    web.planner.model.play((_, n) =>
      n === first ? [{ text: 'Half an ans' }, { cut: true }] : [{ gate: gate.promise }, { text: 'A whole answer.' }],
    );
    const page = await newSession('Try again when it fails');
    await talk(page).getByText(/Trying again \(attempt 2\)/).waitFor();
    expect(await talk(page).innerText()).not.toContain('Half an ans');
    gate.resolve();
    await talk(page).getByText('A whole answer.').waitFor();
    await talk(page).getByText(/Trying again/).waitFor({ state: 'detached' });
    await page.close();
    clean();
  });

  test('a turn that fails says why, also after a reload, and the session takes the next message', async () => {
    web.planner.model.play(() => fails(401, 'bad key'));
    const page = await newSession('This will fail');
    const alert = talk(page).getByRole('alert');
    await alert.waitFor();
    const words = await alert.innerText();
    expect(words.length).toBeGreaterThan(20);
    await page.reload();
    await talk(page).getByRole('alert').waitFor();
    expect(await talk(page).getByRole('alert').innerText()).toBe(words);
    web.planner.model.play(() => says('It works again.'));
    await say(page, 'And now?');
    await talk(page).getByText('It works again.').waitFor();
    await page.close();
    clean();
  });

  test('it follows the answer, and yields to a reader who scrolls up', async () => {
    const { reply, goOn } = halves(Array.from({ length: 80 }, (_, n) => `Paragraph ${n}.`).join('\n\n'), '\n\nThe last.');
    web.planner.model.play(() => reply);
    const page = await newSession('Write much');
    await talk(page).getByText('Paragraph 79.').waitFor();
    const bottom = () => talk(page).evaluate((box) => box.scrollHeight - box.clientHeight - box.scrollTop);
    await expect.poll(bottom).toBeLessThan(5);
    await talk(page).hover();
    await page.mouse.wheel(0, -900);
    await page.getByRole('button', { name: 'To the newest' }).waitFor();
    const before = await talk(page).evaluate((box) => box.scrollTop);
    goOn();
    await idle(page);
    expect(await talk(page).evaluate((box) => box.scrollTop)).toBe(before);
    await page.getByRole('button', { name: 'To the newest' }).click();
    await expect.poll(bottom).toBeLessThan(5);
    await page.close();
    clean();
  });
});

describe('writing', () => {
  test('Enter sends, Shift+Enter begins a line; blank text can not be sent; a draft outlives a reload', async () => {
    web.planner.model.play(() => says('Two lines, I see.'));
    const page = await web.open('/projects/WEB/chat/new');
    await composer(page).fill('   ');
    expect(await send(page).isDisabled()).toBe(true);
    await composer(page).fill('one');
    await composer(page).press('Shift+Enter');
    await page.keyboard.type('two');
    await page.reload();
    await composer(page).waitFor();
    expect(await composer(page).inputValue()).toBe('one\ntwo');
    await composer(page).press('Enter');
    await talk(page).getByText('Two lines, I see.').waitFor();
    expect(await composer(page).inputValue()).toBe('');
    await page.close();
    clean();
  });

  test('spec: planner 7: 100,000 characters are the limit, said before sending; code points count', async () => {
    const page = await web.open('/projects/WEB/chat/new');
    await composer(page).fill('🙂'.repeat(100_000));
    await page.getByText('100,000 of 100,000 characters').waitFor();
    expect(await send(page).isDisabled()).toBe(false);
    await composer(page).fill('🙂'.repeat(100_003));
    await page.getByText('3 characters too many').waitFor();
    expect(await send(page).isDisabled()).toBe(true);
    await page.close();
    clean();
  });

  test('while an answer runs a draft can be written, not sent, and the reason is said', async () => {
    const { reply, goOn } = halves('Busy', ' no more.');
    web.planner.model.play(() => reply);
    const page = await newSession('Be busy');
    await talk(page).getByText('Busy').waitFor();
    await say(page, 'The next question');
    await page.getByText('The planner is answering. Stop it (Esc), or send when it is done.').waitFor();
    expect(await composer(page).inputValue()).toBe('The next question');
    goOn();
    await idle(page);
    expect(await composer(page).inputValue()).toBe('The next question');
    expect(await web.rest.session(page.url().split('/').at(-1) ?? '').then(({ messages }) => messages.length)).toBe(2);
    await page.close();
    clean();
  });

  test('a message that could not be sent is back in the composer, with the reason; sent again it is there once', async () => {
    const page = await newSession('First');
    const session = page.url().split('/').at(-1) ?? '';
    await expect.poll(async () => (await web.rest.session(session)).messages.length).toBe(2);
    await idle(page);
    await web.planner.database.query("UPDATE role_bindings SET role = 'viewer' WHERE subject = $1", [ada.subject]);
    await say(page, 'As a mere viewer');
    try {
      await page.getByRole('alert').waitFor();
      await expect.poll(() => composer(page).inputValue()).toBe('As a mere viewer');
    } finally {
      await web.planner.database.query("UPDATE role_bindings SET role = 'engineer' WHERE subject = $1", [ada.subject]);
    }
    await composer(page).press('Enter');
    await expect.poll(async () => count(await talk(page).innerText(), 'As a mere viewer')).toBe(1);
    await idle(page);
    expect(count(await talk(page).innerText(), 'As a mere viewer')).toBe(1);
    await page.close();
    clean();
  });
});

describe('sessions', () => {
  test('are renamed and archived, in every tab', async () => {
    web.planner.model.play(() => says('Hello.'));
    const page = await newSession('A session to rename');
    await idle(page);
    const other = await web.open('/projects/WEB/chat');
    await page.getByRole('button', { name: /A session to rename: more/ }).click();
    await page.getByRole('menuitem', { name: 'Rename' }).click();
    await page.getByLabel('Title').fill('Renamed');
    await page.getByRole('button', { name: 'Rename', exact: true }).click();
    await page.getByRole('heading', { name: 'Renamed' }).waitFor();
    await expect.poll(() => page.evaluate(() => document.activeElement?.getAttribute('aria-label'))).toMatch(/: more$/);
    await other.getByRole('link', { name: /^Renamed/ }).waitFor();
    await page.getByRole('button', { name: /Renamed: more/ }).click();
    await page.getByRole('menuitem', { name: 'Archive' }).click();
    await page.getByText('This session is archived.').waitFor();
    await other.getByRole('link', { name: /^Renamed/ }).waitFor({ state: 'detached' });
    await other.getByRole('button', { name: 'Archived sessions' }).click();
    await other.getByRole('link', { name: /^Renamed/ }).waitFor();
    await other.context().close();
    await page.context().close();
    clean();
  });

  test('one that does not exist says so', async () => {
    const page = await web.open('/projects/WEB/chat/01a22cfd-9ba9-744c-b3e0-2a7fab39a70c');
    await page.getByRole('alert').waitFor();
    expect(await page.getByRole('alert').innerText()).toMatch(/session/i);
    await page.close();
    clean();
  });
});

describe('text of models, tools and people', () => {
  const hostile = [
    '# Hostile',
    '<script>window.hacked = 1</script><img src=x onerror="window.hacked = 2">',
    '<iframe src="javascript:parent.hacked=3"></iframe><a href="javascript:window.hacked=4">html</a>',
    '[script](javascript:window.hacked=5) [upper](JaVaScRiPt:window.hacked=6) [data](data:text/html,<script>1</script>)',
    '![pixel](data:image/png;base64,iVBORw0KGgo=) ![tracker](https://tracker.invalid/pixel.png) [entity](java&#x0A;script:alert(1))',
    '[good](https://example.invalid/page) <https://example.invalid/auto> [mail](mailto:ada@example.invalid)',
    '&lt;script&gt; &copy;',
    '<svg onload="window.hacked=7"><style>body{display:none}</style>',
  ].join('\n\n');

  test('can not run, load or lead anywhere but to the web and to mail, and stays within the policy', async () => {
    web.planner.model.play((request) =>
      request.messages.at(-1)?.role === 'tool'
        ? says(hostile)
        : [{ text: hostile }, { call: { name: 'get_item', input: { key: '<img src=x onerror=alert(1)>' } } }],
    );
    const requested: string[] = [];
    const page = await newSession(hostile);
    page.on('request', (request) => requested.push(request.url()));
    await idle(page);
    await talk(page).getByRole('link', { name: 'good' }).first().waitFor();
    await page.locator('summary').filter({ hasText: 'get_item' }).click();
    await page.reload();
    await talk(page).getByRole('link', { name: 'good' }).first().waitFor();
    expect(await page.evaluate(() => (globalThis as { hacked?: number }).hacked)).toBeUndefined();
    const held = await talk(page).evaluate((box) => ({
      forbidden: box.querySelectorAll('script, iframe, img, style, svg[onload], object, embed').length,
      addresses: [...box.querySelectorAll('a')].map((link) => [link.href.split(':')[0], link.rel.includes('noopener')]),
    }));
    expect(held.forbidden).toBe(0);
    expect(held.addresses.length).toBeGreaterThan(5);
    for (const address of held.addresses) expect(address).toEqual([expect.stringMatching(/^(https?|mailto)$/), true]);
    expect(requested.filter((url) => !url.startsWith(web.address))).toEqual([]);
    await page.close();
    clean();
  });
});

describe('for everyone', () => {
  test('by keyboard: skip link, heading focused on navigation, links and menus in reach', async () => {
    const page = await web.open('/projects/WEB/chat');
    await composer(page).waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('content');
    await page.getByRole('link', { name: 'Board' }).focus();
    await page.keyboard.press('Enter');
    await page.waitForURL(/board$/);
    await expect.poll(() => page.evaluate(() => document.activeElement?.tagName)).toBe('H1');
    await page.goBack();
    await composer(page).waitFor();
    await page.getByRole('button', { name: /Account of Ada/ }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('menuitemradio', { name: 'Dark' }).waitFor();
    await page.getByRole('menuitemradio', { name: 'Dark' }).press('Enter');
    expect(await page.evaluate(() => document.documentElement.dataset['theme'])).toBe('dark');
    await page.close();
    clean();
  });

  test('the answer is announced once it is whole, not word by word', async () => {
    const { reply, goOn } = halves('Announced', ' at the end.');
    web.planner.model.play(() => reply);
    const page = await newSession('Speak');
    await talk(page).getByText('Announced').waitFor();
    const live = page.locator('.visually-hidden[aria-live="polite"]');
    expect(await live.innerText()).toBe('The planner is answering.');
    goOn();
    await expect.poll(() => live.innerText()).toBe('The planner answered: Announced at the end.');
    await page.close();
    clean();
  });

  for (const theme of ['light', 'dark'] as const) {
    for (const width of [1280, 320]) {
      test(`axe finds nothing serious in any view of sign-in and chat: ${theme}, ${width} px wide`, async () => {
        const operations = [{ kind: 'create_item', ref: 'a', create: { kind: 'ticket', title: 'A ticket' } }];
        const first = web.planner.model.requests.length;
        web.planner.model.play((request, n) =>
          inTurn(
            calls('list_items', {}),
            calls('propose_changeset', { title: 'For axe', operations }),
            says('A [link](https://example.invalid), `code`:\n\n```\nblock\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n- [x] done\n\n> quote'),
            fails(401),
          )(request, n - first),
        );
        const look = { theme, width, height: 720 };
        const signedOut = await web.open('/', { ...look, token: '' });
        await signedOut.getByLabel('Token').waitFor();
        expect(await axeFindings(signedOut)).toEqual([]);
        await signedOut.close();

        const page = await web.open('/projects/WEB/chat', look);
        await page.getByRole('link', { name: 'New session' }).waitFor();
        expect(await axeFindings(page)).toEqual([]);
        await page.getByRole('link', { name: 'New session' }).click();
        await composer(page).waitFor();
        expect(await axeFindings(page)).toEqual([]);
        await say(page, 'Show all that there is');
        await talk(page).getByText('quote').waitFor();
        await idle(page);
        await say(page, 'And fail');
        await talk(page).getByRole('alert').waitFor();
        await page.locator('summary').first().click();
        expect(await axeFindings(page)).toEqual([]);
        expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);

        await page.getByRole('button', { name: /: more/ }).click();
        await page.getByRole('menuitem', { name: 'Rename' }).waitFor();
        expect(await axeFindings(page)).toEqual([]);
        await page.getByRole('menuitem', { name: 'Rename' }).click();
        await page.getByRole('dialog').waitFor();
        expect(await axeFindings(page)).toEqual([]);
        await page.context().close();
        clean();
      });
    }
  }
});
