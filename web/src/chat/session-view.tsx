// One session: its conversation, and where one writes.

import { useInfiniteQuery } from '@tanstack/react-query';
import { Fragment, useEffect, useMemo, useRef, useState } from 'react';
import { Link } from 'wouter';
import { textSoFar, type Session } from '../../../client/index.ts';
import { Button, IconButton } from '../base/button.tsx';
import { ArrowDown, ArrowLeft } from '../base/icons.tsx';
import { Empty, Notice } from '../base/notice.tsx';
import { useNotify } from '../base/notices.tsx';
import { useMe, useRest } from '../data/client.tsx';
import { keys } from '../data/keys.ts';
import { useProject } from '../data/project.ts';
import { paths } from '../paths.ts';
import { View, Waiting } from '../shell/view.tsx';
import { Composer } from './composer.tsx';
import { Compacted, ContextMeter } from './context.tsx';
import type { Conversation, ConversationState } from './conversation.ts';
import { takeFirst } from './drafts.ts';
import { ExchangeView } from './exchange-view.tsx';
import { exchangesOf, storedExchanges, summarizedUpTo } from './exchanges.ts';
import { useFollowing } from './scroll.ts';
import { SessionMenu } from './session-menu.tsx';
import { useConversation } from './use-conversation.ts';
import { useSessions } from './use-sessions.ts';

export function SessionView({ id }: { id: string }) {
  const project = useProject();
  const { conversation, state } = useConversation(id);
  const session = useNewest(state.session);
  const back = (
    <Link className="button button-quiet button-icon only-narrow" href={paths.chat(project.key)}>
      <ArrowLeft />
      <span className="visually-hidden">All sessions</span>
    </Link>
  );
  return (
    <View
      full
      title={session?.title ?? 'Session'}
      above={back}
      actions={session && <SessionMenu session={session} onChange={(next) => conversation?.renamed(next)} />}
    >
      {state.phase === 'reading' && <Waiting>Reading the conversation …</Waiting>}
      {state.phase === 'failed' && (
        <div className="pad">
          <Notice tone="error" actions={<Button onClick={() => void conversation?.open()}>Try again</Button>}>
            {state.problem}
          </Notice>
        </div>
      )}
      {state.phase === 'ready' && conversation && (
        <Talk conversation={conversation} state={state} archived={session?.archived ?? false} />
      )}
    </View>
  );
}

/** The list knows what was changed elsewhere. */
function useNewest(session: Session | undefined): Session | undefined {
  const listed = useSessions().sessions.find(({ id }) => id === session?.id);
  return session && listed && listed.updated_at >= session.updated_at ? listed : session;
}

interface TalkProps {
  conversation: Conversation;
  state: ConversationState;
  archived: boolean;
}

function Talk({ conversation, state, archived }: TalkProps) {
  const me = useMe();
  const notify = useNotify();
  const { box, content, following, follow } = useFollowing();
  const turns = useTurns(conversation.id);
  const stored = useMemo(() => storedExchanges(state.messages), [state.messages]);
  const exchanges = useMemo(() => exchangesOf(state, stored), [state, stored]);
  const { running, stopping, outgoing, context } = state;
  const summarized = useMemo(() => summarizedUpTo(state.messages, context?.upTo ?? 0), [state.messages, context?.upTo]);

  const send = async (text: string): Promise<void> => {
    follow();
    await conversation.send(text);
  };
  const stop = (): void => {
    conversation.stop().catch((error: unknown) => notify(error instanceof Error ? error.message : 'Not stopped.', 'error'));
  };
  useEscape(running !== undefined, stop);
  const [first] = useState(() => takeFirst(conversation.id));

  return (
    <>
      <div className="talk" ref={box} tabIndex={0} role="group" aria-label="Conversation">
        {exchanges.length === 0 && (
          <Empty title="Nothing is said yet">
            <p>Say what you want to reach. The planner looks at the project and proposes changes for you to review.</p>
          </Empty>
        )}
        <ol className="exchanges plain-list" ref={content}>
          {exchanges.map((exchange, index) => (
            <Fragment key={exchange.turn ?? `outgoing-${index}`}>
              <ExchangeView
                exchange={exchange}
                turn={exchange.turn === undefined ? undefined : turns.get(exchange.turn)}
                me={me.subject}
              />
              {summarized !== undefined && exchange.turn === summarized && (
                <Compacted summary={context?.summary ?? ''} />
              )}
            </Fragment>
          ))}
        </ol>
      </div>
      <div className="talk-foot">
        {!following && (
          <IconButton className="to-newest" look="plain" label="To the newest" icon={<ArrowDown />} onClick={follow} />
        )}
        {state.problem && (
          <Notice tone="warning" actions={<Button onClick={() => void conversation.open()}>Read again</Button>}>
            {state.problem}
          </Notice>
        )}
        <Composer
          key={conversation.id}
          session={conversation.id}
          running={running !== undefined}
          stopping={stopping}
          sending={outgoing !== undefined && outgoing.seq === undefined}
          blocked={archived ? 'This session is archived. Bring it back to go on.' : undefined}
          autoFocus={exchanges.length === 0}
          first={first}
          onSend={send}
          onStop={stop}
        />
        {context && <ContextMeter meter={context.meter} />}
        <Announcer state={state} />
      </div>
    </>
  );
}

function useTurns(session: string) {
  const rest = useRest();
  const { data } = useInfiniteQuery({
    queryKey: keys.turns(session),
    queryFn: ({ pageParam }) => rest.turns(session, { limit: 200, ...(pageParam ? { after: pageParam } : {}) }),
    initialPageParam: '',
    getNextPageParam: (page) => page.next,
  });
  return useMemo(() => new Map(data?.pages.flatMap(({ items }) => items).map((turn) => [turn.id, turn])), [data]);
}

/** Escape stops the turn, unless it closes a menu or a dialog. */
function useEscape(active: boolean, stop: () => void): void {
  const latest = useRef(stop);
  latest.current = stop;
  useEffect(() => {
    if (!active) return;
    const onKeyDown = (event: KeyboardEvent): void => {
      if (event.key === 'Escape' && !event.defaultPrevented && !event.isComposing) latest.current();
    };
    addEventListener('keydown', onKeyDown);
    return () => removeEventListener('keydown', onKeyDown);
  }, [active]);
}

const spokenLimit = 2_000;

/** Says to a screen reader that an answer began, and the answer once it is whole. */
function Announcer({ state: { view, running } }: { state: ConversationState }) {
  const words =
    running !== undefined
      ? view.compacted !== undefined && view.turn === running
        ? 'The earlier conversation was summarized. The planner is answering.'
        : 'The planner is answering.'
      : view.status !== 'ended'
        ? ''
        : view.reason === 'error'
          ? `The turn failed. ${view.error ?? ''}`
          : view.reason === 'cancelled'
            ? 'Stopped.'
            : `The planner answered: ${textSoFar(view).slice(0, spokenLimit)}`;
  return (
    <p className="visually-hidden" aria-live="polite">
      {words}
    </p>
  );
}
