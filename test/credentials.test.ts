// Credentials of model providers: sealed, bound to their place, shown as fingerprints, told to nobody (spec: planner 9).

import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { keepSecretKey } from '../cli/stack/stack-file.ts';
import { resealCommand } from '../cli/credentials.ts';
import { systemActor } from '../domain/actor.ts';
import { openCredential } from '../store/credentials.ts';
import { transaction } from '../store/database.ts';
import { createOrganization, createProject } from '../store/projects.ts';
import { bindRole } from '../store/role-bindings.ts';
import { CannotOpen, keyring, newSecretKey, seal, unseal } from '../store/sealing.ts';
import { createSubject } from '../store/tokens.ts';
import { inHours, makeToken, startTestApi, type TestApi } from './support/api.ts';

const apiKey = 'sk-live-ABCDEF0123456789xyz';
const oldKey = newSecretKey();
const newKey = newSecretKey();

describe('spec: planner 9.3: sealing', () => {
  const keys = keyring([oldKey]);

  test('spec: planner 9.3: what is sealed opens at its place, and at no other', () => {
    fc.assert(
      fc.property(fc.string(), fc.array(fc.string(), { minLength: 1 }), fc.array(fc.string()), (text, place, other) => {
        const sealed = seal(keys, place, text);
        expect(unseal(keys, place, sealed)).toBe(text.toWellFormed());
        fc.pre(JSON.stringify(place) !== JSON.stringify(other));
        expect(() => unseal(keys, other, sealed)).toThrow(CannotOpen);
      }),
      { numRuns: 100 },
    );
  });

  test('the same secret never looks the same, and a changed bit is noticed', () => {
    const one = seal(keys, ['a'], apiKey);
    expect(one.sealed.equals(seal(keys, ['a'], apiKey).sealed)).toBe(false);
    expect(one.sealed.includes(apiKey)).toBe(false);
    for (let i = 0; i < one.sealed.length; i++) {
      const changed = Buffer.from(one.sealed);
      changed[i]! ^= 1;
      expect(() => unseal(keys, ['a'], { ...one, sealed: changed })).toThrow(CannotOpen);
    }
  });

  test('a key that is not there opens nothing; what a former key sealed opens while it is kept', () => {
    const sealed = seal(keys, ['a'], apiKey);
    expect(() => unseal(keyring([newKey]), ['a'], sealed)).toThrow('the key that sealed it is not here');
    expect(unseal(keyring([newKey, oldKey]), ['a'], sealed)).toBe(apiKey);
    expect(seal(keyring([newKey, oldKey]), ['a'], apiKey).key_id).not.toBe(sealed.key_id);
  });
});

