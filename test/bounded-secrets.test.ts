// Secret-like text: what is found, what passes, and that redaction leaves nothing of it (spec: bounded-claude 2 and 6).

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { findKnownSecrets, findSecrets, redact, redactKnown, settledLength } from '../domain/secrets/index.ts';
import { fixtureJson, randomHex, randomText } from './support/bounded.ts';

interface Row {
  id: string;
  kind: string;
  text_base64: string;
  why: string;
}

const rows = (name: string): Row[] => fixtureJson(name) as Row[];
const textOf = (row: Row): string => Buffer.from(row.text_base64, 'base64').toString('utf8');

describe('cases from the field', () => {
  test.each(rows('secrets-positive.json'))('spec: bounded-claude 2.6: rejects $id $kind: $why', async (row) => {
    expect(await findSecrets(textOf(row))).not.toEqual([]);
    expect(findKnownSecrets(textOf(row))).not.toEqual([]);
  });
  test.each(rows('secrets-negative.json'))('spec: bounded-claude 2.7: accepts $id $kind: $why', async (row) => {
    expect(await findSecrets(textOf(row))).toEqual([]);
  });
  test('g25, a choice: a token glued to a letter is found, and redaction leaves no tail', async () => {
    const row = rows('secrets-positive.json').find(({ id }) => id === 'P01');
    const value = /gh[a-z]_\w+/.exec(textOf(row!))?.[0] ?? '';
    expect((await redact(`x${value}-X end`)).text).toBe('x[redacted: github-token] end');
  });
});

/** Characters of a token's body, and its length. */
const alnum = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'];
const url64 = [...alnum, '-', '_'];
const hex = [...'0123456789abcdef'];
const upper = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'];
const body = (chars: string[], length: number): fc.Arbitrary<string> =>
  fc.noBias(fc.array(fc.constantFrom(...chars), { minLength: length, maxLength: length }))
    .map((parts) => parts.join(''))
    .filter((text) => /[A-Za-z]/.test(text) && /\d/.test(text) && new Set(text).size >= 8 && /^\w.*\w$/.test(text));

/** Prefixes are joined from parts, so that no file of ours looks like it held a token. */
const families: [kind: string, prefix: string[], chars: string[], length: number][] = [
  ...['p', 'o', 'u', 's', 'r'].map(
    (letter): [string, string[], string[], number] => ['github-token', ['gh', letter, '_'], alnum, 36],
  ),
  ['github-token', ['github', '_pat_'], alnum, 60],
  ['gitlab-token', ['gl', 'pat-'], url64, 20],
  ['gitlab-token', ['gl', 'rt-'], url64, 20],
  ['planner-token', ['pl', 't_'], url64, 43],
  ['npm-token', ['np', 'm_'], alnum, 36],
  ['pypi-token', ['pypi', '-AgE'], url64, 60],
  ['google-api-key', ['AI', 'za'], url64, 35],
  ['google-oauth-token', ['ya', '29.'], url64, 60],
  ['google-client-secret', ['GOC', 'SPX-'], url64, 28],
  ['openai-key', ['s', 'k-'], alnum, 48],
  ['openai-key', ['s', 'k-proj-'], url64, 64],
  ['openai-key', ['s', 'k-svcacct-'], url64, 64],
  ['anthropic-key', ['s', 'k-ant-api03-'], url64, 93],
  ['anthropic-key', ['s', 'k-ant-oat01-'], url64, 93],
  ['aws-access-key-id', ['AK', 'IA'], upper, 16],
  ['aws-access-key-id', ['AS', 'IA'], upper, 16],
  ['slack-token', ['xo', 'xb-'], alnum, 40],
  ['slack-token', ['xo', 'xp-'], alnum, 40],
  ['stripe-key', ['sk', '_live_'], alnum, 24],
  ['stripe-key', ['rk', '_live_'], alnum, 24],
  ['huggingface-token', ['h', 'f_'], alnum, 34],
  ['groq-key', ['gs', 'k_'], alnum, 52],
  ['xai-key', ['xa', 'i-'], alnum, 80],
  ['telegram-token', ['76833', '81393:AA'], alnum, 33],
  ['twilio-key', ['S', 'K'], hex, 32],
  ['databricks-token', ['da', 'pi'], hex, 32],
  ['digitalocean-token', ['dop', '_v1_'], hex, 64],
  ['shopify-token', ['shp', 'at_'], hex, 32],
  ['vault-token', ['hv', 's.'], alnum, 24],
  ['doppler-token', ['dp', '.pt.'], alnum, 40],
];

