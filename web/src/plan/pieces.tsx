// Small pieces that several views show: kinds, states, links to items, what failed.

import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { ItemSummary } from '../../../client/index.ts';
import { Button } from '../base/button.tsx';
import { classes } from '../base/classes.ts';
import { Notice } from '../base/notice.tsx';
import { paths } from '../paths.ts';
import { Waiting } from '../shell/view.tsx';
import {
  actorWords,
  kindWords,
  sessionOf,
  stateWords,
  typeWords,
  type Actor,
  type Kind,
  type State,
  type TicketType,
} from './words.ts';

const stateTones: Record<State, string | false> = {
  backlog: false,
  ready: 'badge-accent',
  in_progress: 'badge-accent',
  waiting_for_answer: 'badge-warn',
  paused: 'badge-warn',
  open: 'badge-accent',
  done: 'badge-good',
  cancelled: false,
};

export const StateBadge = ({ state }: { state: State }) => (
  <span className={classes('badge', stateTones[state])}>{stateWords[state]}</span>
);

export const KindMark = ({ kind }: { kind: Kind }) => (
  <span className={`kind kind-${kind}`}>{kindWords[kind]}</span>
);

/** A bug or a spike is worth a mark, a feature is not. */
export function TypeBadge({ type }: { type: TicketType | undefined }) {
  if (!type || type === 'feature') return null;
  return <span className={classes('badge', type === 'bug' && 'badge-bad')}>{typeWords[type]}</span>;
}

export function ItemLink({ item }: { item: Pick<ItemSummary, 'key' | 'title'> }) {
  return (
    <Link href={paths.item(item.key)} className="item-link">
      <span className="key">{item.key}</span> {item.title}
    </Link>
  );
}

/** Who; a planner's name links to its conversation. */
export function Who({ actor, project }: { actor: Actor; project: string }) {
  const session = sessionOf(actor);
  const words = actorWords(actor);
  return session ? <Link href={paths.session(project, session)}>{words}</Link> : <span>{words}</span>;
}

export interface Read<Data> {
  data: Data | undefined;
  error: Error | null;
  refetch(): Promise<unknown>;
}

interface ReadingProps<Data> {
  of: Read<Data>;
  what: string;
  children(data: Data): ReactNode;
}

/** What is read, or that it is being read, or why it can't be. */
export function Reading<Data>({ of, what, children }: ReadingProps<Data>) {
  if (of.data !== undefined) return children(of.data);
  if (!of.error) return <Waiting>Reading {what} …</Waiting>;
  return (
    <Notice
      tone="error"
      actions={
        <Button small onClick={() => void of.refetch()}>
          Try again
        </Button>
      }
    >
      {of.error.message}
    </Notice>
  );
}

interface ReadPages<Page> extends Read<{ pages: Page[] }> {
  hasNextPage: boolean;
  isFetchingNextPage: boolean;
  fetchNextPage(): Promise<unknown>;
}

interface PagedProps<Page extends { items: readonly unknown[] }> {
  of: ReadPages<Page>;
  what: string;
  more?: string;
  children(rows: Page['items'][number][], pages: Page[]): ReactNode;
}

/** The rows of all pages that are read, and a button for the next page. */
export function Paged<Page extends { items: readonly unknown[] }>(props: PagedProps<Page>) {
  const { of, what, more = 'Show older ones', children } = props;
  return (
    <Reading of={of} what={what}>
      {({ pages }) => (
        <>
          {children(pages.flatMap(({ items }) => items), pages)}
          {of.hasNextPage && (
            <Button className="more" onClick={() => void of.fetchNextPage()} busy={of.isFetchingNextPage}>
              {more}
            </Button>
          )}
        </>
      )}
    </Reading>
  );
}
