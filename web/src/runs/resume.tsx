// How a run that ended goes on: in its session, as another role by approval, or its packet in a new run.

import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useId, useState, type FormEvent, type ReactNode } from 'react';
import { useLocation } from 'wouter';
import type { Resume, RunDetails } from '../../../client/index.ts';
import { Button } from '../base/button.tsx';
import { Confirm, Dialog } from '../base/dialog.tsx';
import { Field } from '../base/field.tsx';
import { Retry } from '../base/icons.tsx';
import { Notice } from '../base/notice.tsx';
import { Options } from '../base/options.tsx';
import { useRest } from '../data/client.tsx';
import { keys } from '../data/keys.ts';
import { useProject } from '../data/project.ts';
import { paths } from '../paths.ts';
import { useKept } from '../plan/kept.ts';
import { useRunRights } from './data.ts';
import { draftOf, isUntouched, type RunDraft } from './draft.ts';
import { costWords, money, resumable, roles, roleWords } from './words.ts';

export function GoOn({ run }: { run: RunDetails }) {
  const { start } = useRunRights();
  const may = resumable(run);
  const [asks, setAsks] = useState<'resume' | 'role'>();
  const close = (): void => setAsks(undefined);
  if (!start || run.status === 'succeeded') return null;
  return (
    <>
      {may?.yes === false && <p>{may.why}</p>}
      <div className="row">
        {may?.yes && (
          <>
            <Button look="primary" icon={<Retry />} onClick={() => setAsks('resume')}>
              {run.attempts > 0 ? 'Resume in the same session' : 'Start it again'}
            </Button>
            <Button onClick={() => setAsks('role')}>Approve another role</Button>
          </>
        )}
        <NewRunWith run={run} />
      </div>
      {asks === 'resume' && may?.yes && <ResumeDialog run={run} left={may.left} onClose={close} />}
      {asks === 'role' && may?.yes && <RoleDialog run={run} left={may.left} onClose={close} />}
    </>
  );
}

function useResume(run: RunDetails, onClose: () => void) {
  const rest = useRest();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (body: Resume) => rest.resumeRun(run.id, body),
    onSuccess() {
      onClose();
      void queries.invalidateQueries({ queryKey: keys.allRuns });
    },
  });
}

function Price({ run, left }: { run: RunDetails; left: number }) {
  return (
    <p>
      {run.demo
        ? 'The scripted CLI answers again: nothing is paid.'
        : `Spent so far: ${costWords(run)} of ${money(run.budget_usd)}. It may cost up to ${money(left)} more.`}
    </p>
  );
}

interface DialogProps {
  run: RunDetails;
  left: number;
  onClose(): void;
}

function ResumeDialog({ run, left, onClose }: DialogProps) {
  const resume = useResume(run, onClose);
  const next = run.attempts + 1;
  return (
    <Dialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={run.attempts > 0 ? `Resume ${run.run_id}` : `Start ${run.run_id} again`}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" busy={resume.isPending} onClick={() => resume.mutate({})}>
            Resume
          </Button>
        </>
      }
    >
      {resume.error && <Notice tone="error">{resume.error.message}</Notice>}
      <p>
        {run.attempts > 0
          ? `Attempt ${next} goes on in the same session: Claude is told to put out the complete plan again,`
          : 'No attempt has begun: it starts in a new session,'}{' '}
        as {roleWords(run.role)}.
      </p>
      <Price run={run} left={left} />
    </Dialog>
  );
}

const approvalLimit = 500;

interface Approval {
  role: string;
  text: string;
}

function RoleDialog({ run, left, onClose }: DialogProps) {
  const others = roles.filter((role) => role !== run.role);
  const resume = useResume(run, () => {
    setKept(undefined);
    onClose();
  });
  const form = useId();
  const [kept, setKept] = useKept<Approval>(`approval.${run.id}`);
  const { role, text } = kept ?? { role: others[0] ?? '', text: '' };
  const change = (next: Partial<Approval>): void => setKept({ role, text, ...next });
  const chosen = others.find((each) => each === role) ?? others[0];
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (chosen) resume.mutate({ role: chosen, approval: text });
  };
  return (
    <Dialog
      open
      onOpenChange={(open) => !open && onClose()}
      title="Approve another role"
      description={`So far it was ${roleWords(run.role)}. The approval is recorded with the run.`}
      footer={
        <Button type="submit" form={form} look="primary" busy={resume.isPending} disabled={text.trim() === ''}>
          Approve and resume
        </Button>
      }
    >
      <form id={form} className="item-form" onSubmit={submit}>
        {resume.error && <Notice tone="error">{resume.error.message}</Notice>}
        <Field label="Role">
          {(props) => (
            <select {...props} value={chosen} onChange={(event) => change({ role: event.target.value })}>
              <Options of={others} words={roleWords} />
            </select>
          )}
        </Field>
        <Field label="Who approves it, and why" hint={`At most ${approvalLimit.toLocaleString()} characters.`}>
          {(props) => (
            <textarea
              {...props}
              rows={3}
              required
              maxLength={approvalLimit}
              value={text}
              onChange={(event) => change({ text: event.target.value })}
            />
          )}
        </Field>
        {run.allow_unverified && <p>The run may use an identity that is not verified: so may this role.</p>}
        <Price run={run} left={left} />
      </form>
    </Dialog>
  );
}

/** A draft that somebody wrote is not lost for it. */
function NewRunWith({ run }: { run: RunDetails }): ReactNode {
  const project = useProject();
  const [, navigate] = useLocation();
  const [draft, setDraft] = useKept<RunDraft>(`run.${project.key}`);
  const [asks, setAsks] = useState(false);
  const take = (): void => {
    setDraft(draftOf(run));
    navigate(paths.newRun(project.key));
  };
  return (
    <>
      <Button onClick={() => (draft && !isUntouched(draft) && draft.packet !== run.packet ? setAsks(true) : take())}>
        New run with this packet
      </Button>
      <Confirm
        open={asks}
        onOpenChange={setAsks}
        title="Replace the draft?"
        action="Replace it"
        danger
        onConfirm={take}
      >
        There is a draft of another packet, which was not started. This packet would take its place.
      </Confirm>
    </>
  );
}
