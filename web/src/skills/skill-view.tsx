// One skill: the version that is used, its draft, its other versions.

import { Link } from 'wouter';
import type { Skill } from '../../../client/index.ts';
import { Button } from '../base/button.tsx';
import { ArrowLeft, Pencil } from '../base/icons.tsx';
import { Time } from '../base/time.tsx';
import { useProject } from '../data/project.ts';
import { begun } from '../drafts/draft.ts';
import { paths } from '../paths.ts';
import { useKept } from '../plan/kept.ts';
import { Reading } from '../plan/pieces.tsx';
import { View } from '../shell/view.tsx';
import { useMayWrite, usePins, useSkill, useUsedSkills } from './data.ts';
import { PinButton } from './pin.tsx';
import { Unpublished } from './publish.tsx';
import { Shown } from './skill-content.tsx';
import { SkillForm } from './skill-form.tsx';
import { fieldsOf, ownerWords, pinWords, type SkillDraft } from './words.ts';

export function SkillView({ id }: { id: string }) {
  const project = useProject();
  const query = useSkill(id);
  const mayWrite = useMayWrite();
  const [draft, setDraft] = useKept<SkillDraft>(`skill.${id}`);
  const skill = query.data;
  const back = (
    <Link className="back" href={paths.skills(project.key)}>
      <ArrowLeft />
      <span className="visually-hidden">All skills</span>
    </Link>
  );
  const edit = skill && !draft && mayWrite(skill) && (
    <Button icon={<Pencil />} onClick={() => setDraft(begun(skill.draft.version, fieldsOf(skill.draft)))}>
      Edit the draft
    </Button>
  );
  return (
    <View title={skill?.name ?? 'Skill'} above={back} actions={edit}>
      <Reading of={query} what="the skill">
        {(read) => (
          <div className="item">
            <div className="item-main">
              {draft ? (
                <SkillForm skill={read} draft={draft} onChange={setDraft} />
              ) : (
                <>
                  <Unpublished skill={read} mayPublish={mayWrite(read)} />
                  <Shown skill={read} />
                </>
              )}
            </div>
            <Facts skill={read} />
          </div>
        )}
      </Reading>
    </View>
  );
}

function Facts({ skill }: { skill: Skill }) {
  const project = useProject();
  const used = useUsedSkills().data?.find(({ name }) => name === skill.name);
  const pin = usePins().data?.find(({ name }) => name === skill.name);
  const here = used?.id === skill.id;
  return (
    <aside className="facts card" aria-label="Properties">
      <dl>
        <div>
          <dt>For</dt>
          <dd>{ownerWords(skill)}</dd>
        </div>
        <div>
          <dt>Newest</dt>
          <dd>{skill.latest > 0 ? `version ${skill.latest}` : <span className="muted">not published</span>}</dd>
        </div>
        <div>
          <dt>In {project.key}</dt>
          <dd className="stack-small">
            {here && used.version > 0 ? (
              <span>version {used.version}</span>
            ) : (
              <span className="muted">not used</span>
            )}
            {pin && <span>{pinWords(pin)}</span>}
            {here && used.problem && <span className="field-error">{used.problem}</span>}
            {(here || pin?.disabled) && (
              <span>
                <PinButton name={skill.name} id={skill.id} pin={pin} />
              </span>
            )}
          </dd>
        </div>
        <div>
          <dt>Changed</dt>
          <dd>
            <Time at={skill.updated_at} />
          </dd>
        </div>
      </dl>
    </aside>
  );
}