describe('spec: planner 9.4: the embedded stack makes its own key', () => {
  let home = '';
  beforeAll(() => {
    home = mkdtempSync(path.join(tmpdir(), 'planner-key-'));
  });
  afterAll(() => rmSync(home, { recursive: true }));

  test('spec: planner 9.4: readable by its owner only, and the same from start to start', () => {
    const key = keepSecretKey(home);
    expect(keyring([key])).toHaveLength(1);
    expect(statSync(path.join(home, 'secret.key')).mode & 0o777).toBe(0o600);
    expect(keepSecretKey(home)).toBe(key);
    expect(readFileSync(path.join(home, 'secret.key'), 'utf8').trim()).toBe(key);
  });

  test('one that was emptied is not silently replaced', () => {
    writeFileSync(path.join(home, 'secret.key'), '\n');
    expect(() => keepSecretKey(home)).toThrow(/secret\.key is empty or can't be read/);
  });
});

describe('spec: planner 9, 10: over REST', () => {
  let planner: TestApi;
  let tokens: { admin: string; manager: string; engineer: string; stranger: string; rival: string };
  beforeAll(async () => {
    planner = await startTestApi({ gateway: { keys: keyring([oldKey]) }, checkAnswers: true });
    const { database, web } = planner;
    await transaction(database, async (tx) => {
      const { id: organization_id } = await createOrganization(tx, systemActor, { key: 'rival', name: 'Rival' });
      await createProject(tx, systemActor, { organization_id, key: 'RIV', name: 'Rival' });
      for (const [subject, at] of [['manager', web.organization_id], ['rival', organization_id]] as const) {
        await createSubject(tx, { subject, kind: 'human', name: subject });
        await bindRole(tx, systemActor, { subject, role: 'organization-admin', organization_id: at });
      }
    });
    const token = async (subject: string): Promise<string> =>
      (await makeToken(database, { subject, expires_at: inHours(1) })).token;
    tokens = { ...planner.tokens, manager: await token('manager'), rival: await token('rival') };
  });
  afterAll(() => planner.close());

  const places = ['/api/v1/organizations/acme', '/api/v1/projects/WEB'];
  const set = (at: string, provider: string, body: object, token = tokens.manager) =>
    planner.rest(token, 'PUT', `${at}/credentials/${provider}`, body);

  test.each(places)('spec: planner 9.5: %s: set, listed, replaced and deleted; the key itself is never answered', async (at) => {
    const made = await set(at, 'openai', { api_key: apiKey });
    expect(made).toMatchObject({ status: 200, body: { provider: 'openai', created_by: 'manager' } });
    expect(made.body['fingerprint']).toMatch(/^sha256:[0-9a-f]{8}$/);
    const again = await set(at, 'openai', { api_key: 'another-key-1', base_url: 'https://models.example/v1' });
    expect(again.body).toMatchObject({ base_url: 'https://models.example/v1' });
    expect(again.body['fingerprint']).not.toBe(made.body['fingerprint']);
    const list = await planner.rest(tokens.manager, 'GET', `${at}/credentials`);
    expect(list.body.items).toEqual([again.body]);
    expect((await planner.rest(tokens.manager, 'GET', `${at}/credentials/openai`)).body).toEqual(again.body);
    expect(JSON.stringify([made, again, list])).not.toMatch(/sk-live|another-key/);
    expect((await planner.rest(tokens.manager, 'DELETE', `${at}/credentials/openai`)).status).toBe(204);
    expect((await planner.rest(tokens.manager, 'DELETE', `${at}/credentials/openai`)).status).toBe(404);
    expect((await planner.rest(tokens.manager, 'GET', `${at}/credentials`)).body.items).toEqual([]);
  });

  test('spec: planner 9.5: neither the table nor the events hold the key; events name who and which provider', async () => {
    await set(places[1]!, 'mistral', { api_key: apiKey, base_url: 'https://models.example/v1' });
    const [row] = await planner.database.query<{ sealed: Buffer }>('SELECT * FROM credentials');
    expect(JSON.stringify(row)).not.toContain(apiKey);
    expect(row!.sealed.includes(apiKey)).toBe(false);
    const events = await planner.database.query<{ type: string; actor: object; payload: object; project_id: string }>(
      `SELECT type, actor, payload, project_id FROM events WHERE entity_type = 'credential' ORDER BY occurred_at, seq`,
    );
    expect(JSON.stringify(events)).not.toMatch(/sk-live|sha256/);
    expect(events.at(-1)).toEqual({
      type: 'credential.set',
      actor: { kind: 'human', subject: 'manager' },
      payload: { provider: 'mistral' },
      project_id: planner.web.id,
    });
    expect(events.map(({ type }) => type)).toContain('credential.deleted');
  });

  test('the store gives a project its own key, else its organization\'s, and another project none of it', async () => {
    const keys = keyring([oldKey]);
    const { database, web, ops } = planner;
    await set(places[0]!, 'openai', { api_key: 'organization-key' });
    await set(places[1]!, 'openai', { api_key: 'project-key' });
    expect(await openCredential(database, keys, web, 'openai')).toMatchObject({ from: 'project', apiKey: 'project-key' });
    expect(await openCredential(database, keys, ops, 'openai')).toMatchObject({ from: 'organization', apiKey: 'organization-key' });
    expect(await openCredential(database, keys, ops, 'mistral')).toBeUndefined();
  });

  test.each([
    ['moved to another project', 'project_id = $2'],
    ['given another endpoint', "base_url = 'https://thief.example/v1', project_id = coalesce($2, project_id)"],
  ])('spec: planner 9.3: a sealed key that was %s in the database does not open', async (_, change) => {
    const { database, web, ops } = planner;
    await set(places[1]!, 'moved', { api_key: apiKey, base_url: 'https://models.example/v1' });
    const to = change.startsWith('project_id') ? ops : web;
    await database.query(`UPDATE credentials SET ${change} WHERE provider = 'moved' AND project_id = $1`, [web.id, to.id]);
    await expect(openCredential(database, keyring([oldKey]), to, 'moved')).rejects.toThrow(CannotOpen);
    await database.query(`DELETE FROM credentials WHERE provider = 'moved'`);
  });

  test.each<[string, object, RegExp]>([
    ['no key', {}, /api_key is required/],
    ['a key with a line end', { api_key: 'sk-secret\nx' }, /api_key must be 1-500 visible characters/],
    ['a key that is too long', { api_key: 'sk-secret'.repeat(100) }, /api_key must be/],
    ['no http address', { api_key: apiKey, base_url: 'ftp://sk-secret.example' }, /base_url must be an http/],
    ['an address with a password', { api_key: apiKey, base_url: 'https://me:sk-secret@x.example' }, /base_url must be/],
    ['an unknown field', { api_key: apiKey, key: 'sk-secret' }, /unknown field "key"/],
  ])('%s is refused without being repeated', async (_, body, complaint) => {
    const { status, body: answer } = await set(places[1]!, 'openai', body);
    expect(status).toBe(400);
    expect(answer['message']).toMatch(complaint);
    expect(answer['message']).not.toContain('sk-secret');
  });

  test('a provider has a name of its own form, and another than openai an endpoint', async () => {
    expect(await set(places[1]!, 'Open AI', { api_key: apiKey })).toMatchObject({ status: 400 });
    const { status, body } = await set(places[1]!, 'other', { api_key: apiKey });
    expect(status).toBe(400);
    expect(body['message']).toContain('base_url is required for the provider "other"');
  });

  test.each(['GET', 'PUT', 'DELETE'])('%s needs credential.manage; whoever sees nothing learns nothing', async (method) => {
    const body = method === 'PUT' ? { api_key: apiKey } : undefined;
    for (const at of places) {
      const one = `${at}/credentials/openai`;
      expect((await planner.rest(tokens.engineer, method, one, body)).status, 'engineer').toBe(403);
      for (const token of [tokens.stranger, tokens.rival]) {
        const there = await planner.rest(token, method, one, body);
        const nowhere = await planner.rest(token, method, one.replace('acme', 'nope').replace('WEB', 'NOPE'), body);
        expect([there.status, nowhere.status]).toEqual([404, 404]);
        expect(JSON.stringify(there.body).replace('acme', 'nope').replace('WEB', 'NOPE')).toBe(JSON.stringify(nowhere.body));
      }
    }
  });

  test('without a sealing key a credential is refused, and the answer says what to set', async () => {
    const bare = await startTestApi();
    try {
      const { status, body } = await bare.rest(bare.tokens.admin, 'PUT', '/api/v1/projects/WEB/credentials/openai', { api_key: apiKey });
      expect(status).toBe(503);
      expect(body['message']).toContain('Set PLANNER_SECRET_KEY');
      expect(body['message']).not.toContain(apiKey);
    } finally {
      await bare.close();
    }
  });

  test('rotation: sealed anew under the newest key, what cannot be opened is named', async () => {
    const { database, web } = planner;
    await database.query('DELETE FROM credentials');
    await set(places[0]!, 'openai', { api_key: 'organization-key' });
    await set(places[1]!, 'openai', { api_key: 'project-key' });
    await set(places[1]!, 'lost', { api_key: 'lost-key', base_url: 'https://models.example/v1' });
    await database.query(`UPDATE credentials SET key_id = 'elsewhere' WHERE provider = 'lost'`);
    const env = {
      PLANNER_DATA_DIR: path.join(tmpdir(), 'planner-nowhere'),
      PLANNER_SECRET_KEY: newKey,
      PLANNER_SECRET_KEYS_OLD: oldKey,
    };
    const told = await resealCommand(database.url, env);
    expect(told).toContain('Sealed anew: 2.');
    expect(told).toContain('lost of project WEB');
    expect(told).not.toContain('can be unset');
    expect((await openCredential(database, keyring([newKey]), web, 'openai'))?.apiKey).toBe('project-key');
    await database.query(`DELETE FROM credentials WHERE provider = 'lost'`);
    expect(await resealCommand(database.url, env)).toContain('already: 2.\nNo other key is needed any more');
    await expect(resealCommand(database.url, { PLANNER_DATA_DIR: env.PLANNER_DATA_DIR })).rejects.toThrow(/PLANNER_SECRET_KEY/);
  });
});
