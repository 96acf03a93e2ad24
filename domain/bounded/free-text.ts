// Texts of a run that a person gives beside the packet: what may be kept of them, for everybody who may read the run
// (spec: bounded-claude 2 and 8).

import { findSecrets } from '../secrets/index.ts';
import { characters, isBlank } from '../text.ts';

/** Most code points of an approval. */
export const maxApprovalCharacters = 500;

/**
 * What is wrong with an approval, "who, why": blank, more than 500 code points, what no text column can hold, or
 * secret-like text, of which the kind is named and never the value. Undefined when nothing is.
 */
export async function approvalProblem(text: string): Promise<string | undefined> {
  if (isBlank(text)) return 'The approval is empty: say who approved it, and why.';
  const count = characters(text);
  if (count > maxApprovalCharacters) {
    return `The approval has ${count} characters; at most ${maxApprovalCharacters} are allowed.`;
  }
  if (text.includes('\0') || !text.isWellFormed()) {
    return 'The approval holds a NUL or half of a surrogate pair, which is no character; remove it.';
  }
  return secretProblem('The approval', text);
}

/** Tells secret-like text by its kind and never by its value; undefined where there is none. */
export async function secretProblem(what: string, text: string): Promise<string | undefined> {
  const kinds = [...new Set((await findSecrets(text)).map(({ kind }) => kind))];
  if (kinds.length === 0) return undefined;
  return `${what} holds text that looks like a secret (${kinds.join(', ')}). Leave it out; nothing of it was kept.`;
}
