// An item's dependencies: shown, added, removed.

import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useId, useRef, useState, type FormEvent } from 'react';
import type { Item } from '../../../client/index.ts';
import { Button, IconButton } from '../base/button.tsx';
import { Field } from '../base/field.tsx';
import { Close } from '../base/icons.tsx';
import { useNotify } from '../base/notices.tsx';
import { Options } from '../base/options.tsx';
import { useRest } from '../data/client.tsx';
import { keys } from '../data/keys.ts';
import { useItems, useRights } from './data.ts';
import { ItemLink, StateBadge } from './pieces.tsx';

type Edge = Item['dependencies']['blocks'][number];
type Side = keyof Item['dependencies'];

const sides = ['blocked_by', 'blocks', 'relates'] as const satisfies readonly Side[];
const sideWords: Record<Side, string> = { blocked_by: 'Is blocked by', blocks: 'Blocks', relates: 'Relates to' };

export function Dependencies({ item }: { item: Item }) {
  const { write } = useRights();
  const heading = useRef<HTMLHeadingElement>(null);
  const shown = sides.filter((side) => item.dependencies[side].length > 0);
  return (
    <section className="item-part" aria-label="Dependencies">
      <h2 ref={heading} tabIndex={-1}>
        Dependencies
      </h2>
      {shown.length === 0 && <p className="muted">It depends on no other item.</p>}
      {shown.map((side) => (
        <div key={side} className="edges">
          <h3>{sideWords[side]}</h3>
          <ul className="plain-list">
            {item.dependencies[side].map((edge) => (
              <EdgeRow
                key={edge.id}
                edge={edge}
                side={side}
                editable={write}
                onRemoved={() => heading.current?.focus()}
              />
            ))}
          </ul>
        </div>
      ))}
      {write && <NewEdge item={item} />}
    </section>
  );
}

interface EdgeRowProps {
  edge: Edge;
  side: Side;
  editable: boolean;
  onRemoved(): void;
}

function EdgeRow({ edge, side, editable, onRemoved }: EdgeRowProps) {
  const rest = useRest();
  const notify = useNotify();
  const queries = useQueryClient();
  const remove = useMutation({
    mutationFn: () => rest.removeDependency(edge.id),
    async onSuccess() {
      onRemoved();
      notify('The dependency is removed.', 'success');
      await queries.invalidateQueries({ queryKey: keys.allItems });
    },
    onError: (error) => notify(error.message, 'error'),
  });
  return (
    <li className="edge">
      <ItemLink item={edge} />
      <StateBadge state={edge.state} />
      {editable && (
        <IconButton
          small
          label={`Remove: ${sideWords[side].toLowerCase()} ${edge.key}`}
          icon={<Close />}
          disabled={remove.isPending}
          onClick={() => remove.mutate()}
        />
      )}
    </li>
  );
}

function NewEdge({ item }: { item: Item }) {
  const rest = useRest();
  const queries = useQueryClient();
  const { data } = useItems();
  const [side, setSide] = useState<Side>('blocked_by');
  const [other, setOther] = useState('');
  const list = useId();
  const add = useMutation({
    mutationFn: () => {
      const key = keyIn(other);
      if (side === 'blocked_by') return rest.addDependency(key, { type: 'blocks', to: item.key });
      return rest.addDependency(item.key, { type: side, to: key });
    },
    async onSuccess() {
      setOther('');
      await queries.invalidateQueries({ queryKey: keys.allItems });
    },
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    add.mutate();
  };
  return (
    <form className="new-edge" onSubmit={submit} aria-label="New dependency">
      <Field label="This item">
        {(props) => (
          <select {...props} value={side} onChange={(event) => setSide(event.target.value as Side)}>
            <Options of={sides} words={(each) => sideWords[each].toLowerCase()} />
          </select>
        )}
      </Field>
      <Field label="Item" error={add.error?.message}>
        {(props) => (
          <input
            {...props}
            list={list}
            placeholder="Key, or part of a title"
            autoComplete="off"
            required
            value={other}
            onChange={(event) => {
              setOther(event.target.value);
              add.reset();
            }}
          />
        )}
      </Field>
      <datalist id={list}>
        {(data ?? [])
          .filter(({ key }) => key !== item.key)
          .map(({ key, title }) => (
            <option key={key} value={`${key} ${title}`} />
          ))}
      </datalist>
      <Button type="submit" busy={add.isPending}>
        Add
      </Button>
    </form>
  );
}

/** The list offers "WEB-12 Title"; a key may be typed in small letters. */
const keyIn = (text: string): string => (text.trim().split(/\s+/)[0] ?? '').toUpperCase();
