// The tree: milestone > epic > ticket, and what has no parent.

import { useMemo, useState } from 'react';
import { Link } from 'wouter';
import type { ItemSummary } from '../../../client/index.ts';
import { IconButton } from '../base/button.tsx';
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
        {(all) => <Tree items={all} keep={(item) => matches(item, words) && !(openOnly && isResolved(item.state))} />}
      </Reading>
    </View>
  );
}

/** What is collapsed, by key; kept while the page is open. */
const collapsed = new Set<string>();

function Tree({ items, keep }: { items: ItemSummary[]; keep(item: ItemSummary): boolean }) {
  const top = useMemo(() => hierarchy(items), [items]);
  if (items.length === 0) return <NoItems />;
  const shown = top.filter((branch) => anyKept(branch, keep));
  if (shown.length === 0) return <Empty title="No item matches">Change the filter to see the others.</Empty>;
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
        <Branches branches={branches} keep={keep} />
      </section>
    ));
}

const anyKept = ({ item, below }: Branch, keep: (item: ItemSummary) => boolean): boolean =>
  keep(item) || below.some((branch) => anyKept(branch, keep));

function Branches({ branches, keep }: { branches: Branch[]; keep(item: ItemSummary): boolean }) {
  return (
    <ul className="plain-list tree">
      {branches
        .filter((branch) => anyKept(branch, keep))
        .map((branch) => (
          <Row key={branch.item.key} branch={branch} keep={keep} />
        ))}
    </ul>
  );
}

function Row({ branch, keep }: { branch: Branch; keep(item: ItemSummary): boolean }) {
  const { item, below, tickets, resolved } = branch;
  const [open, setOpen] = useState(!collapsed.has(item.key));
  const turn = (): void => {
    if (open) collapsed.add(item.key);
    else collapsed.delete(item.key);
    setOpen(!open);
  };
  const label = `${open ? 'Collapse' : 'Expand'} ${item.key}`;
  return (
    <li>
      <div className="tree-row">
        {below.length > 0 ? (
          <IconButton
            small
            label={label}
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
      {open && below.length > 0 && <Branches branches={below} keep={keep} />}
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
