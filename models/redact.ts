// Keeps credentials out of what a provider says before a person reads it.

import { firstCharacters, storable } from '../domain/text.ts';

const mark = '[redacted]';

const patterns: readonly RegExp[] = [
  /-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|$)/gs,
  /\b(?:Bearer|Basic)\s+[\w.~+/=*-]{6,}/gi,
  /\b(?:sk|pk|rk|xai|gsk|hf|ghp|gho|ghu|ghs|ghr|glpat|npm|plt|xox[a-z]|github_pat)[-_][\w*.-]{4,}/g,
  /\bAIza[\w-]{10,}/g,
  /\bA(?:KIA|SIA)[A-Z0-9]{12,}/g,
  /\beyJ[\w-]{8,}(?:\.[\w-]*){0,2}/g,
  /(?<=:\/\/)[^/\s@]+@/g,
  /(?<=\b(?:key|token|secret|password)["']?(?:\s+(?:is|provided))?\s*[=:]\s*["']?)[^\s"',;&]{6,}/gi,
  /(?<=_(?:key|token|secret|password)["']?\s*[=:]\s*["']?)[^\s"',;&]{6,}/gi,
  /\b(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{32,}\b/g,
];

/**
 * A provider's own words, safe to show: credentials out (`secrets` verbatim, others by their looks), at most `limit`
 * characters.
 */
export function redacted(text: string, secrets: readonly string[], limit = 300): string {
  let safe = text.slice(0, 20_000);
  for (const secret of secrets) if (secret.length >= 4) safe = safe.replaceAll(secret, mark);
  for (const pattern of patterns) safe = safe.replace(pattern, mark);
  safe = storable(safe).replace(/[\s\p{Cc}]+/gu, ' ').trim();
  const cut = firstCharacters(safe, limit);
  return cut === safe ? safe : `${firstCharacters(safe, limit - 1)}…`;
}
