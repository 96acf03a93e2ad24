// One operation of a changeset: what it does, before and after, and whether it is chosen.

import { memo, useMemo, type ReactNode } from 'react';
import type { Changeset, Operation } from '../../../client/index.ts';
import { Notice } from '../base/notice.tsx';
import { Change, type Name } from './change.tsx';
import { creators } from './choice.ts';
import { useHistory, useItem, type ItemsByKey } from './data.ts';
import { eventWords, writesSince } from './events.ts';
import { fieldsOf, setBy, type FieldName } from './fields.ts';
import { ItemLink } from './pieces.tsx';
import { actorWords, listed } from './words.ts';

export interface OperationProps {
  changeset: Changeset;
  index: number;
  items: ItemsByKey;
  /** A checkbox, or what became of it. */
  control(words: { id: string; label: string }): ReactNode;
  /** Under the operation: why it was taken along. */
  note?: ReactNode;
  dimmed: boolean;
}

export function OperationCard({ changeset, index, items, control, note, dimmed }: OperationProps) {
  const operation = changeset.operations[index];
  const name = useMemo(() => nameIn(changeset, items), [changeset, items]);
  if (!operation) return null;
  const id = `operation-${index + 1}`;
  return (
    <li className="operation card" data-dimmed={dimmed || undefined} id={id}>
      <div className="operation-head">
        <span className="operation-number" aria-hidden="true">
          {index + 1}
        </span>
        <Headline operation={operation} items={items} name={name} />
        {control({ id: `${id}-control`, label: `Operation ${index + 1}: ${headlineWords(operation, items)}` })}
      </div>
      <Details changeset={changeset} operation={operation} name={name} />
      {changeset.stale?.includes(index) && operation.kind === 'update_item' && (
        <Stale item={operation.update.item} since={changeset.created_at} />
      )}
      {note}
    </li>
  );
}

const verbs = { blocks: 'blocks', relates: 'relates to' } as const;

function Headline({ operation, items, name }: { operation: Operation; items: ItemsByKey; name: Name }) {
  switch (operation.kind) {
    case 'create_item':
      return (
        <p className="operation-title">
          <span className="operation-verb">New {operation.create.kind}</span> {operation.create.title}{' '}
          <span className="key muted">${operation.ref}</span>
        </p>
      );
    case 'update_item':
      return (
        <p className="operation-title">
          <span className="operation-verb">Change {items.get(operation.update.item)?.kind ?? 'item'}</span>{' '}
          {name(operation.update.item)}
        </p>
      );
    case 'add_dependency': {
      const { from, to, type } = operation.dependency;
      return (
        <p className="operation-title">
          <span className="operation-verb">New dependency</span> {name(from)} <em>{verbs[type]}</em> {name(to)}
        </p>
      );
    }
  }
}

function headlineWords(operation: Operation, items: ItemsByKey): string {
  switch (operation.kind) {
    case 'create_item':
      return `new ${operation.create.kind} “${operation.create.title}”`;
    case 'update_item': {
      const item = items.get(operation.update.item);
      return `change ${operation.update.item}${item ? ` “${item.title}”` : ''}`;
    }
    case 'add_dependency': {
      const { from, to, type } = operation.dependency;
      return `${from} ${verbs[type]} ${to}`;
    }
  }
}

/** A key with its title; a `$ref` with the title of what is created, and once it is created, as that item. */
function nameIn(changeset: Changeset, items: ItemsByKey): Name {
  const made = creators(changeset.operations);
  return (name) => {
    const creator = made.get(name);
    if (creator === undefined) return <ItemLink item={items.get(name) ?? { key: name, title: '' }} />;
    const operation = changeset.operations[creator];
    const title = operation?.kind === 'create_item' ? operation.create.title : '';
    const key = changeset.results?.[creator]?.key;
    if (key) return <ItemLink item={items.get(key) ?? { key, title }} />;
    return (
      <a className="item-link" href={`#operation-${creator + 1}`} onClick={(event) => showOperation(event, creator)}>
        <span className="key">{name}</span> {title} <span className="muted">(operation {creator + 1})</span>
      </a>
    );
  };
}

/** By script: the address's fragment is the sign-in's. */
function showOperation(event: React.MouseEvent, index: number): void {
  event.preventDefault();
  const place = document.getElementById(`operation-${index + 1}`);
  place?.scrollIntoView({ block: 'center' });
  place?.querySelector<HTMLElement>('input, a, button')?.focus({ preventScroll: true });
}

interface DetailsProps {
  changeset: Changeset;
  operation: Operation;
  name: Name;
}

/** Not drawn anew when the choice changes: a changeset may have 200 operations. */
const Details = memo(function Details({ changeset, operation, name }: DetailsProps) {
  if (operation.kind === 'add_dependency') return null;
  if (operation.kind === 'update_item') return <Update changeset={changeset} operation={operation} name={name} />;
  const fields = setBy(operation.create);
  const names = (Object.keys(fields) as FieldName[]).filter((field) => field !== 'title');
  if (names.length === 0) return null;
  return (
    <dl className="changes">
      {names.map((field) => (
        <Change key={field} field={field} before={undefined} after={fields} name={name} />
      ))}
    </dl>
  );
});

type UpdateOperation = Extract<Operation, { kind: 'update_item' }>;

/** While it is proposed, against the item as it is now; later only what was to be set is known. */
function Update({ changeset, operation, name }: { changeset: Changeset; operation: UpdateOperation; name: Name }) {
  const item = useItem(operation.update.item);
  const fields = setBy(operation.update);
  const before = changeset.status === 'proposed' && item.data ? fieldsOf(item.data) : undefined;
  return (
    <dl className="changes">
      {(Object.keys(fields) as FieldName[]).map((field) => (
        <Change key={field} field={field} before={before} after={fields} name={name} />
      ))}
    </dl>
  );
}

function Stale({ item, since }: { item: string; since: string }) {
  const history = useHistory(item);
  const writes = writesSince(history.data ?? [], since);
  return (
    <Notice tone="warning">
      <strong>{item} has changed since this was proposed.</strong>
      {writes.length > 0 && (
        <ul className="plain-list">
          {writes.map((event) => (
            <li key={event.id}>
              {eventWords(item, event)}, by {actorWords(event.actor)}
            </li>
          ))}
        </ul>
      )}
    </Notice>
  );
}

/** "Also unchecked: operations 2 and 3, which use $e." */
export function alsoWords(on: boolean, also: readonly number[], operation: Operation | undefined): string {
  const which = `${also.length === 1 ? 'operation' : 'operations'} ${listed(also.map((index) => index + 1))}`;
  const one = also.length === 1;
  if (on) return `Checked as well: ${which}, because this one needs what ${one ? 'it creates' : 'they create'}.`;
  const ref = operation?.kind === 'create_item' ? `$${operation.ref}` : 'it';
  return `Unchecked as well: ${which}, because ${one ? 'it needs' : 'they need'} ${ref}, which would not exist.`;
}

