// Editing an entry. Somebody else's change meanwhile is shown; what was typed here stays (spec: planner 4).

import type { KnowledgeEntry } from '../../../client/index.ts';
import { useRest } from '../data/client.tsx';
import { keys } from '../data/keys.ts';
import { Changes } from '../drafts/changes.tsx';
import { DraftForm } from '../drafts/draft-form.tsx';
import { differing, only } from '../drafts/draft.ts';
import { Meanwhile } from '../drafts/meanwhile.tsx';
import { useKeepEntry } from './data.ts';
import { EntryFormFields } from './entry-fields.tsx';
import { fieldsOf, fieldWords as words, textOf, type EntryDraft } from './words.ts';

interface EntryFormProps {
  entry: KnowledgeEntry;
  draft: EntryDraft;
  /** Undefined: editing has ended. */
  onChange(draft: EntryDraft | undefined): void;
}

export function EntryForm({ entry, draft, onChange }: EntryFormProps) {
  const { organization, id, version } = entry;
  const { base, fields } = draft;
  const current = fieldsOf(entry);
  const rest = useRest();
  const meanwhile = version > draft.version && (
    <Meanwhile what="The entry" draft={draft} version={version} current={current} words={words} onChange={onChange}>
      {(theirs) => <Changes names={theirs} before={base} after={current} words={words} textOf={textOf} />}
    </Meanwhile>
  );
  return (
    <DraftForm
      label={`Edit ${entry.title}`}
      className="draft-form"
      queryKey={keys.entry(organization, id)}
      newer={meanwhile}
      changed={() => differing(base, fields)}
      save={(names) => rest.updateKnowledge(organization, id, { version: draft.version, ...only(names, fields) })}
      keep={useKeepEntry()}
      words={(saved) => `Saved version ${saved.version}.`}
      onEnd={() => onChange(undefined)}
    >
      <EntryFormFields fields={fields} onChange={(next) => onChange({ ...draft, fields: next })} />
    </DraftForm>
  );
}
