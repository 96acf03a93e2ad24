// The skills that the project uses, and those that there are besides.

import { Link } from 'wouter';
import { Plus } from '../base/icons.tsx';
import { Empty, Notice } from '../base/notice.tsx';
import { useMay } from '../data/may.ts';
import { useProject } from '../data/project.ts';
import { paths } from '../paths.ts';
import { Reading } from '../plan/pieces.tsx';
import { View } from '../shell/view.tsx';
import { usePins, useSkills, useUsedSkills } from './data.ts';
import { PinButton } from './pin.tsx';
import { otherSkills, unusedWords, usedSkills, type OtherSkill, type UsedSkill } from './rows.ts';
import { pinWords, scopes, scopeWords } from './words.ts';

export function SkillList() {
  const project = useProject();
  const may = useMay();
  const mayCreate = scopes.some((scope) => may('skill.write', scope));
  const create = mayCreate && (
    <Link className="button button-primary" href={paths.newSkill(project.key)}>
      <Plus />
      New skill
    </Link>
  );
  return (
    <View title="Skills" actions={create}>
      <p className="muted measure">
        A skill is a text that the planner reads when it fits what it is asked. Of each name the one that is nearest to
        the project is used: its own, else the organization’s, else the platform’s.
      </p>
      <Used mayCreate={mayCreate} />
    </View>
  );
}

function Used({ mayCreate }: { mayCreate: boolean }) {
  const project = useProject();
  const [used, pins, all] = [useUsedSkills(), usePins(), useSkills()];
  return (
    <Reading of={used} what="skills">
      {(resolved) => {
        const rows = usedSkills(resolved, pins.data ?? []);
        const others = otherSkills(project, resolved, pins.data ?? [], all.data ?? []);
        return (
          <>
            {rows.length > 0 && (
              <section className="stack" aria-label={`Used in ${project.key}`}>
                <h2>Used in {project.key}</h2>
                <ul className="plain-list card rows">
                  {rows.map((skill) => (
                    <UsedRow key={skill.name} skill={skill} />
                  ))}
                </ul>
              </section>
            )}
            {rows.length === 0 && (
              <Empty title={`${project.key} uses no skill`}>
                <p>
                  {mayCreate
                    ? 'Write down how work is planned here, for example what a good ticket looks like, and publish it.'
                    : 'Ask an administrator of the organization to publish one.'}
                </p>
              </Empty>
            )}
            {all.error && <Notice tone="error">{all.error.message}</Notice>}
            {others.length > 0 && (
              <section className="stack" aria-label="Not used here">
                <h2>Not used here</h2>
                <ul className="plain-list card rows">
                  {others.map((other) => (
                    <OtherRow key={other.skill.id} other={other} />
                  ))}
                </ul>
              </section>
            )}
          </>
        );
      }}
    </Reading>
  );
}

function UsedRow({ skill }: { skill: UsedSkill }) {
  const project = useProject();
  const { name, id, scope, version, description, problem, pin } = skill;
  const pinned = pinWords(pin);
  return (
    <li>
      <div className="rows-text">
        <p className="row">
          {id ? (
            <Link className="rows-title" href={paths.skill(project.key, id)}>
              {name}
            </Link>
          ) : (
            <strong>{name}</strong>
          )}
          {scope && <span className="badge">{scopeWords[scope]}</span>}
          {version > 0 && <span className="small muted">version {version}</span>}
          {pinned && <span className="badge badge-accent">{pinned}</span>}
          {problem && <span className="badge badge-bad">Can’t be used</span>}
        </p>
        {description && <p className="small muted rows-snippet">{description}</p>}
        {problem && <p className="small field-error">{problem}</p>}
      </div>
      <PinButton name={name} id={id} pin={pin} />
    </li>
  );
}

function OtherRow({ other: { skill, why } }: { other: OtherSkill }) {
  const project = useProject();
  return (
    <li>
      <div className="rows-text">
        <p className="row">
          <Link className="rows-title" href={paths.skill(project.key, skill.id)}>
            {skill.name}
          </Link>
          <span className="badge">{scopeWords[skill.scope]}</span>
          {skill.latest > 0 && <span className="small muted">version {skill.latest}</span>}
          <span className="small muted">{unusedWords[why]}</span>
        </p>
        {skill.description && <p className="small muted rows-snippet">{skill.description}</p>}
      </div>
      {why === 'disabled' && <PinButton name={skill.name} id={skill.id} pin={{ version: 0, disabled: true }} />}
    </li>
  );
}
