// Secrets by their place: a literal given to a name that means a secret, headers, URLs with a password
// (spec: bounded-claude 2).

import { isKeyword, isPlaceholder, isRandom, isReference, isSequence } from './harmless.ts';
import type { Found } from './shapes.ts';

/** Splits a name at hyphens, underscores, dots and humps. */
function wordsOf(name: string): string[] {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/([A-Z]+)([A-Z][a-z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '');
}

const trailing = new Set(
  ('prod production staging stage live dev old new current primary secondary main value plain plaintext'
    + ' b64 base64 raw').split(' '),
);
const nouns =
  /(?:pass(?:word|wd|phrase|code)|secret|(?:api|access|secret|private)key|(?:auth|access|refresh)token)$/;
const otherPass = /^(?:first|second|third|one|two|single|multi|by|render|compiler|tests?|let|must|should)$/;
const otherToken =
  /^(?:max|min|next|page|continuation|cancell?ation|cancel|abort|stop|start|end|eos|bos|pad|unk|mask|syntax|lexer)$/;
const single = new Set('token pwd pass credential credentials secrets passwords'.split(' '));
const keyWords = new Set(
  ('api access secret private signing encryption auth master account shared service admin session cookie app'
    + ' application deploy license ssh hmac client subscription storage project webhook').split(' '),
);

/** True when a name means a secret itself: `DB_PASSWORD`, `apiKey`, `x-auth-token`; not `password_reset_url`. */
export function isSecretName(name: string): boolean {
  const words = wordsOf(name);
  while (words.length > 1 && (trailing.has(words.at(-1)!) || /^\d+$/.test(words.at(-1)!))) words.pop();
  const last = words.at(-1) ?? '';
  const before = words.at(-2) ?? '';
  if (nouns.test(last)) return true;
  if (last === 'pass') return before !== '' && !otherPass.test(before);
  if (single.has(last)) return !otherToken.test(before);
  if (last === 'key') return keyWords.has(before);
  return (last === 'auth' || last === 'pat') && name.startsWith('_');
}

const nameSource = String.raw`(?<![\w$.-])(?<name>[A-Za-z_$-][\w$.-]{0,80})\\{0,3}["'${'`'}]?\]?`;
const operator = String.raw`[ \t]{0,20}(?:=>|:=|\?=|[!=]==?|=|:)[ \t]{0,20}`;
const quotedValue = String.raw`[bfruBFRU@$]{0,2}(?<quote>\\{0,3}["'${'`'}])(?<value>[^\r\n]{0,400}?)\k<quote>`;
const typed = String.raw`\??[ \t]{0,3}:[ \t]{0,3}[A-Za-z_][\w.|<>\[\] ]{0,40}?[ \t]{0,3}=[ \t]{0,3}`;

const quoted = new RegExp(`${nameSource}(?:${operator}(?:\\r?\\n[ \\t]*)?|${typed})${quotedValue}`, 'g');
const pair = new RegExp(
  String.raw`["'${'`'}](?<name>[A-Za-z_][\w.-]{0,80})["'${'`'}][ \t]{0,3},[ \t]{0,3}${quotedValue}`,
  'g',
);
const bare = new RegExp(
  `${nameSource}(?<operator>${operator})(?<value>[^\\s"'\`,;<>()\\[\\]{}|&]{1,400})(?<after>[^\\r\\n]{0,80})`,
  'g',
);
const block = new RegExp(`${nameSource}:[ \\t]{0,3}[|>][+-]?[ \\t]*\\r?\\n[ \\t]+(?<value>[^\\s"'\`]{4,400})`, 'g');
const flag = /(?<![\w-])--?(?<name>[a-z][\w-]{1,60})[ \t]+(?<value>[^\s"'`<>$-][^\s"'`<>]{3,400})/g;
/** A parameter of an address, which the scheme before it hides from the other patterns. */
const inAddress = String.raw`[^\s"'${'`'}<>&#()\[\]{}|,;\\`;
const parameter = new RegExp(
  String.raw`[?&#](?<name>[A-Za-z_][\w.-]{0,80})=(?<value>${inAddress}]{3,400}${inAddress}.:!?])`,
  'g',
);
const element = /<(?<name>[A-Za-z_][\w.-]{0,80})>(?<value>[^<>\r\n]{1,400})<\//g;
const sql = /\b(?<name>identified[ \t]+by|password)[ \t]+(?<quote>')(?<value>[^'\r\n]{4,200})'/gi;
const netrc = /\b(?<name>login[ \t]+\S+\s+password)[ \t]+(?<value>\S{4,200})/g;
const wget = /(?<name>(?<!\S)(?:-u|--user))[ \t=]+["']?[^\s:"'@/]{1,80}:(?<value>[^\s"'@:]{4,200})/g;

/** Every literal that is given to a name that means a secret. */
export function findAssignments(text: string): Found[] {
  const found: Found[] = [];
  const add = (pattern: RegExp, literal: (groups: Groups) => boolean, named = true): void => {
    for (const match of text.matchAll(pattern)) {
      const groups = match.groups as unknown as Groups;
      if (named && !isSecretName(groups.name)) continue;
      if (!literal(groups)) continue;
      const start = text.indexOf(groups.value, match.index + groups.name.length);
      found.push({ kind: kindOf(groups.name), start, end: start + groups.value.length });
    }
  };
  add(quoted, isQuotedLiteral);
  add(pair, (groups) => isQuotedLiteral(groups) && isStrong(groups.value));
  add(bare, isBareLiteral);
  add(block, ({ value }) => isStrong(value) && !isReference(value));
  add(flag, ({ value }) => isStrong(value) && !isReference(value));
  add(parameter, ({ value }) => isStrong(value) && !isReference(value));
  add(element, ({ value }) => isStrong(value) && !isReference(value));
  add(sql, isQuotedLiteral, false);
  add(netrc, ({ value }) => isStrong(value) && !isReference(value), false);
  add(wget, ({ value }) => isStrong(value) && !isReference(value), false);
  return found;
}

interface Groups {
  name: string;
  value: string;
  operator?: string;
  after?: string;
}

function kindOf(name: string): string {
  const words = wordsOf(name).join('-');
  if (/pass|pwd|^-u$|user|identified/.test(words)) return 'password';
  if (/key/.test(words)) return 'key';
  return /token|auth/.test(words) ? 'token' : 'secret';
}

/** Also a placeholder behind a token's prefix, that counts up. */
const isHarmless = (value: string): boolean =>
  isPlaceholder(value) || isKeyword(value) || isReference(value) || isSequence(value.replace(/^[a-z]{2,6}[_-]/, ''));

/** Digits and letters mixed, a sign that words don't hold, or a random run: nobody writes that in prose. */
function isStrong(value: string): boolean {
  if (value.length < 6 || isHarmless(value)) return false;
  if (/^#[0-9a-f]{3,8}$/i.test(value)) return false;
  if (isRandom(value)) return true;
  const letters = /[A-Za-z]/.test(value);
  const mixed = /\d/.test(value) && !/^[a-z]+\d{1,2}$/i.test(value) && !/^v?\d+(?:\.\d+)+/.test(value);
  return letters && (mixed || /[!#%^&*+=~@?]/.test(value));
}

const secretNoun = /pass|secret|token|key|credential|auth|pwd|login/i;

function isQuotedLiteral({ name, value }: Groups): boolean {
  const text = value.trim();
  if (text.length < 4 || isHarmless(text)) return false;
  if (/\s/.test(text)) return isPhrase(name, text.split(/\s+/));
  if (/^[A-Z]?[a-z]+(?:[-_. ]?[A-Za-z][a-z]*)*$|^[A-Z_]+$/.test(text) && secretNoun.test(text)) return false;
  if (/^\d{1,5}$/.test(text) || (/^\d+$/.test(text) && /token/i.test(name))) return false;
  return !/^(?:https?|wss?):\/\/[^@]*$/.test(text);
}

/**
 * A value with spaces: prose, unless a word of it is random or has digits and signs, or it is a passphrase of words.
 */
function isPhrase(name: string, words: string[]): boolean {
  if (words.some(
    (word) => isRandom(word) || (/\d/.test(word) && /[^\w.,:-]/.test(word) && isStrong(word)),
  )) return true;
  const plain = /^(?!the$|for$|your$|enter$|must$|and$|with$|from$|that$|this$|not$|has$|passphrase$)[a-z]{3,}$/;
  return /passphrase|mnemonic/i.test(name) && words.length >= 4 && words.every((word) => plain.test(word));
}

/** Without quotes: an environment line, an ini or YAML value; not prose, not a variable, not a type. */
function isBareLiteral({ name, value, operator: sign, after }: Groups): boolean {
  const text = value.replace(/[.,:!?]+$/, '');
  if (text.length < 4 || isHarmless(text) || isPlaceholder(value) || /^\s*[(\[{]/.test(after ?? '')) return false;
  if (/^(?:https?|wss?):\/\/[^@]*$/.test(text)) return false;
  if (isStrong(text) && !isIdentifier(text)) return !/^\s+[a-z]+\s+[a-z]/i.test(after ?? '') || isRandom(text);
  if (/^\d+$/.test(text)) return text.length >= 6 && !/token/i.test(name) && /^\s*(?:[#;].*)?$/.test(after ?? '');
  const line = /^[A-Z][A-Z0-9_]*$/.test(name) && sign === '=';
  return line && text.length >= 6;
}

/** A variable that is named for what it holds (`newPassword2`), or words in snake or camel case. */
const isIdentifier = (text: string): boolean =>
  /^[A-Za-z_]\w*$/.test(text) && !isRandom(text, 10) && secretNoun.test(text);

const bearer = /\b(?<name>Bearer|Basic|Token)[ \t]+(?<value>[A-Za-z0-9._~+/=-]{16,})/gi;
const header = new RegExp(
  String.raw`\b(?<name>(?:Proxy-)?Authorization)["']?[ \t]*[:=][ \t]*["']?`
    + String.raw`(?:(?:Bearer|Basic|Token|ApiKey|Bot|AWS)[ \t]+)?(?<value>[A-Za-z0-9._~+/=-]{8,})`,
  'gi',
);

/** Credentials of an HTTP request. */
export function findHeaders(text: string): Found[] {
  return [bearer, header].flatMap((pattern) => [...text.matchAll(pattern)].flatMap((match) => {
    const value = match.groups?.['value'] ?? '';
    const strong = pattern === bearer ? isRandom(value) : isRandom(value, 12) || /^.{7,}=$/.test(value);
    if (!strong || isHarmless(value)) return [];
    const start = match.index + match[0].length - value.length;
    return [{ kind: 'authorization-header', start, end: start + value.length }];
  }));
}

const url = new RegExp(
  '(?<![A-Za-z0-9+.-])[a-z][a-z0-9+.-]{1,30}://(?<user>[^\\s:/@"\'`<>]{0,200}):(?<value>[^\\s/"\'`<>]{1,300})'
    + '@(?<host>[^\\s/"\'`<>:?#,]{1,255})',
  'gi',
);

/** URLs with a password. A weak one of a database on this machine is what examples and tests use, no secret. */
export function findUrls(text: string): Found[] {
  return [...text.matchAll(url)].flatMap((match) => {
    const { user = '', value = '', host = '' } = match.groups ?? {};
    if (isHarmless(value) || /^[{(%]/.test(value)) return [];
    const local = /^(?:localhost|127(?:\.\d+){3}|0\.0\.0\.0|\[?::1\]?|host\.docker\.internal)$/i.test(host);
    if (local && (value === user || /^[a-z_-]{1,20}\d{0,4}$/.test(value))) return [];
    const start = match.index + match[0].length - host.length - 1 - value.length;
    return [{ kind: 'url-password', start, end: start + value.length }];
  });
}
