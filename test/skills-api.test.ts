// Skills, pins and knowledge over REST (spec: planner 10). Every answer is checked against what its route documents.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestApi, type Answer, type TestApi } from './support/api.ts';

let t: TestApi;
beforeAll(async () => {
  t = await startTestApi();
});
afterAll(() => t.close());

const ask = (token: string, method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
  t.rest(token, method, `/api/v1${path}`, body, headers);
const admin = (method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer> =>
  ask(t.tokens.admin, method, path, body, headers);
const skill = (name: string, more: object = {}) => ({
  scope: 'organization',
  organization: 'acme',
  name,
  description: 'How we plan.',
  body: 'Plan.',
  ...more,
});
const key = (name: string) => ({ 'idempotency-key': name });

describe('spec: planner 10: skills', () => {
  test('from a draft to a version that a project uses', async () => {
    const made = await admin('POST', '/skills', skill('planner', { files: [{ path: 'a/b.md', content: 'x' }] }));
    expect(made).toMatchObject({ status: 201, body: { latest: 0, organization: 'acme', draft: { version: 1 } } });
    const path = `/skills/${String(made.body['id'])}`;
    expect(await admin('PATCH', path, { version: 1, body: 'Better.' })).toMatchObject({
      status: 200,
      body: { draft: { version: 2, body: 'Better.', files: [{ path: 'a/b.md', content: 'x' }] } },
    });
    expect(await admin('PATCH', path, { version: 1, body: 'Late.' })).toMatchObject({ status: 409 });
    const published = await admin('POST', `${path}/publish`, { version: 2 });
    expect(published).toMatchObject({ status: 201, body: { version: 1, body: 'Better.' } });
    expect(await ask(t.tokens.viewer, 'GET', `${path}/versions`)).toMatchObject({
      status: 200,
      body: { items: [{ version: 1, description: 'How we plan.', published_by: { subject: 'admin' } }] },
    });
    expect((await ask(t.tokens.viewer, 'GET', `${path}/versions/1`)).body).toEqual(published.body);
    for (const [version, status] of Object.entries({ 2: 404, 0: 400, x: 400, 99999999999: 400 })) {
      expect([version, (await admin('GET', `${path}/versions/${version}`)).status]).toEqual([version, status]);
    }
    expect(await ask(t.tokens.viewer, 'GET', '/projects/WEB/skills')).toMatchObject({
      status: 200,
      body: { items: [{ name: 'planner', scope: 'organization', version: 1, description: 'How we plan.' }] },
    });
    const listed = await ask(t.tokens.viewer, 'GET', '/skills?scope=organization&organization=acme&limit=1');
    expect(listed).toMatchObject({ status: 200, body: { items: [{ name: 'planner', draft_version: 2, latest: 1 }] } });
    expect(await ask(t.tokens.viewer, 'GET', path)).toMatchObject({ status: 200, body: { name: 'planner' } });
  });

  test('pins are set, listed and removed', async () => {
    const path = '/projects/WEB/skills/no-such/pin';
    expect(await admin('PUT', path, { version: 3 })).toMatchObject({
      status: 200,
      body: { name: 'no-such', version: 3, disabled: false },
    });
    expect(await ask(t.tokens.viewer, 'GET', '/projects/WEB/skill-pins')).toMatchObject({
      body: { items: [{ name: 'no-such', version: 3 }] },
    });
    const { body } = await ask(t.tokens.viewer, 'GET', '/projects/WEB/skills');
    const problem = expect.stringContaining('no published skill');
    expect(body.items).toContainEqual({ name: 'no-such', version: 0, problem });
    for (const list of ['skills', 'skill-pins']) {
      await admin('PUT', '/projects/WEB/skills/other/pin', {});
      const page = async (query: string) => (await ask(t.tokens.viewer, 'GET', `/projects/WEB/${list}?${query}`)).body;
      expect(await page('limit=1')).toMatchObject({ items: [{ name: 'no-such' }], next: 'no-such' });
      expect((await page('limit=1&after=no-such')).items).toMatchObject([{ name: 'other' }]);
      expect(await page('after=zzz')).toMatchObject({ message: expect.stringContaining('after must be the `next`') });
    }
    expect(await ask(t.tokens.engineer, 'DELETE', path)).toMatchObject({ status: 403 });
    expect(await admin('DELETE', path)).toMatchObject({ status: 204 });
    expect(await admin('DELETE', path)).toMatchObject({ status: 404 });
    expect(await admin('PUT', '/projects/WEB/skills/No_Such/pin', {})).toMatchObject({ status: 400 });
  });

  test('a repeated POST under one Idempotency-Key creates and publishes once', async () => {
    const first = await admin('POST', '/skills', skill('once'), key('create'));
    expect((await admin('POST', '/skills', skill('once'), key('create'))).body).toEqual(first.body);
    const again = await admin('POST', '/skills', skill('once'));
    expect(again).toMatchObject({ status: 409, body: { error: 'already_exists' } });
    const path = `/skills/${String(first.body['id'])}/publish`;
    const published = await admin('POST', path, { version: 1 }, key('publish'));
    expect((await admin('POST', path, { version: 1 }, key('publish'))).body).toEqual(published.body);
    expect(await admin('POST', path, { version: 1 })).toMatchObject({ status: 409, body: { error: 'conflict' } });
  });

  test('spec: planner 3.3: bodies of 2 MiB are taken, larger ones refused; other routes take 1 MiB', async () => {
    const files = [{ path: 'lines.txt', content: 'one\n'.repeat(1024 * 256) }];
    const made = await admin('POST', '/skills', skill('large', { body: '', files }));
    expect(made).toMatchObject({ status: 201, body: { name: 'large' } });
    const larger = await admin('POST', '/skills', skill('larger', { body: 'x'.repeat(2 * 1024 * 1024) }));
    expect(larger).toMatchObject({ status: 400, body: { message: 'The body is larger than 2 MiB.' } });
    const entry = { kind: 'note', title: 'Large', body: 'x'.repeat(1024 * 1024) };
    const refused = await admin('POST', '/organizations/acme/knowledge/entries', entry);
    expect(refused).toMatchObject({ status: 400, body: { message: 'The body is larger than 1 MiB.' } });
  });

  test('spec: planner 5: engineers read, strangers find nothing', async () => {
    const { body } = await admin('POST', '/skills', skill('guarded'));
    const path = `/skills/${String(body['id'])}`;
    const { engineer, stranger } = t.tokens;
    expect(await ask(engineer, 'POST', '/skills', skill('mine'))).toMatchObject({ status: 403 });
    expect(await ask(engineer, 'PATCH', path, { version: 1, body: 'x' })).toMatchObject({ status: 403 });
    expect(await ask(stranger, 'GET', '/skills')).toMatchObject({ status: 200, body: { items: [] } });
    for (const hidden of [path, `${path}/versions`, `${path}/versions/1`, '/projects/WEB/skills']) {
      expect([hidden, (await ask(stranger, 'GET', hidden)).status]).toEqual([hidden, 404]);
    }
    expect(await ask(stranger, 'POST', `${path}/publish`, { version: 1 })).toMatchObject({ status: 404 });
  });
});

describe('spec: planner 10: knowledge', () => {
  const entries = '/organizations/acme/knowledge/entries';
  const note = { kind: 'note', title: 'A note', body: 'Noted.', projects: ['WEB'] };

  test('entries are created, listed, read and updated; each version stays', async () => {
    const { engineer, viewer } = t.tokens;
    const made = await ask(engineer, 'POST', entries, note, key('note'));
    expect(made).toMatchObject({ status: 201, body: { version: 1, author: 'engineer', projects: ['WEB'], items: [] } });
    expect((await ask(engineer, 'POST', entries, note, key('note'))).body).toEqual(made.body);
    const path = `${entries}/${String(made.body['id'])}`;
    expect((await ask(viewer, 'GET', path)).body).toEqual(made.body);
    const changed = await ask(engineer, 'PATCH', path, { version: 1, kind: 'decision' });
    expect(changed).toMatchObject({ status: 200, body: { version: 2, kind: 'decision', title: 'A note' } });
    expect(await ask(engineer, 'PATCH', path, { version: 1, kind: 'debt' })).toMatchObject({ status: 409 });
    expect(await ask(engineer, 'PATCH', path, { version: 2, author: 'x' })).toMatchObject({ status: 400 });
    const listed = await ask(viewer, 'GET', `${entries}?kind=decision&project=WEB&limit=1`);
    expect(listed).toMatchObject({ status: 200, body: { items: [{ id: made.body['id'], version: 2 }] } });
    const versions = await ask(viewer, 'GET', `${path}/versions?limit=1`);
    expect(versions).toMatchObject({ body: { items: [{ version: 2, kind: 'decision' }], next: '2' } });
    const older = await ask(viewer, 'GET', `${path}/versions?after=2`);
    expect(older.body.items).toMatchObject([{ version: 1, kind: 'note' }]);
    expect(await ask(viewer, 'GET', `${path}/versions/1`)).toMatchObject({ body: { body: 'Noted.', kind: 'note' } });
    expect(await ask(viewer, 'GET', `${path}/versions/3`)).toMatchObject({ status: 404 });
  });

  test('spec: planner 5: viewers read, strangers find no organization', async () => {
    const { viewer, stranger, admin: ada } = t.tokens;
    expect(await ask(viewer, 'POST', entries, note)).toMatchObject({ status: 403 });
    expect(await ask(stranger, 'GET', entries)).toMatchObject({ status: 404 });
    const hidden = await ask(ada, 'POST', entries, { ...note, projects: ['OPS'] });
    const path = `${entries}/${String(hidden.body['id'])}`;
    expect(await ask(stranger, 'GET', path)).toMatchObject({ status: 404 });
    expect(await ask(viewer, 'GET', path)).toMatchObject({ status: 200, body: { projects: [] } });
    const refused = await ask(t.tokens.engineer, 'POST', entries, { ...note, projects: ['OPS'] });
    const message = 'projects: There is no project "OPS" in organization acme.';
    expect(refused).toMatchObject({ status: 400, body: { message } });
    expect(await ask(viewer, 'GET', `${entries}?project=OPS`)).toMatchObject({ status: 404 });
  });
});
