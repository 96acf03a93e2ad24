// One re-validation: its claim and why, its attempts, its failures with who inspected them, what it is bound to.

import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState, type FormEvent } from 'react';
import { Link } from 'wouter';
import type { Revalidation } from '../../../client/index.ts';
import { Button } from '../base/button.tsx';
import { Field } from '../base/field.tsx';
import { ArrowLeft } from '../base/icons.tsx';
import { Notice, type Tone } from '../base/notice.tsx';
import { Time } from '../base/time.tsx';
import { useRest } from '../data/client.tsx';
import { keys } from '../data/keys.ts';
import { useProject } from '../data/project.ts';
import { paths } from '../paths.ts';
import { Reading } from '../plan/pieces.tsx';
import { View } from '../shell/view.tsx';
import { useRunRights } from './data.ts';
import { DemoBadge, Fact, WorkflowFact } from './pieces.tsx';
import { ClaimBadge, outcomeWords, purposeWords, toInspect, useValidation } from './validation-pieces.tsx';
import { clock, costWords, hostWords, roleWords } from './words.ts';

export function ValidationView({ id }: { id: string }) {
  const project = useProject();
  const query = useValidation(id);
  const back = (
    <Link className="back" href={paths.validations(project.key)} aria-label="All re-validations" title="All">
      <ArrowLeft />
    </Link>
  );
  return (
    <View title={id} above={back} actions={query.data && <Stop of={query.data} />}>
      <Reading of={query} what="the re-validation">
        {(one) => (
          <>
            <Verdict of={one} />
            <Failures of={one} />
            <Attempts of={one} project={project.key} />
            <Bound of={one} />
          </>
        )}
      </Reading>
    </View>
  );
}

const tones: Record<Revalidation['claim'], Tone> = {
  holds: 'success',
  fails: 'error',
  pending: 'info',
  stale: 'warning',
};

function Verdict({ of: { claim, reasons, demo, ended_at, phase, problems } }: { of: Revalidation }) {
  return (
    <>
      <p className="row">
        <ClaimBadge claim={claim} />
        {demo && <DemoBadge />}
        {ended_at === null && <span className="muted">{phase}</span>}
      </p>
      <Notice tone={tones[claim]}>
        {[...reasons, ...problems].map((reason) => (
          <p key={reason}>{reason}</p>
        ))}
      </Notice>
    </>
  );
}

function Stop({ of: { validation_id: id, ended_at, cancel_requested } }: { of: Revalidation }) {
  const rest = useRest();
  const queries = useQueryClient();
  const { cancel } = useRunRights();
  const stop = useMutation({
    mutationFn: () => rest.cancelRevalidation(id),
    onSettled: () => queries.invalidateQueries({ queryKey: keys.allValidations }),
  });
  if (ended_at !== null || !cancel) return null;
  return (
    <Button look="danger" busy={stop.isPending} disabled={cancel_requested} onClick={() => stop.mutate()}>
      {cancel_requested ? 'Stopping' : 'Stop'}
    </Button>
  );
}

function Failures({ of: one }: { of: Revalidation }) {
  const { start } = useRunRights();
  if (one.ended_at === null) return null;
  return (
    <section className="run-part" aria-label="Failures">
      <h2>Failures</h2>
      {one.failures.length === 0 && <p className="muted">None. The end on purpose is no failure.</p>}
      <ol className="plain-list card attempts">
        {one.failures.map((failure) => (
          <li className="attempt" key={failure.id}>
            <p className="row">
              <span className="badge badge-bad">{failure.kind}</span>
              {failure.attempt !== null && <span>Attempt {failure.attempt}</span>}
            </p>
            <p className="small">{failure.detail}</p>
            <p className="small muted">
              {failure.inspected_by === null || failure.inspected_at === null ? (
                'Nobody has inspected it yet.'
              ) : (
                <>
                  Inspected by {failure.inspected_by}, <Time at={failure.inspected_at} />
                  {failure.note && `: ${failure.note}`}
                </>
              )}
            </p>
            {start && failure.inspected_by === null && <Inspect id={one.validation_id} number={failure.number} />}
          </li>
        ))}
      </ol>
      {toInspect(one) > 0 && <p className="small muted">The claim is pending until each is inspected.</p>}
    </section>
  );
}

function Inspect({ id, number }: { id: string; number: number }) {
  const rest = useRest();
  const queries = useQueryClient();
  const [note, setNote] = useState('');
  const record = useMutation({
    mutationFn: () =>
      rest.acknowledgeRevalidation(id, { failure: number, ...(note.trim() === '' ? {} : { note }) }),
    onSettled: () => queries.invalidateQueries({ queryKey: keys.allValidations }),
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    record.mutate();
  };
  return (
    <form className="row" onSubmit={submit}>
      <Field label={`What failure ${number} was`} quiet error={record.error?.message}>
        {(props) => (
          <input
            {...props}
            placeholder="What it was"
            maxLength={500}
            value={note}
            onChange={(event) => setNote(event.target.value)}
          />
        )}
      </Field>
      <Button type="submit" small busy={record.isPending}>
        I inspected it
      </Button>
    </form>
  );
}

function Attempts({ of: { attempts }, project }: { of: Revalidation; project: string }) {
  if (attempts.length === 0) return null;
  return (
    <section className="run-part" aria-label="Attempts">
      <h2>Attempts</h2>
      <ol className="plain-list card attempts">
        {attempts.map((one) => (
          <li className="attempt" key={one.number}>
            <p className="row">
              <strong>
                {one.number}. {purposeWords[one.purpose]}
              </strong>
              <span className="badge">{outcomeWords[one.outcome]}</span>
              {one.kind && one.kind !== 'interrupted' && <span className="badge badge-bad">{one.kind}</span>}
              <span className="small muted">
                {costWords(one)}, {clock(one.duration_ms)}
              </span>
            </p>
            <p className="small muted">
              <Link href={paths.run(project, one.run)}>{one.run_id}</Link>,{' '}
              {one.packet_characters.toLocaleString()} characters, session <code>{one.session_id}</code>
            </p>
          </li>
        ))}
      </ol>
    </section>
  );
}

function Bound({ of: one }: { of: Revalidation }) {
  return (
    <section className="run-part" aria-label="Facts">
      <h2>Bound to</h2>
      <dl className="fact-list card run-facts">
        <Fact name="Repository">
          {one.repo} on {one.machine}
        </Fact>
        <Fact name="Host, role">
          {hostWords(one.host)}, {roleWords(one.role)}
        </Fact>
        {one.model && (
          <Fact name="Model">
            {one.model}, effort {one.effort}
          </Fact>
        )}
        {one.hashes && (
          <>
            <Fact name="Runner">
              <Hash text={one.hashes.runner_sha256} />
            </Fact>
            <Fact name={`CLI ${one.hashes.cli_version}`}>
              <Hash text={one.hashes.cli_sha256} />
            </Fact>
            <Fact name="Identity">
              <Hash text={one.hashes.identity_sha256} />
            </Fact>
          </>
        )}
        <Fact name="Report">
          <code>.partner/validations/{one.validation_id}/report.md</code>
        </Fact>
        <Fact name="Asked by">
          {one.asked_by}
          {one.schedule && ', by a schedule'}, <Time at={one.created_at} />
        </Fact>
        {one.workflow_url && <WorkflowFact url={one.workflow_url} />}
      </dl>
    </section>
  );
}

const Hash = ({ text }: { text: string }) => <code title={text}>{text.slice(0, 16)}…</code>;
