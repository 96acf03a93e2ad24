// A new skill: a draft at one of the scopes where one may write.

import { useMutation } from '@tanstack/react-query';
import type { FormEvent } from 'react';
import { Link, useLocation } from 'wouter';
import { Button } from '../base/button.tsx';
import { Field } from '../base/field.tsx';
import { ArrowLeft } from '../base/icons.tsx';
import { Empty, Notice } from '../base/notice.tsx';
import { useNotify } from '../base/notices.tsx';
import { Options } from '../base/options.tsx';
import { useRest } from '../data/client.tsx';
import { useProject } from '../data/project.ts';
import { useMay } from '../data/may.ts';
import { paths } from '../paths.ts';
import { useKept } from '../plan/kept.ts';
import { View } from '../shell/view.tsx';
import { useKeepSkill } from './data.ts';
import { SkillFormFields } from './skill-fields.tsx';
import { emptySkill, scopes, scopeWords, type Scope, type SkillFields } from './words.ts';

interface NewDraft {
  scope?: Scope;
  name: string;
  fields: SkillFields;
}

export function NewSkill() {
  const project = useProject();
  const may = useMay();
  const allowed = scopes.filter((scope) => may('skill.write', scope)).toReversed();
  const back = (
    <Link className="back" href={paths.skills(project.key)}>
      <ArrowLeft />
      <span className="visually-hidden">All skills</span>
    </Link>
  );
  return (
    <View title="New skill" above={back}>
      {allowed.length > 0 ? (
        <NewForm allowed={allowed} />
      ) : (
        <Empty title="Your role may not write skills">
          <p>Ask an administrator of the organization.</p>
        </Empty>
      )}
    </View>
  );
}

function NewForm({ allowed }: { allowed: readonly Scope[] }) {
  const rest = useRest();
  const project = useProject();
  const keep = useKeepSkill();
  const notify = useNotify();
  const [, navigate] = useLocation();
  const [kept, setKept] = useKept<NewDraft>(`skill.new.${project.key}`);
  const { scope = allowed[0] ?? 'project', name, fields } = kept ?? { name: '', fields: emptySkill };
  const set = (change: Partial<NewDraft>): void => setKept({ scope, name, fields, ...change });
  const create = useMutation({
    mutationFn: () =>
      rest.createSkill({
        scope,
        ...(scope === 'project' ? { project: project.key } : {}),
        ...(scope === 'organization' ? { organization: project.organization } : {}),
        name,
        ...fields,
      }),
    onSuccess(skill) {
      setKept(undefined);
      keep(skill);
      notify(`Created ${skill.name}, as a draft.`, 'success');
      navigate(paths.skill(project.key, skill.id));
    },
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    create.mutate();
  };
  const owner: Record<Scope, string> = {
    project: `this project, ${project.key}`,
    organization: `the organization ${project.organization}`,
    platform: 'every organization',
  };
  return (
    <form className="card draft-form" onSubmit={submit} aria-label="New skill">
      <div className="field-grid">
        <Field label="For">
          {(props) => (
            <select {...props} value={scope} onChange={(event) => set({ scope: event.target.value as Scope })}>
              <Options of={allowed} words={(each) => `${scopeWords[each]}: ${owner[each]}`} />
            </select>
          )}
        </Field>
        <Field label="Name" hint="2-64 of a-z, 0-9 and -, a letter first. It never changes.">
          {(props) => (
            <input {...props} value={name} required onChange={(event) => set({ name: event.target.value })} />
          )}
        </Field>
      </div>
      <SkillFormFields fields={fields} onChange={(next) => set({ fields: next })} />
      {create.error && <Notice tone="error">{create.error.message}</Notice>}
      <div className="row form-foot">
        {kept && <Button onClick={() => setKept(undefined)}>Clear</Button>}
        <Button type="submit" look="primary" busy={create.isPending}>
          Create the draft
        </Button>
      </div>
    </form>
  );
}
