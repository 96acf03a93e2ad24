// The API's clients of the signed-in person: REST, realtime, the query cache, who I am.

import { MutationCache, QueryCache, QueryClient, QueryClientProvider, useQuery } from '@tanstack/react-query';
import { createContext, useContext, useEffect, useState, useSyncExternalStore, type ReactNode } from 'react';
import {
  connect,
  createRest,
  errorCode,
  type Me,
  type Realtime,
  type RealtimeState,
  type Rest,
} from '../../../client/index.ts';
import { signOut } from '../auth/sign-in-state.ts';
import { Button } from '../base/button.tsx';
import { Notice } from '../base/notice.tsx';
import { keys } from './keys.ts';

interface Clients {
  rest: Rest;
  realtime: Realtime;
  queries: QueryClient;
  connection: { state(): RealtimeState; subscribe(listener: () => void): () => void };
  close(): void;
}

const ClientsContext = createContext<Clients | undefined>(undefined);
const MeContext = createContext<Me | undefined>(undefined);

/** Everything inside is signed in: `useMe()` has an answer. */
export function ClientsProvider({ token, children }: { token: string; children: ReactNode }) {
  const [clients, setClients] = useState<Clients>();
  useEffect(() => {
    const made = openClients(token);
    setClients(made);
    return () => {
      setClients(undefined);
      made.close();
    };
  }, [token]);
  if (!clients) return null;
  return (
    <ClientsContext value={clients}>
      <QueryClientProvider client={clients.queries}>
        <WithMe>{children}</WithMe>
      </QueryClientProvider>
    </ClientsContext>
  );
}

function WithMe({ children }: { children: ReactNode }) {
  const rest = useRest();
  const me = useQuery({ queryKey: keys.me, queryFn: () => rest.me(), staleTime: 60_000 });
  if (me.data) return <MeContext value={me.data}>{children}</MeContext>;
  if (!me.error) return <p className="waiting">Signing in …</p>;
  return (
    <main className="sign-in">
      <div className="card sign-in-card">
        <h1>The planner can’t be reached</h1>
        <Notice tone="error">{me.error.message}</Notice>
        <div className="row">
          <Button look="primary" onClick={() => void me.refetch()} busy={me.isFetching}>
            Try again
          </Button>
          <Button onClick={() => signOut()}>Sign out</Button>
        </div>
      </div>
    </main>
  );
}

function openClients(token: string): Clients {
  const refused = (error: unknown): void => {
    if (errorCode(error) === 'unauthenticated' && error instanceof Error) signOut(error.message, token);
  };
  const listeners = new Set<() => void>();
  let state: RealtimeState = 'connecting';
  const address = location.origin;
  const realtime = connect({
    address,
    token,
    onState(next, problem) {
      state = next;
      for (const listener of listeners) listener();
      if (next === 'closed') refused(problem);
    },
  });
  const queries = new QueryClient({
    queryCache: new QueryCache({ onError: refused }),
    mutationCache: new MutationCache({ onError: refused }),
    // The REST client repeats what can be repeated; events tell what has changed.
    defaultOptions: { queries: { retry: false, staleTime: 30_000 }, mutations: { retry: false } },
  });
  return {
    rest: createRest({ address, token }),
    realtime,
    queries,
    connection: {
      state: () => state,
      subscribe(listener) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    },
    close() {
      realtime.close();
      queries.clear();
    },
  };
}

function useClients(): Clients {
  const clients = useContext(ClientsContext);
  if (!clients) throw new Error('Outside of ClientsProvider.');
  return clients;
}

export function useRest(): Rest {
  return useClients().rest;
}

export function useRealtime(): Realtime {
  return useClients().realtime;
}

/** `open`: connected; `connecting` and `waiting`: being mended; `closed`: for good. */
export function useConnection(): RealtimeState {
  const { connection } = useClients();
  return useSyncExternalStore(connection.subscribe, connection.state);
}

export function useMe(): Me {
  const me = useContext(MeContext);
  if (!me) throw new Error('Outside of ClientsProvider.');
  return me;
}
