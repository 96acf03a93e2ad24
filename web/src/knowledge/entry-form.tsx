// Editing an entry. Somebody else's change meanwhile is shown; what was typed here stays (spec: planner 4).

import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState, type FormEvent } from 'react';
import { errorCode, type KnowledgeEntry } from '../../../client/index.ts';
import { Button } from '../base/button.tsx';
import { Notice } from '../base/notice.tsx';
import { useNotify } from '../base/notices.tsx';
import { useRest } from '../data/client.tsx';
import { keys } from '../data/keys.ts';
import { differing, only } from '../drafts/draft.ts';
import { Meanwhile } from '../drafts/meanwhile.tsx';
import { useKeepEntry } from './data.ts';
import { EntryFormFields } from './entry-fields.tsx';
import { fieldsOf, fieldWords, textOf, type EntryDraft, type EntryFields } from './words.ts';

interface EntryFormProps {
  entry: KnowledgeEntry;
  draft: EntryDraft;
  /** Undefined: editing has ended. */
  onChange(draft: EntryDraft | undefined): void;
}

export function EntryForm({ entry, draft, onChange }: EntryFormProps) {
  const rest = useRest();
  const keep = useKeepEntry();
  const notify = useNotify();
  const queries = useQueryClient();
  const [nothing, setNothing] = useState(false);
  const outdated = entry.version > draft.version;
  const save = useMutation({
    mutationFn: (names: (keyof EntryFields)[]) =>
      rest.updateKnowledge(entry.organization, entry.id, { version: draft.version, ...only(names, draft.fields) }),
    onSuccess(saved) {
      keep(saved);
      notify(`Saved version ${saved.version}.`, 'success');
      onChange(undefined);
    },
    onError(error) {
      if (errorCode(error) !== 'conflict') return;
      void queries.invalidateQueries({ queryKey: keys.entry(entry.organization, entry.id) });
    },
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const names = differing(draft.base, draft.fields);
    setNothing(names.length === 0);
    if (names.length > 0) save.mutate(names);
  };
  const failed = save.error && errorCode(save.error) !== 'conflict' ? save.error : undefined;
  return (
    <form className="card draft-form" onSubmit={submit} aria-label={`Edit ${entry.title}`}>
      <EntryFormFields fields={draft.fields} onChange={(fields) => onChange({ ...draft, fields })} />
      {outdated && (
        <Meanwhile
          what="The entry"
          draft={draft}
          version={entry.version}
          current={fieldsOf(entry)}
          words={fieldWords}
          textOf={textOf}
          onChange={onChange}
        />
      )}
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
