// Where one writes: Enter sends, Shift+Enter begins a new line.

import { useEffect, useId, useRef, useState, type KeyboardEvent } from 'react';
import { Button } from '../base/button.tsx';
import { Send, Stop } from '../base/icons.tsx';
import { Notice } from '../base/notice.tsx';
import { keepDraft, readDraft } from './drafts.ts';

/** spec: planner 7, in code points. */
export const textLimit = 100_000;
const counterFrom = 90_000;

export interface ComposerProps {
  /** Names the draft. */
  session: string;
  /** Why nothing can be sent now. */
  blocked?: string | undefined;
  sending?: boolean;
  /** A turn runs: Stop is shown instead of Send. */
  running?: boolean;
  stopping?: boolean;
  autoFocus?: boolean;
  /** Sent at once: the message that the session was made for. */
  first?: string | undefined;
  onSend(text: string): Promise<void>;
  onStop?(): void;
}

export function Composer(props: ComposerProps) {
  const { session, blocked, sending = false, running = false, stopping = false, autoFocus = false } = props;
  const [text, setText] = useState(() => readDraft(session));
  const [problem, setProblem] = useState<string>();
  const place = useRef<HTMLTextAreaElement>(null);
  const id = useId();
  useEffect(() => {
    if (autoFocus) place.current?.focus();
  }, [autoFocus]);

  const length = text.length < counterFrom ? 0 : [...text].length;
  const tooLong = length > textLimit;
  const free = !running && !sending && blocked === undefined && !tooLong && text.trim() !== '';

  const write = (next: string): void => {
    setText(next);
    keepDraft(session, next);
  };
  const send = async (sent: string): Promise<void> => {
    setProblem(undefined);
    setText('');
    try {
      await props.onSend(sent);
      // What was typed meanwhile is another draft.
      if (readDraft(session) === sent) keepDraft(session, '');
    } catch (error) {
      setProblem(error instanceof Error ? error.message : 'The message was not sent.');
      setText((typed) => {
        const kept = typed === '' ? sent : `${sent}\n${typed}`;
        keepDraft(session, kept);
        return kept;
      });
    }
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    if (free) void send(text);
  };
  const onStop = (): void => {
    place.current?.focus();
    props.onStop?.();
  };
  const { first } = props;
  const begun = useRef(false);
  useEffect(() => {
    if (first === undefined || begun.current) return;
    begun.current = true;
    void send(first);
  });

  const hint = hintOf({ blocked, sending, running, stopping });
  return (
    <div className="composer">
      {problem && (
        <Notice
          tone="error"
          actions={
            <Button small onClick={() => setProblem(undefined)}>
              Close
            </Button>
          }
        >
          {problem}
        </Notice>
      )}
      <div className="composer-box">
        <label className="visually-hidden" htmlFor={id}>
          Message to the planner
        </label>
        <textarea
          ref={place}
          id={id}
          rows={2}
          placeholder="Describe a goal, or ask about the plan"
          value={text}
          onChange={(event) => write(event.target.value)}
          onKeyDown={onKeyDown}
          aria-describedby={`${id}-hint`}
          aria-invalid={tooLong || undefined}
        />
        <div className="composer-foot">
          <p className="small muted" id={`${id}-hint`}>
            {length >= counterFrom ? <Counter length={length} /> : hint}
          </p>
          {running ? (
            <Button key="stop" look="primary" icon={<Stop />} disabled={stopping} onClick={onStop}>
              {stopping ? 'Stopping …' : 'Stop'}
            </Button>
          ) : (
            <Button key="send" look="primary" icon={<Send />} disabled={!free} onClick={() => void send(text)}>
              {sending ? 'Sending …' : 'Send'}
            </Button>
          )}
        </div>
      </div>
    </div>
  );
}

function Counter({ length }: { length: number }) {
  const over = length - textLimit;
  return over > 0 ? (
    <span className="over-limit">
      {over.toLocaleString()} characters too many: at most {textLimit.toLocaleString()} can be sent at once.
    </span>
  ) : (
    <>
      {length.toLocaleString()} of {textLimit.toLocaleString()} characters
    </>
  );
}

function hintOf({ blocked, sending, running, stopping }: Omit<ComposerProps, 'session' | 'onSend'>): string {
  if (blocked !== undefined) return blocked;
  if (stopping) return 'Stopping the answer …';
  if (running) return 'The planner is answering. Stop it (Esc), or send when it is done.';
  if (sending) return 'Sending …';
  return 'Enter sends, Shift+Enter begins a new line.';
}
