// The board: tickets by state. A ticket is moved by its menu or by dragging it to a column that it may enter.

import { useState, type DragEvent } from 'react';
import { Link } from 'wouter';
import type { ItemSummary } from '../../../client/index.ts';
import { Button } from '../base/button.tsx';
import { Empty } from '../base/notice.tsx';
import { useProject } from '../data/project.ts';
import { paths } from '../paths.ts';
import { View } from '../shell/view.tsx';
import { useItems, useRights, useRunnable, type ItemsByKey } from './data.ts';
import { FilterField, matches } from './filter.tsx';
import { MoveMenu, useMove } from './move.tsx';
import { NewItemButton } from './new-item.tsx';
import { ItemLink, Reading, TypeBadge } from './pieces.tsx';
import { movesFrom } from './rules.ts';
import { counted, stateWords, ticketStates, type State } from './words.ts';

/** Cards a column, at first. */
const page = 100;

export function BoardView() {
  const items = useItems();
  const [words, setWords] = useState('');
  return (
    <View
      title="Board"
      actions={
        <>
          <FilterField value={words} onChange={setWords} />
          <NewItemButton kind="ticket" />
        </>
      }
    >
      <Reading of={items} what="items">
        {(all) => <Board tickets={all.filter(({ kind }) => kind === 'ticket')} words={words} byKey={items.byKey} />}
      </Reading>
    </View>
  );
}

interface BoardProps {
  tickets: ItemSummary[];
  words: string;
  byKey: ItemsByKey;
}

function Board({ tickets, words, byKey }: BoardProps) {
  const [dragged, setDragged] = useState<ItemSummary>();
  const runnable = useRunnable();
  if (tickets.length === 0) return <NoTickets />;
  const shown = tickets.filter((ticket) => matches(ticket, words));
  if (shown.length === 0) return <Empty title={`No ticket matches “${words}”`} />;
  return (
    <div className="board" role="group" aria-label="Tickets by state">
      {ticketStates.map((state) => (
        <Column
          key={state}
          state={state}
          tickets={shown.filter((ticket) => ticket.state === state)}
          byKey={byKey}
          runnable={runnable.data}
          dragged={dragged}
          onDrag={setDragged}
        />
      ))}
    </div>
  );
}

interface ColumnProps {
  state: State;
  tickets: ItemSummary[];
  byKey: ItemsByKey;
  runnable: ReadonlySet<string> | undefined;
  dragged: ItemSummary | undefined;
  onDrag(ticket: ItemSummary | undefined): void;
}

function Column({ state, tickets, byKey, runnable, dragged, onDrag }: ColumnProps) {
  const [limit, setLimit] = useState(page);
  const move = useMove();
  const { write } = useRights();
  const open = dragged !== undefined && movesFrom('ticket', dragged.state).includes(state);
  const over = (event: DragEvent): void => {
    if (open) event.preventDefault();
  };
  const drop = (event: DragEvent): void => {
    if (!open) return;
    event.preventDefault();
    move.mutate({ item: dragged, to: state });
    onDrag(undefined);
  };
  const blocked = ({ key }: ItemSummary): boolean => state === 'ready' && runnable?.has(key) === false;
  const heading = `column-${state}`;
  return (
    <section
      className="column"
      aria-labelledby={heading}
      data-empty={tickets.length === 0 || undefined}
      data-open={open || undefined}
      onDragOver={over}
      onDrop={drop}
    >
      <h2 id={heading}>
        {stateWords[state]}{' '}
        <span className="muted" aria-label={counted(tickets.length, 'ticket')} role="img">
          {tickets.length}
        </span>
      </h2>
      {tickets.length > 0 && (
        <ul className="plain-list cards">
          {tickets.slice(0, limit).map((ticket) => (
            <li
              key={ticket.key}
              className="card ticket"
              draggable={write}
              onDragStart={() => onDrag(ticket)}
              onDragEnd={() => onDrag(undefined)}
            >
              <TicketCard ticket={ticket} byKey={byKey} blocked={blocked(ticket)} />
            </li>
          ))}
        </ul>
      )}
      {tickets.length > limit && (
        <Button small onClick={() => setLimit(limit + page)}>
          Show more
        </Button>
      )}
    </section>
  );
}

function TicketCard({ ticket, byKey, blocked }: { ticket: ItemSummary; byKey: ItemsByKey; blocked: boolean }) {
  const epic = ticket.epic ? byKey.get(ticket.epic) : undefined;
  return (
    <>
      <div className="ticket-head">
        <ItemLink item={ticket} />
        <MoveMenu item={ticket} />
      </div>
      {(epic || blocked || (ticket.type && ticket.type !== 'feature')) && (
        <div className="row ticket-foot">
          {blocked && (
            <span className="badge badge-warn" title="It waits for tickets that block it.">
              Blocked
            </span>
          )}
          <TypeBadge type={ticket.type} />
          {epic && (
            <Link className="ticket-epic" href={paths.item(epic.key)} title={`Epic ${epic.key} ${epic.title}`}>
              {epic.title}
            </Link>
          )}
        </div>
      )}
    </>
  );
}

function NoTickets() {
  const project = useProject();
  return (
    <Empty title="No ticket yet">
      <p>
        Ask the planner in the <Link href={paths.chat(project.key)}>chat</Link> to plan something, and apply what it
        proposes. Or make a ticket yourself.
      </p>
    </Empty>
  );
}
