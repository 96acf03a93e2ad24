// Small helpers of the demo model for human text.

import { firstCharacters } from '../../domain/text.ts';

export const itemKeys = (text: string): string[] => [
  ...new Set(text.match(/\b[A-Z][A-Z0-9]{1,9}-[1-9]\d{0,8}\b/g) ?? []),
];

/** Without Markdown marks, check boxes and closing punctuation; one line, capitalised, at most 300 characters. */
export function cleanTitle(text: string): string {
  const plain = text
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/\*\*|__|`|~~/g, '')
    .replace(/[\s\u0085]+/g, ' ')
    .replace(/^[\s\-–—:*]+|[\s:;,.–—-]+$/g, '');
  return firstCharacters(capitalised(plain), 300).trim();
}

export function capitalised(text: string): string {
  const first = text.codePointAt(0);
  if (first === undefined) return text;
  const letter = String.fromCodePoint(first);
  return letter.toUpperCase() + text.slice(letter.length);
}

const fillers = new Set('a an the of for to and with our your my is are in on'.split(' '));

/** What two wordings of one title have in common. */
export const sameTitle = (text: string): string => words(text).join(' ');

export function words(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}

/** 0: nothing in common, 1: the same words, fillers aside; at least 0.8 for a title that holds all of a reference. */
export function likeness(reference: string, title: string): number {
  const wanted = new Set(words(reference).filter((word) => !fillers.has(word)).map(stem));
  const found = new Set(words(title).filter((word) => !fillers.has(word)).map(stem));
  if (wanted.size === 0 || found.size === 0) return 0;
  const shared = [...wanted].filter((word) => found.has(word)).length;
  const overlap = shared / (wanted.size + found.size - shared);
  return shared === wanted.size ? Math.max(0.8, overlap) : overlap;
}

const stem = (word: string): string => (word.length > 4 ? word.replace(/(?:ing|ed|es|s)$/, '') : word);

const goalStart = new RegExp(
  '^(?:(?:hi|hello|hey|please|ok|okay|so|now|well)[,!.]?\\s+)*' +
    '(?:(?:can|could|would|will) you (?:please )?(?:help (?:me|us) )?|help (?:me|us) |let\'?s |' +
    '(?:i|we)(?:\'d| would)? (?:want|need|have|like|plan|intend|are going)(?: you)? (?:to )?|' +
    '(?:our|the|my) goal is (?:to )?|' +
    'the goal:? )?' +
    '(?:(?:make|create|draft|write|give me|prepare|propose) (?:a |the |me a )?' +
    '(?:project |release )?plan (?:for |of |to )|' +
    'plan(?: out)?(?: for)? (?:to )?)?',
  'i',
);

const goalWords = new RegExp(
  '\\b(?:plan|build|create|add|make|implement|develop|design|launch|ship|release|migrate|set ?up|introduce|improve|' +
    'refactor|rewrite|redesign|integrate|support|deliver|organi[sz]e|prepare|write|automate|fix|' +
    'goal|milestone|roadmap|' +
    '(?:we|i) (?:want|need|would like|\'d like))\\b',
  'i',
);

/** Does the text ask for something to be brought about? */
export const namesGoal = (text: string): boolean => goalWords.test(text) && words(text).length >= 2;

/** "Please plan the launch of a shop." -> "Launch of a shop". */
export function goalTitle(text: string): string {
  const rest = text.trim().replace(goalStart, '').replace(/^(?:the|a|an|our)\s+/i, '');
  return cleanTitle(rest === '' ? text : rest);
}
