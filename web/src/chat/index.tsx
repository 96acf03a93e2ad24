// The chat: a project's sessions beside one of them; narrow: one after the other.

import { NewSession } from './new-session.tsx';
import { SessionView } from './session-view.tsx';
import { Sessions } from './sessions.tsx';

/** `session`: an id, `new`, or none: the list. */
export function ChatRoutes({ session }: { session: string | undefined }) {
  const fresh = session === undefined || session === 'new';
  return (
    <div className={session === undefined ? 'chat chat-list' : 'chat'}>
      <Sessions current={session} />
      {fresh ? <NewSession key="new" focus={session === 'new'} /> : <SessionView key={session} id={session} />}
    </div>
  );
}
