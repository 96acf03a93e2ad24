// Which version of a skill the project uses: the newest, a certain one, none.

import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useId, useState, type FormEvent } from 'react';
import type { SkillPin } from '../../../client/index.ts';
import { Button } from '../base/button.tsx';
import { Dialog } from '../base/dialog.tsx';
import { Field } from '../base/field.tsx';
import { Notice } from '../base/notice.tsx';
import { useNotify } from '../base/notices.tsx';
import { Options } from '../base/options.tsx';
import { useRest } from '../data/client.tsx';
import { keys } from '../data/keys.ts';
import { useProject } from '../data/project.ts';
import { useMay } from '../data/may.ts';
import { useSkillVersions } from './data.ts';

interface PinProps {
  name: string;
  /** Absent: no skill has the name. */
  id: string | undefined;
  pin: Pick<SkillPin, 'version' | 'disabled'> | undefined;
}

/** Nothing where one may not pin. */
export function PinButton(props: PinProps) {
  const [open, setOpen] = useState(false);
  const may = useMay();
  const close = (): void => setOpen(false);
  if (!may('skill.write')) return null;
  return (
    <>
      <Button small onClick={() => setOpen(true)}>
        Version …<span className="visually-hidden"> of {props.name}</span>
      </Button>
      {open && props.id && <Pin {...props} id={props.id} onClose={close} />}
      {open && !props.id && <Unpin {...props} onClose={close} />}
    </>
  );
}

const newest = 'newest';
const none = 'none';

function choiceOf(pin: PinProps['pin']): string {
  if (!pin || (pin.version === 0 && !pin.disabled)) return newest;
  return pin.disabled ? none : String(pin.version);
}

/** `choice`: a version, `newest` or `none`. */
function usePinning(name: string, pin: PinProps['pin'], onDone: () => void) {
  const rest = useRest();
  const project = useProject();
  const notify = useNotify();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async (choice: string): Promise<void> => {
      if (choice !== newest) {
        const disabled = choice === none;
        await rest.pinSkill(project.key, name, { version: disabled ? 0 : Number(choice), disabled });
      } else if (pin) {
        await rest.unpinSkill(project.key, name);
      }
    },
    onSuccess(_, choice) {
      void queries.invalidateQueries({ queryKey: keys.allSkills });
      const what = choice === none ? 'no version' : choice === newest ? 'the newest version' : `version ${choice}`;
      notify(`${project.key} uses ${what} of ${name}.`, 'success');
      onDone();
    },
  });
}

function Pin({ name, id, pin, onClose }: PinProps & { id: string; onClose(): void }) {
  const project = useProject();
  const form = useId();
  const versions = useSkillVersions(id);
  const [choice, setChoice] = useState(choiceOf(pin));
  const save = usePinning(name, pin, onClose);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    save.mutate(choice);
  };
  const numbers = (versions.data ?? []).map(({ version }) => String(version));
  const missing = ![newest, none, ...numbers].includes(choice);
  return (
    <Dialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={`${name} in ${project.key}`}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" type="submit" form={form} busy={save.isPending}>
            Save
          </Button>
        </>
      }
    >
      <form id={form} onSubmit={submit} className="stack">
        {save.error && <Notice tone="error">{save.error.message}</Notice>}
        <Field label="What the project uses" hint="A pinned version stays when a newer one is published.">
          {(props) => (
            <select {...props} value={choice} onChange={(event) => setChoice(event.target.value)}>
              <option value={newest}>The newest version</option>
              {missing && <option value={choice}>Version {choice}{versions.data && ', which does not exist'}</option>}
              <Options of={numbers} words={(version) => `Version ${version}`} />
              <option value={none}>None: disabled in this project</option>
            </select>
          )}
        </Field>
      </form>
    </Dialog>
  );
}

function Unpin({ name, pin, onClose }: PinProps & { onClose(): void }) {
  const save = usePinning(name, pin, onClose);
  return (
    <Dialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={`Pin of ${name}`}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" busy={save.isPending} onClick={() => save.mutate(newest)}>
            Remove the pin
          </Button>
        </>
      }
    >
      {save.error && <Notice tone="error">{save.error.message}</Notice>}
      <p>No published skill has the name {name}. The pin does nothing until one has.</p>
    </Dialog>
  );
}
