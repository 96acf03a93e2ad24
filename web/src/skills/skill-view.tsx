// One skill: the version that is used, its draft, its other versions.

import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { Link, useSearchParams } from 'wouter';
import type { Skill } from '../../../client/index.ts';
import { Button } from '../base/button.tsx';
import { Confirm } from '../base/dialog.tsx';
import { ArrowLeft, Pencil } from '../base/icons.tsx';
import { Markdown } from '../base/markdown.tsx';
import { Notice } from '../base/notice.tsx';
import { useNotify } from '../base/notices.tsx';
import { Time } from '../base/time.tsx';
import { useRest } from '../data/client.tsx';
import { useProject } from '../data/project.ts';
import { Changes } from '../drafts/changes.tsx';
import { begun, differing } from '../drafts/draft.ts';
import { VersionChanges } from '../drafts/version-changes.tsx';
import { paths } from '../paths.ts';
import { useKept } from '../plan/kept.ts';
import { Reading } from '../plan/pieces.tsx';
import { actorWords } from '../plan/words.ts';
import { View } from '../shell/view.tsx';
import { useKeepSkill, useMayWrite, usePins, useSkill, useSkillVersion, useSkillVersions, useUsedSkills } from './data.ts';
import { PinButton } from './pin.tsx';
import { SkillForm } from './skill-form.tsx';
import { emptySkill, fieldsOf, fieldWords, ownerWords, pinWords, textOf, type SkillDraft, type SkillFields } from './words.ts';

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

/** That the draft says something else than the newest version, what, and the way to publish it. */
function Unpublished({ skill, mayPublish }: { skill: Skill; mayPublish: boolean }) {
  const latest = useSkillVersion(skill.id, skill.latest);
  const [open, setOpen] = useState(false);
  if (skill.latest > 0 && !latest.data) return null;
  const before = latest.data ? fieldsOf(latest.data) : emptySkill;
  const after = fieldsOf(skill.draft);
  const changed = differing(before, after);
  if (changed.length === 0) return null;
  return (
    <Notice
      actions={
        <>
          {skill.latest > 0 && (
            <Button small aria-expanded={open} onClick={() => setOpen(!open)}>
              {open ? 'Hide the changes' : 'Show the changes'}
            </Button>
          )}
          {mayPublish && <Publish skill={skill} />}
        </>
      }
    >
      <p>
        {skill.latest === 0
          ? 'This skill is a draft: no project uses it before it is published.'
          : `The draft has changes that version ${skill.latest} has not. Projects use them once they are published.`}
      </p>
      {open && <Changes names={changed} before={before} after={after} words={fieldWords} textOf={textOf} />}
    </Notice>
  );
}

function Publish({ skill }: { skill: Skill }) {
  const rest = useRest();
  const notify = useNotify();
  const keep = useKeepSkill();
  const [asked, setAsked] = useState(false);
  const publish = useMutation({
    mutationFn: () => rest.publishSkill(skill.id, { version: skill.draft.version }),
    onSuccess({ version }) {
      keep({ ...skill, latest: version });
      notify(`Published version ${version} of ${skill.name}.`, 'success');
    },
    onError(error) {
      keep(skill);
      notify(error.message, 'error');
    },
  });
  return (
    <>
      <Button small look="primary" busy={publish.isPending} onClick={() => setAsked(true)}>
        Publish version {skill.latest + 1}
      </Button>
      <Confirm
        open={asked}
        onOpenChange={setAsked}
        title={`Publish version ${skill.latest + 1} of ${skill.name}?`}
        action="Publish"
        onConfirm={() => publish.mutate()}
      >
        <p>A published version never changes. Projects that use the newest version use it from their next turn on.</p>
      </Confirm>
    </>
  );
}

/** Of the address, else the newest published one, else the draft. 0: the draft. */
function useChosenVersion(skill: Skill): [number, (version: number) => void] {
  const [search, setSearch] = useSearchParams();
  const named = search.get('version');
  const chosen = named === 'draft' ? 0 : Number(named ?? skill.latest);
  const set = (version: number): void =>
    setSearch({ version: version === 0 ? 'draft' : String(version) }, { replace: true });
  return [Number.isInteger(chosen) && chosen >= 0 && chosen <= skill.latest ? chosen : skill.latest, set];
}

function Shown({ skill }: { skill: Skill }) {
  const [version, setVersion] = useChosenVersion(skill);
  const published = useSkillVersion(skill.id, version);
  return (
    <>
      <div className="row">
        <select
          className="version-choice"
          aria-label="Version shown"
          value={version}
          onChange={(event) => setVersion(Number(event.target.value))}
        >
          <option value={0}>Draft</option>
          {Array.from({ length: skill.latest }, (_, index) => skill.latest - index).map((each) => (
            <option key={each} value={each}>
              Version {each}
              {each === skill.latest && ', the newest'}
            </option>
          ))}
        </select>
        {published.data && version > 0 && (
          <span className="small muted">
            published by {actorWords(published.data.published_by)}, <Time at={published.data.published_at} />
          </span>
        )}
      </div>
      {version === 0 ? (
        <Content content={fieldsOf(skill.draft)} />
      ) : (
        <Reading of={published} what={`version ${version}`}>
          {(read) => <Content content={fieldsOf(read)} />}
        </Reading>
      )}
      <Versions skill={skill} />
    </>
  );
}

function Content({ content: { description, body, files } }: { content: SkillFields }) {
  return (
    <>
      <p className="measure">{description}</p>
      <section className="item-part" aria-label="SKILL.md">
        <h2>SKILL.md</h2>
        <div className="card text-card">
          {body.trim() === '' ? <p className="muted">It is empty.</p> : <Markdown text={body} />}
        </div>
      </section>
      {files.length > 0 && (
        <section className="item-part" aria-label="Further files">
          <h2>Further files</h2>
          {files.map(({ path, content }) => (
            <details key={path} className="card disclosure">
              <summary>{path}</summary>
              <pre className="file-text" tabIndex={0} aria-label={path}>
                {content}
              </pre>
            </details>
          ))}
        </section>
      )}
    </>
  );
}

function Versions({ skill }: { skill: Skill }) {
  const versions = useSkillVersions(skill.id);
  const useFields = (version: number) => {
    const { data, error } = useSkillVersion(skill.id, version);
    return { data: data && fieldsOf(data), error };
  };
  if (skill.latest < 2) return null;
  return (
    <section className="item-part" aria-label="Versions">
      <h2>Versions</h2>
      <Reading of={versions} what="the versions">
        {(all) => (
          <ol className="plain-list item-part">
            {all.map(({ version, published_by, published_at }) => (
              <li key={version}>
                <VersionChanges
                  version={version}
                  useFields={useFields}
                  empty={emptySkill}
                  words={fieldWords}
                  textOf={textOf}
                >
                  Version {version}{' '}
                  <span className="small muted">
                    {actorWords(published_by)}, <Time at={published_at} />
                  </span>
                </VersionChanges>
              </li>
            ))}
          </ol>
        )}
      </Reading>
    </section>
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
            <span>{here && used.version > 0 ? `version ${used.version}` : <span className="muted">not used</span>}</span>
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
