// Editing a skill's draft. Somebody else's change meanwhile is shown; what was typed here stays (spec: planner 3).

import type { Skill } from '../../../client/index.ts';
import { useRest } from '../data/client.tsx';
import { keys } from '../data/keys.ts';
import { Changes } from '../drafts/changes.tsx';
import { DraftForm } from '../drafts/draft-form.tsx';
import { differing, only } from '../drafts/draft.ts';
import { Meanwhile } from '../drafts/meanwhile.tsx';
import { useKeepSkill } from './data.ts';
import { SkillFormFields } from './skill-fields.tsx';
import { fieldsOf, fieldWords as words, textOf, type SkillDraft } from './words.ts';

interface SkillFormProps {
  skill: Skill;
  draft: SkillDraft;
  /** Undefined: editing has ended. */
  onChange(draft: SkillDraft | undefined): void;
}

export function SkillForm({ skill, draft, onChange }: SkillFormProps) {
  const { version } = skill.draft;
  const { base, fields } = draft;
  const current = fieldsOf(skill.draft);
  const rest = useRest();
  const meanwhile = version > draft.version && (
    <Meanwhile what="The draft" draft={draft} version={version} current={current} words={words} onChange={onChange}>
      {(theirs) => <Changes names={theirs} before={base} after={current} words={words} textOf={textOf} />}
    </Meanwhile>
  );
  return (
    <DraftForm
      label={`Edit the draft of ${skill.name}`}
      className="draft-form"
      submit="Save the draft"
      queryKey={keys.skill(skill.id)}
      newer={meanwhile}
      changed={() => differing(base, fields)}
      save={(names) => rest.updateSkill(skill.id, { version: draft.version, ...only(names, fields) })}
      keep={useKeepSkill()}
      words={({ name }) => `Saved the draft of ${name}.`}
      onEnd={() => onChange(undefined)}
    >
      <SkillFormFields fields={fields} onChange={(next) => onChange({ ...draft, fields: next })} />
    </DraftForm>
  );
}
