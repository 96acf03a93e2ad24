// A project's sessions: the list beside the conversation.

import { useEffect, useRef, useState } from 'react';
import { Link } from 'wouter';
import type { Session } from '../../../client/index.ts';
import { Button } from '../base/button.tsx';
import { Plus } from '../base/icons.tsx';
import { Notice } from '../base/notice.tsx';
import { Time } from '../base/time.tsx';
import { useProject } from '../data/project.ts';
import { paths } from '../paths.ts';
import { Waiting } from '../shell/view.tsx';
import { useSessions } from './use-sessions.ts';

export function Sessions({ current }: { current: string | undefined }) {
  const project = useProject();
  const heading = useRef<HTMLHeadingElement>(null);
  // Narrow, the list is the view; where it is not shown, this does nothing.
  useEffect(() => {
    if (current === undefined) heading.current?.focus();
  }, [current]);
  const [archived, setArchived] = useState(false);
  const { list, sessions } = useSessions();
  const shown = sessions.filter((session) => session.archived === archived || session.id === current);
  const hidden = sessions.some((session) => session.archived);
  return (
    <nav className="sessions" aria-label="Sessions">
      <h1 className="only-narrow" ref={heading} tabIndex={-1}>
        Sessions
      </h1>
      <div className="sessions-head">
        <Link className="button" href={paths.session(project.key, 'new')}>
          <Plus /> New session
        </Link>
      </div>
      {list.isPending && <Waiting>Reading the sessions …</Waiting>}
      {list.error && !list.data && (
        <Notice tone="error" actions={<Button onClick={() => void list.refetch()}>Try again</Button>}>
          {list.error.message}
        </Notice>
      )}
      {list.data && shown.length === 0 && (
        <p className="sessions-empty small muted">{archived ? 'Nothing is archived.' : 'No session yet.'}</p>
      )}
      <ul className="plain-list">
        {shown.map((session) => (
          <SessionLink key={session.id} session={session} here={session.id === current} />
        ))}
      </ul>
      {list.hasNextPage && (
        <Button look="quiet" small busy={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
          Older sessions
        </Button>
      )}
      {(hidden || archived) && (
        <Button look="quiet" small onClick={() => setArchived(!archived)}>
          {archived ? 'Back to the sessions' : 'Archived sessions'}
        </Button>
      )}
    </nav>
  );
}

function SessionLink({ session, here }: { session: Session; here: boolean }) {
  return (
    <li>
      <Link href={paths.session(session.project, session.id)} aria-current={here ? 'page' : undefined}>
        <span className="session-title">{session.title}</span>
        <span className="session-foot tiny muted">
          {session.running ? <span className="badge badge-accent">answering</span> : <Time at={session.updated_at} />}
          {session.archived && <span className="badge">archived</span>}
        </span>
      </Link>
    </li>
  );
}
