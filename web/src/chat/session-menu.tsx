// What can be done with a session: rename, archive, bring back.

import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState, type FormEvent } from 'react';
import type { Session, SessionPatch } from '../../../client/index.ts';
import { Button, IconButton } from '../base/button.tsx';
import { Dialog } from '../base/dialog.tsx';
import { Field } from '../base/field.tsx';
import { More } from '../base/icons.tsx';
import { Menu, MenuItem } from '../base/menu.tsx';
import { useNotify } from '../base/notices.tsx';
import { useRest } from '../data/client.tsx';
import { keys } from '../data/keys.ts';

export interface SessionMenuProps {
  session: Session;
  onChange(session: Session): void;
}

export function SessionMenu({ session, onChange }: SessionMenuProps) {
  const rest = useRest();
  const queries = useQueryClient();
  const notify = useNotify();
  const [renaming, setRenaming] = useState(false);
  const change = useMutation({
    mutationFn: (patch: SessionPatch) => rest.updateSession(session.id, patch),
    onSuccess: (next) => {
      onChange(next);
      void queries.invalidateQueries({ queryKey: keys.sessions(session.project) });
    },
  });
  const archive = (archived: boolean): void =>
    change.mutate(
      { archived },
      {
        onSuccess: () => notify(archived ? 'Archived.' : 'Brought back.', 'success'),
        onError: (error) => notify(error.message, 'error'),
      },
    );
  return (
    <>
      <Menu align="end" trigger={<IconButton label={`Session ${session.title}: more`} icon={<More />} />}>
        <MenuItem onSelect={() => setRenaming(true)}>Rename …</MenuItem>
        <MenuItem onSelect={() => archive(!session.archived)}>{session.archived ? 'Bring back' : 'Archive'}</MenuItem>
      </Menu>
      {renaming && (
        <Rename
          title={session.title}
          busy={change.isPending}
          problem={change.error?.message}
          onClose={() => {
            setRenaming(false);
            change.reset();
          }}
          onRename={(title) => change.mutate({ title }, { onSuccess: () => setRenaming(false) })}
        />
      )}
    </>
  );
}

interface RenameProps {
  title: string;
  busy: boolean;
  problem: string | undefined;
  onClose(): void;
  onRename(title: string): void;
}

function Rename({ title, busy, problem, onClose, onRename }: RenameProps) {
  const [text, setText] = useState(title);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    onRename(text.trim());
  };
  return (
    <Dialog
      open
      onOpenChange={(open) => !open && onClose()}
      title="Rename the session"
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" type="submit" form="rename-session" busy={busy} disabled={text.trim() === ''}>
            Rename
          </Button>
        </>
      }
    >
      <form id="rename-session" onSubmit={submit}>
        <Field label="Title" error={problem}>
          {(props) => (
            <input {...props} value={text} maxLength={200} onChange={(event) => setText(event.target.value)} />
          )}
        </Field>
      </form>
    </Dialog>
  );
}
