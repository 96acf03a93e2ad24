// A new item: its dialog, opened by a button.

import { useMutation } from '@tanstack/react-query';
import { useId, useState, type FormEvent } from 'react';
import { useLocation } from 'wouter';
import { Button } from '../base/button.tsx';
import { Dialog } from '../base/dialog.tsx';
import { Field } from '../base/field.tsx';
import { Plus } from '../base/icons.tsx';
import { Notice } from '../base/notice.tsx';
import { useNotify } from '../base/notices.tsx';
import { Options } from '../base/options.tsx';
import { useRest } from '../data/client.tsx';
import { useProject } from '../data/project.ts';
import { paths } from '../paths.ts';
import { useKeepItem, useRights } from './data.ts';
import { emptyFields, newItemOf, type Fields } from './fields.ts';
import { ItemFields, withoutBlanks } from './item-fields.tsx';
import { useKept } from './kept.ts';
import { kindWords, type Kind } from './words.ts';

interface NewItemProps {
  /** What the dialog begins with; another kind can be chosen in it. */
  kind: Kind;
  /** Set at first. */
  parents?: Pick<Partial<Fields>, 'epic' | 'milestone'>;
  label?: string;
  small?: boolean;
}

export function NewItemButton({ kind, parents = {}, label = 'New item', small = false }: NewItemProps) {
  const [open, setOpen] = useState(false);
  const { write } = useRights();
  if (!write) return null;
  return (
    <>
      <Button look={small ? 'plain' : 'primary'} small={small} icon={<Plus />} onClick={() => setOpen(true)}>
        {label}
      </Button>
      {open && <NewItemDialog kind={kind} parents={parents} onClose={() => setOpen(false)} />}
    </>
  );
}

interface Draft {
  kind: Kind;
  fields: Fields;
}

function NewItemDialog({ kind, parents, onClose }: { kind: Kind; parents: object; onClose(): void }) {
  const rest = useRest();
  const project = useProject();
  const keep = useKeepItem();
  const notify = useNotify();
  const [, navigate] = useLocation();
  const form = useId();
  const [kept, setKept] = useKept<Draft>(`new.${project.key}.${JSON.stringify({ kind, ...parents })}`);
  const draft = kept ?? { kind, fields: { ...emptyFields, ...parents } };
  const create = useMutation({
    mutationFn: () => rest.createItem(project.key, newItemOf(draft.kind, withoutBlanks(draft.fields))),
    onSuccess(item) {
      setKept(undefined);
      keep(item);
      notify(`Created ${item.key}.`, 'success');
      onClose();
      navigate(paths.item(item.key));
    },
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    create.mutate();
  };
  return (
    <Dialog
      open
      wide
      onOpenChange={(open) => !open && onClose()}
      title="New item"
      footer={
        <>
          {kept && <Button onClick={() => setKept(undefined)}>Clear</Button>}
          <Button type="submit" form={form} look="primary" busy={create.isPending}>
            Create
          </Button>
        </>
      }
    >
      <form id={form} className="item-form" onSubmit={submit}>
        {create.error && <Notice tone="error">{create.error.message}</Notice>}
        <Field label="Kind">
          {(props) => (
            <select
              {...props}
              value={draft.kind}
              onChange={(event) => setKept({ ...draft, kind: event.target.value as Kind })}
            >
              <Options of={['ticket', 'epic', 'milestone']} words={(each) => kindWords[each]} />
            </select>
          )}
        </Field>
        <ItemFields kind={draft.kind} fields={draft.fields} onChange={(fields) => setKept({ ...draft, fields })} />
      </form>
    </Dialog>
  );
}
