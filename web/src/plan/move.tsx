// Moving an item to another state: a menu of the moves that people may make.

import { useMutation } from '@tanstack/react-query';
import { useEffect, type ReactElement } from 'react';
import type { ItemSummary } from '../../../client/index.ts';
import { Button, IconButton } from '../base/button.tsx';
import { ChevronDown, More } from '../base/icons.tsx';
import { Menu, MenuItem, MenuLabel } from '../base/menu.tsx';
import { useNotify } from '../base/notices.tsx';
import { useRest } from '../data/client.tsx';
import { useKeepItem, useRights } from './data.ts';
import { movesFrom } from './rules.ts';
import { stateWords, type State } from './words.ts';

/** What has just been moved: its card appears anew in another column, and takes the focus there. */
let moved: string | undefined;

function rememberMoved(key: string): void {
  moved = key;
  setTimeout(() => (moved = undefined), 500);
}

type Movable = Pick<ItemSummary, 'key' | 'kind' | 'title' | 'state'>;

/** Errors are shown as a notice; the item stays where it is. */
export function useMove() {
  const rest = useRest();
  const keep = useKeepItem();
  const notify = useNotify();
  return useMutation({
    mutationFn: ({ item, to }: { item: Movable; to: State }) => rest.transition(item.key, { state: to }),
    onSuccess(item) {
      rememberMoved(item.key);
      keep(item);
      notify(`${item.key} is now: ${stateWords[item.state]}.`, 'success');
    },
    onError: (error) => notify(error.message, 'error'),
  });
}

/** A small button on a card or row. */
export function MoveMenu({ item }: { item: Movable }) {
  return (
    <Moves
      item={item}
      trigger={
        <IconButton
          small
          label={`Move ${item.key} from ${stateWords[item.state]}`}
          icon={<More />}
          data-move={item.key}
        />
      }
    />
  );
}

/** A button with a word, for the item's own view. */
export function MoveButton({ item }: { item: Movable }) {
  return (
    <Moves
      item={item}
      trigger={
        <Button data-move={item.key}>
          Move <ChevronDown />
        </Button>
      }
    />
  );
}

function Moves({ item, trigger }: { item: Movable; trigger: ReactElement }) {
  const { write } = useRights();
  const move = useMove();
  const moves = movesFrom(item.kind, item.state);
  useEffect(() => {
    if (moved !== item.key) return;
    moved = undefined;
    document.querySelector<HTMLElement>(`[data-move="${CSS.escape(item.key)}"]`)?.focus();
  }, [item.key]);
  if (!write || moves.length === 0) return null;
  return (
    <Menu align="end" trigger={trigger}>
      <MenuLabel>Move {item.key} to</MenuLabel>
      {moves.map((to) => (
        <MenuItem key={to} onSelect={() => move.mutate({ item, to })}>
          {stateWords[to]}
        </MenuItem>
      ))}
    </Menu>
  );
}
