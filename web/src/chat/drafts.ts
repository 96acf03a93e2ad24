// What was typed and not sent, by session; kept for this tab, over reloads.

const place = (session: string): string => `planner.draft.${session}`;

export const readDraft = (session: string): string => sessionStorage.getItem(place(session)) ?? '';

export function keepDraft(session: string, text: string): void {
  if (text === '') sessionStorage.removeItem(place(session));
  else sessionStorage.setItem(place(session), text);
}

/** The first message of a session that was just made for it: sent as soon as the session is open. */
const first = new Map<string, string>();

export function giveFirst(session: string, text: string): void {
  first.set(session, text);
  keepDraft(session, text);
}

export function takeFirst(session: string): string | undefined {
  const text = first.get(session);
  first.delete(session);
  return text;
}
