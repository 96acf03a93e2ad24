// What a version of a skill says, or its draft; and what each version changed.

import { useSearchParams } from 'wouter';
import type { Skill } from '../../../client/index.ts';
import { Markdown } from '../base/markdown.tsx';
import { Options } from '../base/options.tsx';
import { Time } from '../base/time.tsx';
import { Versions } from '../drafts/versions.tsx';
import { Reading } from '../plan/pieces.tsx';
import { actorWords } from '../plan/words.ts';
import { useSkillVersion, useSkillVersions } from './data.ts';
import { emptySkill, fieldsOf, fieldWords, textOf, type SkillFields } from './words.ts';

/** Of the address, else the newest published one, else the draft. 0: the draft. */
function useChosenVersion(skill: Skill): [number, (version: number) => void] {
  const [search, setSearch] = useSearchParams();
  const named = search.get('version');
  const chosen = named === 'draft' ? 0 : Number(named ?? skill.latest);
  const set = (version: number): void =>
    setSearch({ version: version === 0 ? 'draft' : String(version) }, { replace: true });
  return [Number.isInteger(chosen) && chosen >= 0 && chosen <= skill.latest ? chosen : skill.latest, set];
}

export function Shown({ skill }: { skill: Skill }) {
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
          <Options
            of={Array.from({ length: skill.latest }, (_, index) => skill.latest - index)}
            words={(each) => `Version ${each}${each === skill.latest ? ', the newest' : ''}`}
          />
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
      <SkillVersions skill={skill} />
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

function SkillVersions({ skill: { id, latest } }: { skill: Skill }) {
  const versions = useSkillVersions(id);
  if (latest < 2) return null;
  return (
    <Versions
      of={versions}
      useVersion={(version) => useSkillVersion(id, version)}
      fieldsOf={fieldsOf}
      empty={emptySkill}
      words={fieldWords}
      textOf={textOf}
    >
      {({ published_by, published_at }) => (
        <>
          {actorWords(published_by)}, <Time at={published_at} />
        </>
      )}
    </Versions>
  );
}
