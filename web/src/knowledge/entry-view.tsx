// One entry: its text, what it is about, its versions.

import { Link } from 'wouter';
import type { KnowledgeEntry } from '../../../client/index.ts';
import { Button } from '../base/button.tsx';
import { ArrowLeft, Pencil } from '../base/icons.tsx';
import { Markdown } from '../base/markdown.tsx';
import { Time } from '../base/time.tsx';
import { useMe } from '../data/client.tsx';
import { useProject } from '../data/project.ts';
import { begun } from '../drafts/draft.ts';
import { Versions } from '../drafts/versions.tsx';
import { paths } from '../paths.ts';
import { useKept } from '../plan/kept.ts';
import { Reading } from '../plan/pieces.tsx';
import { actorWords } from '../plan/words.ts';
import { View } from '../shell/view.tsx';
import { useEntry, useEntryVersion, useEntryVersions, useMayWrite } from './data.ts';
import { EntryForm } from './entry-form.tsx';
import { emptyEntry, fieldsOf, fieldWords, kindWords, textOf, type EntryDraft } from './words.ts';

export function EntryView({ id }: { id: string }) {
  const project = useProject();
  const query = useEntry(id);
  const mayWrite = useMayWrite();
  const [draft, setDraft] = useKept<EntryDraft>(`knowledge.${id}`);
  const entry = query.data;
  const back = (
    <Link className="back" href={paths.knowledge(project.key)}>
      <ArrowLeft />
      <span className="visually-hidden">All knowledge</span>
    </Link>
  );
  const edit = entry && !draft && mayWrite && (
    <Button icon={<Pencil />} onClick={() => setDraft(begun(entry.version, fieldsOf(entry)))}>
      Edit
    </Button>
  );
  return (
    <View title={entry?.title ?? 'Entry'} above={back} actions={edit}>
      <Reading of={query} what="the entry">
        {(read) => (
          <div className="item">
            <div className="item-main">
              {draft ? <EntryForm entry={read} draft={draft} onChange={setDraft} /> : <Body entry={read} />}
              <EntryVersions entry={read} />
            </div>
            <Facts entry={read} />
          </div>
        )}
      </Reading>
    </View>
  );
}

const Body = ({ entry: { body } }: { entry: KnowledgeEntry }) =>
  body.trim() === '' ? (
    <p className="muted">It has no text.</p>
  ) : (
    <div className="measure">
      <Markdown text={body} />
    </div>
  );

function Facts({ entry }: { entry: KnowledgeEntry }) {
  const { projects } = useMe();
  return (
    <aside className="facts card" aria-label="Properties">
      <dl>
        <div>
          <dt>Kind</dt>
          <dd>{kindWords[entry.kind]}</dd>
        </div>
        <div>
          <dt>Projects</dt>
          <dd className="row">
            {entry.projects.length === 0 && <span className="muted">none</span>}
            {entry.projects.map((key) =>
              projects.some((project) => project.key === key) ? (
                <Link key={key} className="key" href={paths.tree(key)}>
                  {key}
                </Link>
              ) : (
                <span key={key} className="key">
                  {key}
                </span>
              ),
            )}
          </dd>
        </div>
        <div>
          <dt>Items</dt>
          <dd className="row">
            {entry.items.length === 0 && <span className="muted">none</span>}
            {entry.items.map((key) => (
              <Link key={key} className="key" href={paths.item(key)}>
                {key}
              </Link>
            ))}
          </dd>
        </div>
        <div>
          <dt>Author</dt>
          <dd>{entry.author}</dd>
        </div>
        <div>
          <dt>Changed</dt>
          <dd>
            <Time at={entry.updated_at} /> <span className="muted">(version {entry.version})</span>
          </dd>
        </div>
      </dl>
    </aside>
  );
}

function EntryVersions({ entry: { id } }: { entry: KnowledgeEntry }) {
  return (
    <Versions
      of={useEntryVersions(id)}
      useVersion={(version) => useEntryVersion(id, version)}
      fieldsOf={fieldsOf}
      empty={emptyEntry}
      words={fieldWords}
      textOf={textOf}
    >
      {({ actor, created_at }) => (
        <>
          {actorWords(actor)}, <Time at={created_at} />
        </>
      )}
    </Versions>
  );
}
