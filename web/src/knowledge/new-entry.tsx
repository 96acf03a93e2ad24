// A new knowledge entry.

import { useMutation } from '@tanstack/react-query';
import type { FormEvent } from 'react';
import { Link, useLocation } from 'wouter';
import { Button } from '../base/button.tsx';
import { ArrowLeft } from '../base/icons.tsx';
import { Empty, Notice } from '../base/notice.tsx';
import { useNotify } from '../base/notices.tsx';
import { useRest } from '../data/client.tsx';
import { useProject } from '../data/project.ts';
import { paths } from '../paths.ts';
import { useKept } from '../plan/kept.ts';
import { View } from '../shell/view.tsx';
import { useKeepEntry, useMayWrite } from './data.ts';
import { EntryFormFields } from './entry-fields.tsx';
import { emptyEntry, type EntryFields } from './words.ts';

export function NewEntry() {
  const rest = useRest();
  const project = useProject();
  const mayWrite = useMayWrite();
  const keep = useKeepEntry();
  const notify = useNotify();
  const [, navigate] = useLocation();
  const [kept, setKept] = useKept<EntryFields>(`knowledge.new.${project.key}`);
  const fields = kept ?? { ...emptyEntry, projects: [project.key] };
  const create = useMutation({
    mutationFn: () => rest.createKnowledge(project.organization, fields),
    onSuccess(entry) {
      setKept(undefined);
      keep(entry);
      notify('Written down.', 'success');
      navigate(paths.knowledgeEntry(project.key, entry.id));
    },
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    create.mutate();
  };
  const back = (
    <Link className="back" href={paths.knowledge(project.key)}>
      <ArrowLeft />
      <span className="visually-hidden">All knowledge</span>
    </Link>
  );
  return (
    <View title="New entry" above={back}>
      {mayWrite ? (
        <form className="card draft-form" onSubmit={submit} aria-label="New entry">
          <EntryFormFields fields={fields} onChange={setKept} />
          {create.error && <Notice tone="error">{create.error.message}</Notice>}
          <div className="row form-foot">
            {kept && <Button onClick={() => setKept(undefined)}>Clear</Button>}
            <Button type="submit" look="primary" busy={create.isPending}>
              Create
            </Button>
          </div>
        </form>
      ) : (
        <Empty title="Your role may not write knowledge">
          <p>Ask an administrator of the organization.</p>
        </Empty>
      )}
    </View>
  );
}