describe('token shapes, made up', () => {
  test.each(families.map(([kind, prefix, chars, length]) => ({ kind, prefix: prefix.join(''), chars, length })))(
    '$kind $prefix: found in prose, code and URLs, redacted whole',
    async ({ kind, prefix, chars, length }) => {
      const around = fc.constantFrom(
        ['see ', ' there'],
        ['"', '",'],
        ['\n\n', '\n'],
        ['(', ')'],
        ['https://h.test/?k=', '&b=1'],
        ['`', '`'],
      );
      await fc.assert(fc.asyncProperty(body(chars, length), around, async (random, [before = '', after = '']) => {
        const text = `${before}${prefix}${random}${after}`;
        const found = await findSecrets(text);
        expect(found.map((secret) => secret.kind)).toContain(kind);
        const { text: safe } = await redact(text);
        expect(safe).toBe(`${before}[redacted: ${kind}]${after}`);
      }), { numRuns: 25 });
    },
  );
  test('JSON Web Tokens, private keys of each kind, with and without their end', async () => {
    const jwt = ['ey', 'J', randomText(20), '.ey', 'J', randomText(30), '.', randomText(43)].join('');
    expect((await redact(`token ${jwt}!`)).text).toBe('token [redacted: jwt]!');
    for (const name of ['', 'RSA ', 'EC ', 'OPENSSH ', 'ENCRYPTED ', 'DSA ']) {
      const begin = `-----BEGIN ${name}PRIV${'ATE KEY'}-----`;
      const lines = `${randomText(64)}\n${randomText(64, 40)}`;
      const whole = `a\n${begin}\n${lines}\n${begin.replace('BEGIN', 'END')}\nb`;
      expect((await redact(whole)).text).toBe('a\n[redacted: private-key]\nb');
      expect((await redact(`a\n${begin}\n${lines}`)).text).toBe('a\n[redacted: private-key]');
    }
  });
});

const word = randomText(12);

describe('assignments of a literal to a name that means a secret', () => {
  test.each([
    `password: '${word}'`, `"password": "${word}"`, `"password" => "${word}"`, `password = "${word}"`,
    `DB_PASSWORD=${word}`,
    `export DB_PASSWORD="${word}"`, `db.password=${word}`, `  password: ${word}`, `\`password\`: \`${word}\``,
    `{\\"password\\": \\"${word}\\"}`, `config['password'] = '${word}'`, `const apiKey: string = '${word}';`,
    `api_key: ${randomHex(32)}`, `X-Api-Key: ${randomText(32)}`, `"client_secret": "${randomText(32)}"`,
    `Pwd=${word};Server=x`,
    `--password ${word}`, `--api-key=${word}`, `<password>${word}</password>`, `PASSWORD '${word}'`,
    `IDENTIFIED BY '${word}'`,
    `machine h login joe password ${word}`, `curl -u joe:${word} http://h.test`, `if (password === '${word}')`,
    `["password", "${word}"]`, `SECRET_KEY="${['let', 'me', 'in', 'now'].join('')}1!"`,
    `PGPASSWORD=${['sword', 'fish'].join('')} psql`,
    `"passphrase": "${['correct', 'horse', 'battery', 'staple'].join(' ')}"`, `password: |\n  ${word}`,
    `POSTGRES_PASSWORD_PROD: ${word}`, `jwtSecret: '${randomText(40)}'`, `_authToken=${randomText(36)}`,
  ])('rejects %j and redacts the value', async (text) => {
    const { text: safe, secrets } = await redact(text);
    expect(secrets).not.toEqual([]);
    for (const part of [
      word, randomText(9), randomHex(9), ['sword', 'fish'].join(''),
    ]) expect(safe).not.toContain(part);
    expect((await redact(safe)).text).toBe(safe);
  });
});

describe('headers and URLs', () => {
  test.each([
    `Authorization: Bearer ${randomText(40)}`, `"Authorization": "Bearer ${randomText(40)}"`,
    `bearer ${randomText(24)}`,
    `Authorization: Basic ${btoa(`joe:${word}`)}`, `Proxy-Authorization: Basic ${btoa(`joe:${word}`)}`,
    `postgresql://svc:${word}@db.internal.test:5432/app`, `https://joe:${word}@git.test/x.git`,
    `redis://:${word}@cache:6379/0`,
    `mongodb+srv://app:${word}@c.test/x`, `postgres://app:${word}@localhost/app`,
    `https://api.test/v1?access_token=${randomText(32)}`, `see (https://api.test/v1?a=1&api_key=${randomHex(32)}).`,
    `wss://api.test/#access_token=${randomText(32)}&state=x`, `GET /v1?client_secret=${randomText(32)} HTTP/1.1`,
  ])('rejects %j', async (text) => {
    const { text: safe, secrets } = await redact(text);
    expect(secrets).not.toEqual([]);
    expect(safe).not.toContain(word);
    expect(safe).not.toContain(randomText(12));
  });
  test('g19, a choice: a weak password of a database on this machine is no secret, a strong one is', async () => {
    expect(await findSecrets('postgres://postgres:postgres@localhost:5432/test')).toEqual([]);
    expect(await findSecrets('postgres://app:devpass@127.0.0.1/app')).toEqual([]);
    expect(await findSecrets(`postgres://app:${['dev', 'pass'].join('')}@db.prod.test/app`)).not.toEqual([]);
  });
});

