// Who is signed in: the token, kept for this browser session, and why the last one ended.

import { useSyncExternalStore } from 'react';

export interface SignInState {
  token?: string;
  /** Why one has to sign in (again); for people. */
  reason?: string;
}

const place = 'planner.token';
/** Begin the names under which the page keeps what was typed and not sent or saved. */
const typed = ['planner.draft.', 'planner.kept.'];
const listeners = new Set<() => void>();
let state: SignInState = read();

function read(): SignInState {
  const token = sessionStorage.getItem(place);
  return token ? { token } : {};
}

function enter(next: SignInState): void {
  state = next;
  if (next.token) sessionStorage.setItem(place, next.token);
  else sessionStorage.removeItem(place);
  for (const listener of listeners) listener();
}

export function signIn(token: string): void {
  enter({ token });
}

/**
 * `token`: only if that one is still in use. `reason`: it was not the person's wish, who finds what was typed again;
 * whoever signs out leaves nothing behind for the next one.
 */
export function signOut(reason?: string, token?: string): void {
  if (token !== undefined && token !== state.token) return;
  if (reason === undefined) forgetTyped();
  enter(reason === undefined ? {} : { reason });
}

function forgetTyped(): void {
  for (const name of Object.keys(sessionStorage)) {
    if (typed.some((prefix) => name.startsWith(prefix))) sessionStorage.removeItem(name);
  }
}

export function useSignInState(): SignInState {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => state,
  );
}

/** Signs in with the token of `#token=...` and removes it from the address and the history entry at once. */
export function takeTokenFromAddress(): void {
  const token = new URLSearchParams(location.hash.slice(1)).get('token');
  if (token === null) return;
  history.replaceState(history.state, '', location.pathname + location.search);
  if (token !== '') signIn(token.trim());
}
