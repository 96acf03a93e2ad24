// The organization's knowledge: what is newest, or what a search finds.

import { useEffect, useState } from 'react';
import { Link, useSearchParams } from 'wouter';
import type { KnowledgeSummary } from '../../../client/index.ts';
import { Plus } from '../base/icons.tsx';
import { Empty, Notice } from '../base/notice.tsx';
import { Options } from '../base/options.tsx';
import { Time } from '../base/time.tsx';
import { useSettled } from '../base/use-settled.ts';
import { useProject } from '../data/project.ts';
import { paths } from '../paths.ts';
import { Paged, Reading } from '../plan/pieces.tsx';
import { counted } from '../plan/words.ts';
import { View } from '../shell/view.tsx';
import { useFound, useKnowledge, useMayWrite } from './data.ts';
import { isKind, kinds, kindWords, type Kind } from './words.ts';

const settledMs = 250;

export function KnowledgeList() {
  const project = useProject();
  const mayWrite = useMayWrite();
  const [search, setSearch] = useSearchParams();
  const [words, setWords] = useState(search.get('q') ?? '');
  const asked = useSettled(words.trim(), settledMs);
  const named = search.get('kind');
  const kind = isKind(named) ? named : undefined;
  const here = search.get('of') === 'project';
  const address = (q: string, of: Kind | undefined, project: boolean): void =>
    setSearch({ ...(q && { q }), ...(of && { kind: of }), ...(project && { of: 'project' }) }, { replace: true });
  useEffect(() => {
    if (asked !== (search.get('q') ?? '')) address(asked, kind, here);
  }, [asked]);

  return (
    <View
      title="Knowledge"
      actions={
        <>
          <select
            aria-label="Kind"
            value={kind ?? ''}
            onChange={({ target }) => address(asked, isKind(target.value) ? target.value : undefined, here)}
          >
            <option value="">All kinds</option>
            <Options of={kinds} words={(each) => kindWords[each]} />
          </select>
          {mayWrite && <NewLink project={project.key} />}
        </>
      }
    >
      <search className="knowledge-search">
        <input
          type="search"
          aria-label={`Search the knowledge of ${project.organization}`}
          placeholder="Search by words or by meaning"
          maxLength={1_000}
          value={words}
          onChange={(event) => setWords(event.target.value)}
        />
        {asked === '' && (
          <label className="check">
            <input type="checkbox" checked={here} onChange={({ target }) => address('', kind, target.checked)} />
            About {project.key} only
          </label>
        )}
      </search>
      {asked === '' ? <Newest kind={kind} here={here} mayWrite={mayWrite} /> : <Found words={asked} kind={kind} />}
    </View>
  );
}

const NewLink = ({ project }: { project: string }) => (
  <Link className="button button-primary" href={paths.newKnowledge(project)}>
    <Plus />
    New entry
  </Link>
);

function Newest({ kind, here, mayWrite }: { kind: Kind | undefined; here: boolean; mayWrite: boolean }) {
  const project = useProject();
  const query = useKnowledge({ ...(kind ? { kind } : {}), ...(here ? { project: project.key } : {}) });
  const narrowed = kind !== undefined || here;
  return (
    <Paged of={query} what="the knowledge">
      {(entries) =>
        entries.length === 0 ? <None narrowed={narrowed} mayWrite={mayWrite} /> : <Entries entries={entries} />
      }
    </Paged>
  );
}

function None({ narrowed, mayWrite }: { narrowed: boolean; mayWrite: boolean }) {
  const project = useProject();
  if (narrowed) {
    return (
      <Empty title="No such entry">
        <p>Choose all kinds, or all projects, to see the others.</p>
      </Empty>
    );
  }
  return (
    <Empty title={`${project.organization} has written down nothing yet`}>
      <p>
        Decisions and why they were made, notes, documents, debts: the planner searches here before it proposes, and can
        write entries when you ask it to.
      </p>
      {mayWrite && <NewLink project={project.key} />}
    </Empty>
  );
}

function Found({ words, kind }: { words: string; kind: Kind | undefined }) {
  const found = useFound(words, kind);
  return (
    <Reading of={found} what="what is found">
      {({ items, warning }) => (
        <>
          {warning && <Notice tone="warning">{warning}</Notice>}
          {items.length > 0 && <Entries entries={items.map(({ entry }) => entry)} />}
          {items.length === 0 && (
            <Empty title="Nothing is found">
              <p>Say it with other words{kind && ', or choose all kinds'}.</p>
            </Empty>
          )}
          <p className="visually-hidden" role="status">
            {found.isPlaceholderData ? '' : `${counted(items.length, 'entry', 'entries')} found`}
          </p>
        </>
      )}
    </Reading>
  );
}

function Entries({ entries }: { entries: readonly (KnowledgeSummary & { snippet?: string })[] }) {
  const project = useProject();
  return (
    <ul className="plain-list card rows" aria-label="Entries">
      {entries.map(({ id, kind, title, projects, items, author, updated_at, snippet }) => (
        <li key={id}>
          <div className="rows-text">
            <p className="row">
              <Link className="rows-title" href={paths.knowledgeEntry(project.key, id)}>
                {title}
              </Link>
              <span className={kind === 'debt' ? 'badge badge-warn' : 'badge'}>{kindWords[kind]}</span>
            </p>
            {snippet && <p className="small rows-snippet">{snippet}</p>}
            <p className="tiny muted row">
              <span>
                {author}, <Time at={updated_at} />
              </span>
              {[...projects, ...items].map((key) => (
                <span key={key} className="key">
                  {key}
                </span>
              ))}
            </p>
          </div>
        </li>
      ))}
    </ul>
  );
}
