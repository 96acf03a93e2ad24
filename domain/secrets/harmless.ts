// What only looks like a secret: placeholders, masks, references, slugs, type names (spec: bounded-claude 2).

const placeholderWords =
  /example|placeholder|change[-_]?me|replace[-_ ]?(?:me|this|with)|redacted|dummy|not[-_]a?[-_]?real|your[-_]|\.{3}|…/i;

const placeholderParts = new Set(
  ('your my the a some any this that here password passwd passphrase pass pwd secret secrets token tokens'
    + ' key keys apikey api value string text username user name credential credentials auth access client todo'
    + ' fixme insert fake sample demo test testing foo bar baz qux none null nil empty hidden masked changed'
    + ' unset private public github gitlab openai anthropic aws db database app service root admin postgres'
    + ' guest default local new old current bearer basic bot webhook').split(' '),
);

/** True for a value that stands for a secret without being one: words, masks, one or two repeated characters. */
export function isPlaceholder(value: string): boolean {
  const text = value.trim();
  if (text === '') return true;
  if (/^\[redacted/i.test(text)) return true;
  if (/^[<\[({].*[>\])}]$/.test(text) || placeholderWords.test(text)) return true;
  if (/^[*•·.xX#_?\-–—]+$/.test(text) || /\*{3,}|•{3,}|[xX]{5,}/.test(text)) return true;
  if (text.length >= 3 && new Set(text.toLowerCase()).size <= 2) return true;
  const parts = text.toLowerCase().split(/[^a-z0-9]+|(?<=[a-z])(?=[0-9]+$)/).filter((part) => part !== '');
  return parts.length > 0 && parts.every((part) => placeholderParts.has(part) || /^\d{1,2}$/.test(part));
}

/** True for a body that counts up or repeats itself: `1234567890abcdef`, `abcabcabcabc`. */
export function isSequence(body: string): boolean {
  const text = body.toLowerCase();
  if (text.length < 12) return false;
  let steps = 0;
  for (let i = 1; i < text.length; i++) {
    const step = text.charCodeAt(i) - text.charCodeAt(i - 1);
    if (step === 0 || step === 1) steps++;
  }
  if (steps / (text.length - 1) >= 0.7) return true;
  return /^(.{1,6})\1{2,}/.test(text) && new Set(text).size <= 8;
}

/**
 * True for words joined by hyphens, dots or underscores: a file name, a Kubernetes name, an identifier; no random key.
 */
export function isSlug(body: string): boolean {
  const parts = body.split(/[-_.]+/).filter((part) => part !== '');
  const odd = parts.filter((part) => !isWordy(part));
  if (odd.some((part) => part.length >= 12 || !/^[a-z0-9]+$/.test(part))) return false;
  return odd.reduce((sum, part) => sum + part.length, 0) < Math.max(12, body.length / 2);
}

/**
 * True for a word in one case, a capitalized one, or several in camelCase, a number behind; `limit`, `HTTP`,
 * `rateLimit2`.
 */
function isWordy(part: string): boolean {
  const text = part.replace(/\d{1,8}$/, '');
  if (text === '') return true;
  if (/[bcdfghjklmnpqrstvwxz]{6,}/i.test(text)) return false;
  if (/^(?:[a-z]+|[A-Z]+|[A-Z][a-z]+)$/.test(text)) return true;
  const humps = /^[A-Z]?[a-z]{2,}(?:[A-Z][a-z]+)*$/.test(text) ? (text.match(/[A-Z]?[a-z]+/g) ?? []) : [];
  return humps.length > 0 && text.length / humps.length >= 3.5;
}

/** True for a key-like text: long enough, of several kinds of characters, neither slug nor placeholder nor sequence. */
export function isRandom(body: string, least = 16): boolean {
  if (body.length < least || isPlaceholder(body) || isSequence(body)) return false;
  return !isSlug(body);
}

const keywords = new Set(
  ('true false yes no on off null none nil undefined void any unknown never string str text number int'
    + ' integer bool boolean bytes byte optional required secretstr auto random generated disabled enabled'
    + ' prompt ask stdin env inherit self varchar char uuid object array dict list option result plain hashed'
    + ' encrypted opaque jwt oauth oauth2 bcrypt argon2 argon2id scrypt pbkdf2 base64 hex md5 sha1 sha256 sha384'
    + ' sha512 hs256 hs512 rs256 es256 eddsa ed25519 utf8').split(' '),
);

/** True for a type, a flag or the name of a method: nothing that anybody could log in with. */
export const isKeyword = (value: string): boolean => keywords.has(value.toLowerCase().replace(/[?!.,;:]+$/, ''));

/** True for a value that says where the secret is instead of what it is. */
export function isReference(value: string): boolean {
  const text = value.trim();
  if (/^(?:\$|%[A-Za-z_(]|\{\{|@|!|&|#\{|\/\/?[\w.]|\.{1,2}\/|~\/|<%|<)/.test(text)) {
    return !/^[$@!&][^A-Za-z_({$\d]/.test(text);
  }
  if (/\$\{[^}]*\}|\{\{.*\}\}|\$\([^)]*\)/.test(text)) return true;
  if (/^(?:env|vault|ssm|secretsmanager|op|keyring|file|arn|ref|kms|sops|config|sm):/i.test(text)) return true;
  if (/^(?:sha(?:1|224|256|384|512)|md5|blake[23]\w*|h1)[:=-]/i.test(text)) return true;
  if (/^[\w.-]+(?:\/[\w.-]+){2,}$/.test(text) && isSlug(text.replaceAll('/', '-'))) return true;
  return /^[A-Za-z_$][\w$]*(?:(?:::|->|\?\.|\.)[A-Za-z_$][\w$]*)*\s*(?:\(|\[)/.test(text) || isMember(text);
}

/** `var.db_password`, `settings.SECRET_KEY`, `process.env.TOKEN`: names joined by dots, none of them random. */
function isMember(text: string): boolean {
  if (!/^[A-Za-z_$][\w$]*(?:(?:::|->|\?\.|\.)[A-Za-z_$][\w$]*)+[!;,]?$/.test(text)) return false;
  return text.split(/::|->|\?\.|\./).every((part) => !isRandom(part, 20));
}
