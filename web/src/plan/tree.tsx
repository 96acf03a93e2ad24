// The tree: milestone > epic > ticket, and what has no parent.

import { useMemo, useState } from 'react';
import { Link } from 'wouter';
import type { ItemSummary } from '../../../client/index.ts';
import { Button, IconButton } from '../base/button.tsx';
import { ChevronDown, ChevronRight } from '../base/icons.tsx';
import { Empty } from '../base/notice.tsx';
import { useProject } from '../data/project.ts';
import { paths } from '../paths.ts';
import { View } from '../shell/view.tsx';
import { useItems } from './data.ts';
import { FilterField, matches } from './filter.tsx';
import { hierarchy, type Branch } from './hierarchy.ts';
import { MoveMenu } from './move.tsx';
import { NewItemButton } from './new-item.tsx';
import { ItemLink, KindMark, Reading, StateBadge, TypeBadge } from './pieces.tsx';
import { counted, isResolved } from './words.ts';

export function TreeView() {
  const items = useItems();
  const [words, setWords] = useState('');
  const [openOnly, setOpenOnly] = useState(false);
  return (
    <View
      title="Tree"
      actions={
        <>
          <label className="check">
            <input type="checkbox" checked={openOnly} onChange={(event) => setOpenOnly(event.target.checked)} />
            Open ones only
          </label>
          <FilterField value={words} onChange={setWords} />
          <NewItemButton kind="epic" />
        </>
      }
    >
      <Reading of={items} what="items">
        {(all) => (
          <Tree
            items={all}
            keep={(item) => matches(item, words) && !(openOnly && isResolved(item.state))}
            filtered={words.trim() !== ''}
          />
        )}
      </Reading>
    </View>
  );
}

/** Branches that are not as the tree began, by key; kept while the page is open. */
const turned = new Set<string>();
/** In larger trees epics begin collapsed. */
const large = 300;
/** Items under one branch, at first. */
const page = 100;

interface Shown {
  keep(item: ItemSummary): boolean;
  startsOpen(item: ItemSummary): boolean;
}

interface TreeProps {
  items: ItemSummary[];
  keep(item: ItemSummary): boolean;
  filtered: boolean;
}

function Tree({ items, keep, filtered }: TreeProps) {
  const top = useMemo(() => hierarchy(items), [items]);
  if (items.length === 0) return <NoItems />;
  const shown = top.filter((branch) => anyKept(branch, keep));
  if (shown.length === 0) return <Empty title="No item matches">Change the filter to see the others.</Empty>;
  const how: Shown = { keep, startsOpen: ({ kind }) => filtered || items.length <= large || kind === 'milestone' };
  const groups = [
    { title: 'Milestones', branches: shown.filter(({ item }) => item.kind === 'milestone') },
    { title: 'Epics without a milestone', branches: shown.filter(({ item }) => item.kind === 'epic') },
    { title: 'Tickets without an epic or a milestone', branches: shown.filter(({ item }) => item.kind === 'ticket') },
  ];
  return groups
    .filter(({ branches }) => branches.length > 0)
    .map(({ title, branches }) => (
      <section key={title} aria-label={title} className="tree-group">
        <h2>{title}</h2>
        <Branches branches={branches} how={how} />
      </section>
    ));
}

const anyKept = ({ item, below }: Branch, keep: (item: ItemSummary) => boolean): boolean =>
  keep(item) || below.some((branch) => anyKept(branch, keep));

function Branches({ branches, how }: { branches: Branch[]; how: Shown }) {
  const [limit, setLimit] = useState(page);
  const kept = branches.filter((branch) => anyKept(branch, how.keep));
  return (
    <ul className="plain-list tree">
      {kept.slice(0, limit).map((branch) => (
        <Row key={branch.item.key} branch={branch} how={how} />
      ))}
      {kept.length > limit && (
        <li className="tree-row">
          <Button small onClick={() => setLimit(limit + page)}>
            Show more ({kept.length - limit})
          </Button>
        </li>
      )}
    </ul>
  );
}

function Row({ branch, how }: { branch: Branch; how: Shown }) {
  const { item, below, tickets, resolved } = branch;
  const [other, setOther] = useState(turned.has(item.key));
  const open = how.startsOpen(item) !== other;
  const turn = (): void => {
    if (other) turned.delete(item.key);
    else turned.add(item.key);
    setOther(!other);
  };
  return (
    <li>
      <div className="tree-row">
        {below.length > 0 ? (
          <IconButton
            small
            label={`${open ? 'Collapse' : 'Expand'} ${item.key}`}
            aria-expanded={open}
            icon={open ? <ChevronDown /> : <ChevronRight />}
            onClick={turn}
          />
        ) : (
          <span className="tree-leaf" />
        )}
        <KindMark kind={item.kind} />
        <span className="tree-title">
          <ItemLink item={item} />
        </span>
        {item.kind !== 'ticket' && tickets > 0 && <Progress resolved={resolved} tickets={tickets} />}
        <TypeBadge type={item.type} />
        <StateBadge state={item.state} />
        <MoveMenu item={item} />
      </div>
      {open && below.length > 0 && <Branches branches={below} how={how} />}
    </li>
  );
}

export function Progress({ resolved, tickets }: { resolved: number; tickets: number }) {
  return (
    <span className="progress small muted" title={`${resolved} of ${counted(tickets, 'ticket')} done or cancelled`}>
      <progress value={resolved} max={tickets} aria-label="Tickets done or cancelled" />
      {resolved}/{tickets}
    </span>
  );
}

function NoItems() {
  const project = useProject();
  return (
    <Empty title="No item yet">
      <p>
        Ask the planner in the <Link href={paths.chat(project.key)}>chat</Link> to plan something, and apply what it
        proposes. Or make an epic yourself, and tickets under it.
      </p>
    </Empty>
  );
}
