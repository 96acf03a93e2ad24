// Editing an item. Somebody else's change meanwhile is shown; what was typed here stays (spec: planner 1, version).

import { useEffect, useRef } from 'react';
import type { Item } from '../../../client/index.ts';
import { useRest } from '../data/client.tsx';
import { keys } from '../data/keys.ts';
import { DraftForm } from '../drafts/draft-form.tsx';
import { begun, type Draft } from '../drafts/draft.ts';
import { Meanwhile } from '../drafts/meanwhile.tsx';
import { Change } from './change.tsx';
import { useHistory, useItems, useKeepItem } from './data.ts';
import { versionOf } from './events.ts';
import { differing, fieldsOf, fieldsOfKind, patchOf, type Fields } from './fields.ts';
import { ItemFields, withoutBlanks } from './item-fields.tsx';
import { ItemLink } from './pieces.tsx';
import { actorWords, fieldWords } from './words.ts';

export type ItemDraft = Draft<Fields>;

export const draftOf = (item: Item): ItemDraft => begun(item.version, fieldsOf(item));

interface ItemFormProps {
  item: Item;
  draft: ItemDraft;
  /** Undefined: editing has ended. */
  onChange(draft: ItemDraft | undefined): void;
}

export function ItemForm({ item, draft, onChange }: ItemFormProps) {
  const rest = useRest();
  const place = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (document.activeElement === document.body) place.current?.querySelector('input')?.focus();
  }, []);
  const typed = withoutBlanks(draft.fields);
  return (
    <DraftForm
      label={`Edit ${item.key}`}
      className="item-form"
      ref={place}
      queryKey={keys.item(item.key)}
      newer={item.version > draft.version && <ItemMeanwhile item={item} draft={draft} onChange={onChange} />}
      changed={() => differing(item.kind, draft.base, typed)}
      save={(names) => rest.updateItem(item.key, { version: draft.version, ...patchOf(typed, names) })}
      keep={useKeepItem()}
      words={({ key }) => `Saved ${key}.`}
      onEnd={() => onChange(undefined)}
    >
      <ItemFields kind={item.kind} fields={draft.fields} onChange={(fields) => onChange({ ...draft, fields })} />
    </DraftForm>
  );
}

function ItemMeanwhile({ item, draft, onChange }: ItemFormProps) {
  const { byKey } = useItems();
  const history = useHistory(item.key);
  const current = fieldsOf(item);
  const writers = (history.data ?? [])
    .filter((event) => (versionOf(event) ?? 0) > draft.version)
    .map(({ actor }) => actorWords(actor));
  return (
    <Meanwhile
      what={item.key}
      writers={[...new Set(writers)]}
      draft={draft}
      version={item.version}
      current={current}
      names={fieldsOfKind(item.kind)}
      words={fieldWords}
      onChange={onChange}
    >
      {(theirs) =>
        theirs.length > 0 ? (
          <dl className="changes">
            {theirs.map((field) => (
              <Change
                key={field}
                field={field}
                before={draft.base}
                after={current}
                name={(key) => <ItemLink item={byKey.get(key) ?? { key, title: '' }} />}
              />
            ))}
          </dl>
        ) : (
          <p>Its state or its links have changed, none of these fields.</p>
        )
      }
    </Meanwhile>
  );
}