describe('what passes', () => {
  test.each([
    `sha256:${randomHex(64)}`, `tokenizationId: ${randomHex(32)}`, `commit ${randomHex(40)}`,
    `golang.org/x/sys v0.5.0 h1:${randomText(43)}=`,
    `image@sha256:${randomHex(64)}`, `"integrity": "sha512-${randomText(86)}=="`,
    `ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI${randomText(43)} joe@host`,
    `-----BEGIN CERTIFICATE-----\n${randomText(64)}\n-----END CERTIFICATE-----`, 'api_key = "<your-api-key>"',
    'API_KEY=your_api_key_here',
    'password: changeme', 'token = process.env.GITHUB_TOKEN', 'password: ${DB_PASSWORD}',
    'password: "${DB_PASSWORD:-}"',
    'password: {{ .Values.db.password }}', 'secret: ${{ secrets.DEPLOY_KEY }}', 'password = os.getenv("DB_PASSWORD")',
    'password: string;',
    'password: z.string().min(8)', 'The password is hashed with argon2id before it is stored.',
    'Password: must have at least 12 characters',
    'token: the JWT that /login returns', '--color-token: #ff8800', 'postgres://user:password@db.test/app',
    'postgres://localhost:5432/planner',
    'xai-style-guide-for-frontend-components', 'glpat-rotation-runbook-for-operators',
    'passwordHash: "$2b$10$abcdefghijklmnopqrstuv"',
    'password_reset_url=https://x.test/reset', 'secretName: app-tls-cert',
    'secretKeyRef:\n  name: db-credentials\n  key: password',
    'token_type: bearer', "type: 'password'", "password: 'Password'", 'name="password"',
    'const password = req.body.password;',
    'password: hashedPassword,', 'token = await getToken()', 'secret = client.get_secret("db")', 'nextToken: abc123def',
    'Bearer <token>',
    'Authorization: Bearer $TOKEN', 'Authorization: Bearer YOUR_API_KEY', '"Authorization": "Bearer " + token',
    'bearer authentication is required',
    `GITHUB_TOKEN=gh${'p_'}${'x'.repeat(36)}`, `gh${'p_'}1234567890abcdefghijklmnopqrstuvwxyz`,
    `s${'k-'}1234567890abcdef1234567890abcdef`,
    'apiKey: undefined', 'api_key: str = Field(default=None)', 'password: Optional[str] = None',
    'PASSWORD_FILE=/run/secrets/db_password',
    'POSTGRES_PASSWORD: postgres', '- `token`: opaque, 32 bytes, base64url', 'password=%s', 'WHERE token = ?',
    'password = :password',
    `cache key: v3-${randomHex(40)}`, 'primary key: id', `public_key = "${randomText(44)}"`,
    `data:image/png;base64,${randomText(100)}`,
    'password.length >= 12', 'auth.token.refresh: 15m', 'token-bucket: 100/s', 'PASSWORD_MIN_LENGTH=12',
    'password: "[REDACTED]"',
    'http://user:***@host/', 'https://user:pass@example.com/', 'https://${USER}:${PASS}@h/', 'http://%s:%s@%s',
    'password: !Ref DbPassword',
    'password = data.aws_secretsmanager_secret_version.db.secret_string', 'passwordConfirm: "Passwords do not match"',
    '"password": "string"',
    'refresh_token: 30d', 'token: 2 per user', 'SECRET_KEY = secrets.token_urlsafe()', 'token: `Bearer ${jwt}`',
    'secret: projects/123/secrets/db/versions/1', 'token: sha256(user.id + salt)',
    'error: invalid token: unexpected end of JSON input', `https://api.test/v1?page_token=${randomText(32)}`,
    'https://api.test/v1?access_token=$TOKEN', 'https://api.test/?access_token={token}&x=1',
    'https://api.test/v1?token=YOUR_TOKEN', `https://api.test/f?commit=${randomHex(40)}`,
    'plt_tokens_are_made_by_planner_token_create',
  ])('accepts %j', async (text) => {
    expect(await findSecrets(text)).toEqual([]);
  });
  test('spec: bounded-claude 2.7: digests, UUIDs and slugs of any make', async () => {
    const slug = fc.array(
      fc.constantFrom('risk', 'desk', 'task', 'disk', 'rate', 'limiter', 'worker', 'plan', 'frontend', 'store'),
      { minLength: 3, maxLength: 7 },
    );
    await fc.assert(fc.asyncProperty(fc.uuid(), slug, fc.constantFrom(32, 40, 64, 128), async (uuid, words, length) => {
      const digest = uuid.replaceAll('-', '').repeat(4).slice(0, length);
      expect(
        await findSecrets(`run ${uuid}, commit ${digest}, ${words.join('-')}, ${words.join('_')}: ok`),
      ).toEqual([]);
    }), { numRuns: 60 });
  });
});

