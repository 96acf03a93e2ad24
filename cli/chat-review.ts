// The dialogue about a proposed changeset: show it, ask, apply or reject, mend what the API refuses.

import { ConnectionError, errorCode, type Changeset, type Item, type Rest } from '../client/index.ts';
import { cleanLine, plural, problemText, type Style } from './print.ts';
import { namedKeys, parseSelection, renderChangeset, renderResults, withReferences, type Items } from './review.ts';

export type ApplyMode = 'ask' | 'all' | 'none';

/** What a dialogue needs of the terminal. */
export interface Talk {
  style: Style;
  /** Prints lines: notices. */
  say(text: string): void;
  /** Prints lines: what was asked for. */
  show(text: string): void;
  /** An answer that was typed after the question was shown; undefined at the end of the input. */
  ask(question: string): Promise<string | undefined>;
  /** Something that was asked for could not be done: the process will exit with 1. */
  fail(message: string): void;
}

interface Review {
  rest: Rest;
  talk: Talk;
  changeset: Changeset;
  items: Items;
}

/** Shows a changeset and, while it is undecided, does as `mode` or the person's answer says. */
export async function reviewChangeset(rest: Rest, talk: Talk, id: string, mode: ApplyMode): Promise<void> {
  const changeset = await rest.changeset(id);
  const review: Review = { rest, talk, changeset, items: await readItems(rest, changeset) };
  talk.say(renderChangeset(changeset, review.items, talk.style).trimEnd());
  if (changeset.status !== 'proposed') {
    if (changeset.status === 'applied') talk.show(renderResults(changeset, review.items, talk.style).trimEnd());
    return;
  }
  const all = changeset.operations.map((_, index) => index);
  const waits = `Not applied: it waits for a decision. "/review ${id}" in a chat asks for it.`;
  if (mode === 'none') talk.say(talk.style.dim(waits));
  else if (mode === 'all') await apply(review, all, false, false);
  else await decide(review);
}

/** Current items by key; one that can't be read is left out. */
async function readItems(rest: Rest, changeset: Changeset): Promise<Items> {
  const items = new Map<string, Item>();
  const keys = namedKeys(changeset);
  const reader = async (): Promise<void> => {
    for (let key = keys.pop(); key !== undefined; key = keys.pop()) {
      try {
        items.set(key, await rest.item(key));
      } catch {
        // The review shows the bare key.
      }
    }
  };
  await Promise.all(Array.from({ length: 6 }, reader));
  return items;
}

async function decide(review: Review): Promise<void> {
  const { talk, changeset, rest } = review;
  for (;;) {
    const answer = await talk.ask('Apply [a]ll, numbers like 1,3-5, [r]eject, [s]kip? ');
    const selection = parseSelection(answer ?? '', changeset.operations.length);
    if (selection.kind === 'unclear') {
      talk.say(selection.message);
    } else if (selection.kind === 'skip') {
      return talk.say(talk.style.dim(`Skipped: it waits for a decision. "/review ${changeset.id}" comes back to it.`));
    } else if (selection.kind === 'reject') {
      try {
        await rest.rejectChangeset(changeset.id);
        return talk.say('Rejected.');
      } catch (error) {
        return talk.fail(problemText(error));
      }
    } else if (await apply(review, selection.operations, false, true)) {
      return;
    }
  }
}

/** True when the changeset is decided, or nothing is left to ask. */
async function apply(review: Review, operations: number[], acceptStale: boolean, mayAsk: boolean): Promise<boolean> {
  const { rest, talk, changeset } = review;
  try {
    const applied = await rest.applyChangeset(changeset.id, {
      operations,
      ...(acceptStale ? { accept_stale: true } : {}),
    });
    talk.show(renderResults(applied, review.items, talk.style).trimEnd());
    return true;
  } catch (error) {
    if (!mayAsk) return talk.fail(problemText(error)), true;
    talk.say(talk.style.red(`✗ ${problemText(error)}`));
    if (error instanceof ConnectionError) return settle(review);
    if (errorCode(error) === 'invalid_argument') return withMissing(review, operations, acceptStale);
    if (errorCode(error) === 'conflict') return overConflict(review, operations, acceptStale);
    return false;
  }
}

/** The answer to apply was lost: what has become of the changeset? */
async function settle({ rest, talk, changeset, items }: Review): Promise<boolean> {
  try {
    const now = await rest.changeset(changeset.id);
    if (now.status === 'applied') talk.show(renderResults(now, items, talk.style).trimEnd());
    return now.status !== 'proposed';
  } catch (error) {
    talk.say(problemText(error));
    return false;
  }
}

async function withMissing(review: Review, operations: number[], acceptStale: boolean): Promise<boolean> {
  const whole = withReferences(review.changeset.operations, operations);
  if (whole.length === operations.length) return false;
  const numbers = whole.map((index) => index + 1).join(', ');
  const yes = await confirm(review.talk, `Apply ${numbers} instead, with what they refer to?`);
  return yes ? apply(review, whole, acceptStale, true) : false;
}

async function overConflict(review: Review, operations: number[], acceptStale: boolean): Promise<boolean> {
  const now = await review.rest.changeset(review.changeset.id);
  if (now.status !== 'proposed') {
    review.talk.say(`It was ${now.status} by ${cleanLine(now.decided_by?.subject ?? 'someone else', 80)}.`);
    return true;
  }
  const stale = operations.filter((index) => now.stale?.includes(index));
  if (acceptStale || stale.length === 0) return false;
  const fresh: Review = { ...review, changeset: now, items: await readItems(review.rest, now) };
  review.talk.say(renderChangeset(now, fresh.items, review.talk.style).trimEnd());
  const what = `${plural(stale.length, 'operation')} over the changed ${stale.length === 1 ? 'item' : 'items'}`;
  const yes = await confirm(review.talk, `Apply all the same: ${what}?`);
  return yes ? apply(fresh, operations, true, true) : false;
}

async function confirm(talk: Talk, question: string): Promise<boolean> {
  const answer = await talk.ask(`${question} [y/N] `);
  return /^(y|yes)$/i.test((answer ?? '').trim());
}
