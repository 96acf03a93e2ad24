// One item: what it says, what it depends on, what happened to it.

import { useEffect, useMemo, useRef } from 'react';
import { Link } from 'wouter';
import type { Item } from '../../../client/index.ts';
import { Button } from '../base/button.tsx';
import { Pencil } from '../base/icons.tsx';
import { Markdown } from '../base/markdown.tsx';
import { Time } from '../base/time.tsx';
import { paths } from '../paths.ts';
import { View } from '../shell/view.tsx';
import { Criteria } from './change.tsx';
import { useHistory, useItem, useItems, useRights, type ItemsByKey } from './data.ts';
import { Dependencies } from './dependencies.tsx';
import { eventWords } from './events.ts';
import { hierarchy } from './hierarchy.ts';
import { draftOf, ItemForm, type ItemDraft } from './item-form.tsx';
import { useKept } from './kept.ts';
import { MoveButton } from './move.tsx';
import { NewItemButton } from './new-item.tsx';
import { ItemLink, KindMark, Reading, StateBadge, Who } from './pieces.tsx';
import { Progress } from './tree.tsx';
import { mergeWords, reviewWords, typeWords, type Kind } from './words.ts';

export function ItemView({ itemKey }: { itemKey: string }) {
  const query = useItem(itemKey);
  const { byKey } = useItems();
  const { write } = useRights();
  const [draft, setDraft] = useKept<ItemDraft>(`item.${itemKey}`);
  const item = query.data;
  const edit = useRef<HTMLButtonElement>(null);
  const edited = useRef(draft !== undefined);
  useEffect(() => {
    if (edited.current && !draft) edit.current?.focus();
    edited.current = draft !== undefined;
  }, [draft]);
  return (
    <View
      title={item ? `${item.key} ${item.title}` : itemKey}
      heading={item && <Heading item={item} />}
      actions={
        item && (
          <>
            <StateBadge state={item.state} />
            <MoveButton item={item} />
            {write && !draft && (
              <Button icon={<Pencil />} ref={edit} onClick={() => setDraft(draftOf(item))}>
                Edit
              </Button>
            )}
          </>
        )
      }
    >
      <Reading of={query} what={itemKey}>
        {(read) => (
          <div className="item">
            <div className="item-main">
              {draft ? <ItemForm item={read} draft={draft} onChange={setDraft} /> : <Content item={read} />}
              {read.kind !== 'ticket' && <Below item={read} />}
              <Dependencies item={read} />
              <History item={read} />
            </div>
            <Facts item={read} byKey={byKey} />
          </div>
        )}
      </Reading>
    </View>
  );
}

const Heading = ({ item }: { item: Item }) => (
  <>
    <span className="key muted">{item.key}</span> {item.title}
  </>
);

function Content({ item }: { item: Item }) {
  return (
    <>
      {item.description === '' ? (
        <p className="muted">It has no description.</p>
      ) : (
        <div className="measure">
          <Markdown text={item.description} />
        </div>
      )}
      {item.acceptance_criteria && item.acceptance_criteria.length > 0 && (
        <section className="item-part" aria-label="Acceptance criteria">
          <h2>Acceptance criteria</h2>
          <Criteria criteria={item.acceptance_criteria} />
        </section>
      )}
    </>
  );
}

function Facts({ item, byKey }: { item: Item; byKey: ItemsByKey }) {
  const parent = (key: string | undefined) =>
    key ? <ItemLink item={byKey.get(key) ?? { key, title: '' }} /> : <span className="muted">none</span>;
  return (
    <aside className="facts card" aria-label="Properties">
      <dl>
        <Fact name="Kind">
          <KindMark kind={item.kind} />
        </Fact>
        {item.type && <Fact name="Type">{typeWords[item.type]}</Fact>}
        {item.kind === 'ticket' && <Fact name="Epic">{parent(item.epic)}</Fact>}
        {item.kind !== 'milestone' && <Fact name="Milestone">{parent(item.milestone)}</Fact>}
        {item.policy && <Fact name="Review">{reviewWords[item.policy.review_mode]}</Fact>}
        {item.policy && <Fact name="Merge">{mergeWords[item.policy.merge_mode]}</Fact>}
        <Fact name="Created">
          <Time at={item.created_at} />
        </Fact>
        <Fact name="Changed">
          <Time at={item.updated_at} /> <span className="muted">(version {item.version})</span>
        </Fact>
      </dl>
    </aside>
  );
}

const Fact = ({ name, children }: { name: string; children: React.ReactNode }) => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
);

const childOf = { milestone: 'epic', epic: 'ticket' } as const;

function Below({ item }: { item: Item & { kind: Kind } }) {
  const { data } = useItems();
  const branch = useMemo(() => {
    const all = hierarchy(data ?? []);
    return [...all, ...all.flatMap(({ below }) => below)].find((each) => each.item.key === item.key);
  }, [data, item.key]);
  if (item.kind === 'ticket' || !branch) return null;
  const parents = item.kind === 'epic' ? { epic: item.key } : { milestone: item.key };
  return (
    <section className="item-part" aria-label="Items in it">
      <div className="row">
        <h2 className="grow">{item.kind === 'epic' ? 'Tickets' : 'Epics and tickets'}</h2>
        {branch.tickets > 0 && <Progress resolved={branch.resolved} tickets={branch.tickets} />}
        <NewItemButton small kind={childOf[item.kind]} parents={parents} label={`New ${childOf[item.kind]}`} />
      </div>
      {branch.below.length === 0 && (
        <p className="muted">
          None yet. See the <Link href={paths.tree(item.key.slice(0, item.key.lastIndexOf('-')))}>tree</Link> for all.
        </p>
      )}
      <ul className="plain-list">
        {branch.below.map((each) => (
          <li key={each.item.key} className="edge">
            <ItemLink item={each.item} />
            <StateBadge state={each.item.state} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function History({ item }: { item: Item }) {
  const history = useHistory(item.key);
  const project = item.key.slice(0, item.key.lastIndexOf('-'));
  return (
    <section className="item-part" aria-label="History">
      <h2>History</h2>
      <Reading of={history} what="the history">
        {(events) => (
          <ol className="plain-list history">
            {events.toReversed().map((event) => (
              <li key={event.id}>
                <span>{eventWords(item.key, event)}</span>
                <span className="muted small">
                  <Who actor={event.actor} project={project} />, <Time at={event.occurred_at} />
                </span>
              </li>
            ))}
          </ol>
        )}
      </Reading>
    </section>
  );
}