describe('redaction', () => {
  const value = ['gh', 'p_', randomText(36)].join('');
  test('a comment in the text switches no rule off', async () => {
    const key = ['s', 'k-ant-api03-', randomText(93), 'AA'].join('');
    expect(await findSecrets(`<!-- secretlint-disable -->\n${key}`)).toMatchObject([{ line: 2 }]);
  });
  test('spec: bounded-claude 7.2: a secret split over two deltas or events is caught once they are joined', async () => {
    for (let cut = 1; cut < value.length; cut++) {
      const joined = [`a ${value.slice(0, cut)}`, `${value.slice(cut)} b`].join('');
      expect(redactKnown(joined)).toBe('a [redacted: github-token] b');
    }
  });
  test('text that still grows is settled by whole lines, so that no first half of a secret is shown', () => {
    const text = `first line\nuse ${value} now\nlast`;
    for (let end = 0; end <= text.length; end++) {
      const shown = redactKnown(text.slice(0, settledLength(text.slice(0, end))));
      expect(redactKnown(text).startsWith(shown)).toBe(true);
    }
    const key = `a\n-----BEGIN PRIV${'ATE KEY'}-----\n${randomText(64)}\n`;
    expect(settledLength(key)).toBe(2);
    expect(settledLength(`${key}-----END PRIV${'ATE KEY'}-----\n`)).toBeGreaterThan(key.length);
  });
  test('a character without width inside a secret hides nothing of it', async () => {
    const marks = ['\u200b', '\u200c', '\u200d', '\u2060', '\ufeff', '\u00ad', '\u034f', '\ufe0f', '\u{e0041}'];
    const hidden = fc.constantFrom(...marks);
    const places = fc.uniqueArray(fc.integer({ min: 1, max: value.length - 1 }), { minLength: 1, maxLength: 4 });
    await fc.assert(fc.asyncProperty(hidden, places, async (mark, cuts) => {
      const text = [...value].map((letter, index) => (cuts.includes(index) ? mark + letter : letter)).join('');
      const { text: safe, secrets } = await redact(`\u{1f600}\u200b\na ${text} b\u200b\n`);
      expect(safe).toBe('\u{1f600}\u200b\na [redacted: github-token] b\u200b\n');
      expect(secrets).toMatchObject([{ kind: 'github-token', line: 2 }]);
      expect(redactKnown(`a ${text} b`)).toBe('a [redacted: github-token] b');
    }));
    expect(await findSecrets(`pass\u200bword: '${word}'`)).not.toEqual([]);
    const harmless = 'A zero\u200bwidth space, a soft\u00adhyphen and \ufeff a mark are no secret.';
    expect(await findSecrets(harmless)).toEqual([]);
  });
  test('twice is once, lines are right, and everything else stays as it was', async () => {
    const line = fc.string({ maxLength: 40 }).filter((text) => !/[\r\n]/.test(text));
    await fc.assert(fc.asyncProperty(fc.array(line, { maxLength: 6 }), fc.nat(6), async (lines, at) => {
      const index = Math.min(at, lines.length);
      const all = [...lines.slice(0, index), value, ...lines.slice(index)];
      const { text, secrets } = await redact(all.join('\n'));
      expect(secrets.some((secret) => secret.line === index + 1)).toBe(true);
      expect(text).not.toContain(randomText(36));
      expect((await redact(text)).text).toBe(text);
    }), { numRuns: 100 });
  });
  test('100,000 characters of any kind take no long time', async () => {
    for (const unit of [
      'a', 'a.', 'password ', 'password=', '"a": "b", ', '-----BEGIN ', 'eyJ', '://a:', ' '.repeat(50),
    ]) {
      const started = performance.now();
      await findSecrets(unit.repeat(Math.ceil(100_000 / unit.length)));
      expect(performance.now() - started, JSON.stringify(unit)).toBeLessThan(3000);
    }
  });
});
