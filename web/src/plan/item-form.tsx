// Editing an item. Somebody else's change meanwhile is shown; what was typed here stays (spec: planner 1, version).

import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState, type FormEvent } from 'react';
import { errorCode, type Item } from '../../../client/index.ts';
import { Button } from '../base/button.tsx';
import { Notice } from '../base/notice.tsx';
import { useNotify } from '../base/notices.tsx';
import { useRest } from '../data/client.tsx';
import { keys } from '../data/keys.ts';
import { Change } from './change.tsx';
import { useHistory, useItems, useKeepItem } from './data.ts';
import { versionOf } from './events.ts';
import { differing, equal, fieldsOf, patchOf, taking, type FieldName, type Fields } from './fields.ts';
import { ItemFields, withoutBlanks } from './item-fields.tsx';
import { ItemLink } from './pieces.tsx';
import { actorWords, fieldWords, listed } from './words.ts';

/** `base`: the item as it was when editing began, or as it was last seen. */
export interface ItemDraft {
  version: number;
  base: Fields;
  fields: Fields;
}

export const draftOf = (item: Item): ItemDraft => ({
  version: item.version,
  base: fieldsOf(item),
  fields: fieldsOf(item),
});

interface ItemFormProps {
  item: Item;
  draft: ItemDraft;
  /** Undefined: editing has ended. */
  onChange(draft: ItemDraft | undefined): void;
}

export function ItemForm({ item, draft, onChange }: ItemFormProps) {
  const rest = useRest();
  const keep = useKeepItem();
  const notify = useNotify();
  const queries = useQueryClient();
  const [nothing, setNothing] = useState(false);
  const outdated = item.version > draft.version;

  const save = useMutation({
    mutationFn: (names: FieldName[]) =>
      rest.updateItem(item.key, { version: draft.version, ...patchOf(withoutBlanks(draft.fields), names) }),
    onSuccess(saved) {
      keep(saved);
      notify(`Saved ${saved.key}.`, 'success');
      onChange(undefined);
    },
    onError(error) {
      // The newer version comes, and the form shows what it changed.
      if (errorCode(error) === 'conflict') void queries.invalidateQueries({ queryKey: keys.item(item.key) });
    },
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const names = differing(item.kind, draft.base, withoutBlanks(draft.fields));
    setNothing(names.length === 0);
    if (names.length > 0) save.mutate(names);
  };
  const place = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (document.activeElement === document.body) place.current?.querySelector('input')?.focus();
  }, []);
  const failed = save.error && errorCode(save.error) !== 'conflict' ? save.error : undefined;

  return (
    <form className="item-form card" ref={place} onSubmit={submit} aria-label={`Edit ${item.key}`}>
      <ItemFields kind={item.kind} fields={draft.fields} onChange={(fields) => onChange({ ...draft, fields })} />
      {outdated && <Meanwhile item={item} draft={draft} onChange={onChange} />}
      {failed && <Notice tone="error">{failed.message}</Notice>}
      {nothing && !failed && <Notice>Nothing is changed yet.</Notice>}
      <div className="row form-foot">
        {outdated && <span className="grow small muted">First decide about the newer version.</span>}
        <Button onClick={() => onChange(undefined)}>Cancel</Button>
        <Button type="submit" look="primary" busy={save.isPending} disabled={outdated}>
          Save
        </Button>
      </div>
    </form>
  );
}

/** What others changed since; theirs or mine where both changed the same field. */
function Meanwhile({ item, draft, onChange }: ItemFormProps) {
  const { byKey } = useItems();
  const history = useHistory(item.key);
  const current = fieldsOf(item);
  const theirs = differing(item.kind, draft.base, current);
  const mine = differing(item.kind, draft.base, draft.fields);
  const both = theirs.filter((name) => mine.includes(name) && !equal(draft.fields[name], current[name]));
  const writers = (history.data ?? [])
    .filter((event) => (versionOf(event) ?? 0) > draft.version)
    .map(({ actor }) => actorWords(actor));

  const goOn = (mineToKeep: readonly FieldName[]): void =>
    onChange({ version: item.version, base: current, fields: taking(mineToKeep, draft.fields, current) });

  return (
    <Notice
      tone="warning"
      actions={
        <>
          <Button small onClick={() => goOn(mine)}>
            {both.length > 0 ? 'Keep my text' : 'Go on with the newer version'}
          </Button>
          {both.length > 0 && (
            <Button small onClick={() => goOn(mine.filter((name) => !both.includes(name)))}>
              Take theirs
            </Button>
          )}
        </>
      }
    >
      <p>
        <strong>
          {item.key} was changed{writers.length > 0 && ` by ${listed([...new Set(writers)])}`} while you edited it.
        </strong>{' '}
        {both.length > 0
          ? `You have changed the same: ${listed(both.map((name) => fieldWords[name]))}. Nothing of yours is lost.`
          : 'Nothing of yours is touched by it.'}
      </p>
      {theirs.length > 0 ? (
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
      )}
    </Notice>
  );
}
