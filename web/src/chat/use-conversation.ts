// A conversation for as long as a view shows it.

import { useEffect, useState, useSyncExternalStore } from 'react';
import { nextFrame } from '../base/next-frame.ts';
import { useConnection, useRealtime, useRest } from '../data/client.tsx';
import { Conversation, type ConversationState } from './conversation.ts';

const emptyState: ConversationState = {
  phase: 'reading',
  messages: [],
  view: { status: 'idle', parts: [], attempt: 0, messages: [], last: 0 },
  stopping: false,
};
const nothing = (): (() => void) => () => undefined;

export function useConversation(id: string): { conversation: Conversation | undefined; state: ConversationState } {
  const rest = useRest();
  const realtime = useRealtime();
  const [conversation, setConversation] = useState<Conversation>();
  useEffect(() => {
    const opened = new Conversation(id, { rest, realtime }, nextFrame);
    setConversation(opened);
    void opened.open();
    return () => opened.close();
  }, [id, rest, realtime]);
  const connection = useConnection();
  useEffect(() => {
    if (connection === 'open' && conversation?.state.phase === 'failed') void conversation.open();
  }, [connection, conversation]);
  const current = conversation?.id === id ? conversation : undefined;
  const state = useSyncExternalStore(current?.subscribe ?? nothing, () => current?.state ?? emptyState);
  return { conversation: current, state };
}
