// Editing a skill's draft. Somebody else's change meanwhile is shown; what was typed here stays (spec: planner 3).

import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState, type FormEvent } from 'react';
import { errorCode, type Skill } from '../../../client/index.ts';
import { Button } from '../base/button.tsx';
import { Notice } from '../base/notice.tsx';
import { useNotify } from '../base/notices.tsx';
import { useRest } from '../data/client.tsx';
import { keys } from '../data/keys.ts';
import { differing, only } from '../drafts/draft.ts';
import { Meanwhile } from '../drafts/meanwhile.tsx';
import { useKeepSkill } from './data.ts';
import { SkillFormFields } from './skill-fields.tsx';
import { fieldsOf, fieldWords, textOf, type SkillDraft, type SkillFields } from './words.ts';

interface SkillFormProps {
  skill: Skill;
  draft: SkillDraft;
  /** Undefined: editing has ended. */
  onChange(draft: SkillDraft | undefined): void;
}

export function SkillForm({ skill, draft, onChange }: SkillFormProps) {
  const rest = useRest();
  const keep = useKeepSkill();
  const notify = useNotify();
  const queries = useQueryClient();
  const [nothing, setNothing] = useState(false);
  const outdated = skill.draft.version > draft.version;
  const save = useMutation({
    mutationFn: (names: (keyof SkillFields)[]) =>
      rest.updateSkill(skill.id, { version: draft.version, ...only(names, draft.fields) }),
    onSuccess(saved) {
      keep(saved);
      notify(`Saved the draft of ${saved.name}.`, 'success');
      onChange(undefined);
    },
    onError(error) {
      if (errorCode(error) === 'conflict') void queries.invalidateQueries({ queryKey: keys.skill(skill.id) });
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
    <form className="card draft-form" onSubmit={submit} aria-label={`Edit the draft of ${skill.name}`}>
      <SkillFormFields fields={draft.fields} onChange={(fields) => onChange({ ...draft, fields })} />
      {outdated && (
        <Meanwhile
          what="The draft"
          draft={draft}
          version={skill.draft.version}
          current={fieldsOf(skill.draft)}
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
          Save the draft
        </Button>
      </div>
    </form>
  );
}
