// A new run: its packet, where and as whom it runs, its limits.

import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { FormEvent } from 'react';
import { useLocation } from 'wouter';
import type { Repository } from '../../../client/index.ts';
import { defaultBudget, defaultLimits, highest, highestBudget } from '../../../domain/bounded/limits.ts';
import { Button } from '../base/button.tsx';
import { Field } from '../base/field.tsx';
import { Empty, Notice } from '../base/notice.tsx';
import { useRest } from '../data/client.tsx';
import { keys } from '../data/keys.ts';
import { useProject } from '../data/project.ts';
import { paths } from '../paths.ts';
import { useKept } from '../plan/kept.ts';
import { Reading } from '../plan/pieces.tsx';
import { View } from '../shell/view.tsx';
import { useRepositories, useRunRights } from './data.ts';
import { emptyDraft, newRunOf, type NumberField, type RunDraft } from './draft.ts';
import { PacketEditor } from './packet-editor.tsx';
import { BackToRuns } from './pieces.tsx';
import { WhereFields } from './where.tsx';

export function NewRunView() {
  const repositories = useRepositories();
  const { start } = useRunRights();
  return (
    <View title="New run" above={<BackToRuns />}>
      {!start && <Notice tone="warning">Your role may watch runs, but not start one.</Notice>}
      <Reading of={repositories} what="repositories">
        {(known) => (known.length === 0 ? <NoRepository /> : <Form known={known} mayStart={start} />)}
      </Reading>
    </View>
  );
}

const NoRepository = () => (
  <Empty title="No repository is registered">
    <p>
      Run <code>partner plan --repo FOLDER</code> once on the computer that holds the repository: that registers it.
    </p>
  </Empty>
);

type Change = (change: Partial<RunDraft>) => void;

function Form({ known, mayStart }: { known: readonly Repository[]; mayStart: boolean }) {
  const rest = useRest();
  const queries = useQueryClient();
  const project = useProject();
  const [, navigate] = useLocation();
  const [kept, setKept] = useKept<RunDraft>(`run.${project.key}`);
  const given = { ...emptyDraft, ...kept };
  const repo = known.some(({ alias }) => alias === given.repo) ? given.repo : known[0]!.alias;
  const draft: RunDraft = { ...given, repo };
  const change: Change = (part) => setKept({ ...draft, ...part });
  const start = useMutation({
    mutationFn: () => rest.startRun(newRunOf(draft)),
    onSuccess({ run }) {
      setKept(undefined);
      void queries.invalidateQueries({ queryKey: keys.allRuns });
      navigate(paths.run(project.key, run));
    },
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    start.mutate();
  };
  const lowered = Number(draft.max_input_chars);
  const limit = lowered > 0 && lowered < highest.max_input_chars ? Math.floor(lowered) : highest.max_input_chars;
  return (
    <form className="new-run" onSubmit={submit} noValidate>
      <PacketEditor text={draft.packet} limit={limit} onChange={(packet) => change({ packet })} />
      <div className="new-run-side">
        <Where known={known} draft={draft} change={change} />
        <Limits draft={draft} change={change} />
        {start.error && (
          <Notice tone="error">
            <Rejection message={start.error.message} />
          </Notice>
        )}
        <Button type="submit" look="primary" busy={start.isPending} disabled={!mayStart || draft.packet.trim() === ''}>
          Start the run
        </Button>
        <p className="small muted">
          {draft.demo
            ? 'The scripted CLI answers by rule: no model is asked, nothing is paid.'
            : `This asks Claude, and may cost up to ${draft.max_budget_usd || defaultBudget} USD.`}{' '}
          The draft is kept in this tab until then.
        </p>
      </div>
    </form>
  );
}

/** All problems, one a line. */
function Rejection({ message }: { message: string }) {
  const problems = message.split('\n');
  if (problems.length === 1) return message;
  return (
    <ul className="run-problems">
      {problems.map((problem) => (
        <li key={problem}>{problem}</li>
      ))}
    </ul>
  );
}

function Where({ known, draft, change }: { known: readonly Repository[]; draft: RunDraft; change: Change }) {
  const chosen = known.find(({ alias }) => alias === draft.repo);
  return (
    <>
      <WhereFields
        known={known}
        where={draft}
        hints={{
          repo: chosen && `${chosen.path} on ${chosen.machine}`,
          role: 'The repository’s configuration says which model and effort that is.',
        }}
        onChange={change}
      />
      <label className="check">
        <input type="checkbox" checked={draft.demo} onChange={(event) => change({ demo: event.target.checked })} />
        Demo: a scripted CLI answers, nothing is paid
      </label>
    </>
  );
}

interface Limit {
  name: NumberField;
  label: string;
  most: number;
  normal: number;
  step?: number;
}

const limits: readonly Limit[] = [
  { name: 'max_budget_usd', label: 'Budget, USD', most: highestBudget, normal: defaultBudget, step: 0.01 },
  limit('wall_timeout', 'An attempt, seconds', 'wall_timeout_seconds'),
  limit('idle_timeout', 'Without an event, seconds', 'idle_timeout_seconds'),
  limit('max_input_chars', 'Packet, characters', 'max_input_chars'),
  limit('resume_attempts', 'Automatic resumes', 'resume_attempts'),
];

function limit(name: NumberField, label: string, of: keyof typeof highest): Limit {
  return { name, label, most: highest[of], normal: defaultLimits[of] };
}

const limitHint = ({ most, normal }: Limit): string =>
  `At most ${most.toLocaleString()}${most === normal ? '' : `; otherwise ${normal.toLocaleString()}`}.`;

function Limits({ draft, change }: { draft: RunDraft; change: Change }) {
  return (
    <details className="disclosure card">
      <summary>Limits, names, identity</summary>
      <div className="new-run-limits">
        {limits.map((each) => (
          <LimitField
            key={each.name}
            limit={each}
            value={draft[each.name]}
            onChange={(value) => change({ [each.name]: value })}
          />
        ))}
        <Field label="Run id" hint="Letters, digits, dots, dashes. Otherwise one is made.">
          {(props) => (
            <input {...props} value={draft.run_id} onChange={(event) => change({ run_id: event.target.value })} />
          )}
        </Field>
        <Field label="Plan file" hint="Inside the repository. Otherwise .partner/plans/<run id>.md.">
          {(props) => (
            <input {...props} value={draft.output} onChange={(event) => change({ output: event.target.value })} />
          )}
        </Field>
        <label className="check">
          <input
            type="checkbox"
            checked={draft.allow_unverified}
            onChange={(event) => change({ allow_unverified: event.target.checked })}
          />
          Allow an identity that was not verified
        </label>
      </div>
    </details>
  );
}

interface LimitFieldProps {
  limit: Limit;
  value: string;
  onChange(value: string): void;
}

function LimitField({ limit: { name, label, most, normal, step = 1 }, value, onChange }: LimitFieldProps) {
  return (
    <Field label={label} hint={limitHint({ name, label, most, normal })}>
      {(props) => (
        <input
          {...props}
          type="number"
          min={name === 'resume_attempts' ? 0 : step}
          max={most}
          step={step}
          placeholder={String(normal)}
          value={value}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </Field>
  );
}
