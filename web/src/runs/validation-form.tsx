// A new re-validation: of which role, now or by a schedule.

import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState, type FormEvent } from 'react';
import { useLocation } from 'wouter';
import { defaultBudget, highestBudget } from '../../../domain/bounded/limits.ts';
import { Button } from '../base/button.tsx';
import { Field } from '../base/field.tsx';
import { Notice } from '../base/notice.tsx';
import { useRest } from '../data/client.tsx';
import { keys } from '../data/keys.ts';
import { useProject } from '../data/project.ts';
import { paths } from '../paths.ts';
import { Reading } from '../plan/pieces.tsx';
import { useRepositories } from './data.ts';
import { hosts, hostWords, money, roles, roleWords, type Host, type Role } from './words.ts';

export function NewValidation() {
  const repositories = useRepositories();
  return (
    <details className="disclosure card">
      <summary>New re-validation</summary>
      <Reading of={repositories} what="repositories">
        {(known) =>
          known.length === 0 ? (
            <p>
              No repository is registered. Run <code>partner plan</code> in it once.
            </p>
          ) : (
            <Form aliases={known.map(({ alias }) => alias)} />
          )
        }
      </Reading>
    </details>
  );
}

function Form({ aliases }: { aliases: readonly string[] }) {
  const rest = useRest();
  const queries = useQueryClient();
  const project = useProject();
  const [, navigate] = useLocation();
  const [repo, setRepo] = useState(aliases[0]!);
  const [host, setHost] = useState<Host>(hosts[0]!);
  const [role, setRole] = useState<Role>(roles[0]!);
  const [budget, setBudget] = useState(String(defaultBudget));
  const [cron, setCron] = useState('');
  const [demo, setDemo] = useState(false);
  const start = useMutation({
    async mutationFn(): Promise<string | undefined> {
      const asked = { repo, host, role, max_budget_usd: Number(budget), demo };
      if (cron.trim() === '') return (await rest.startRevalidation(asked)).validation_id;
      await rest.createRevalidationSchedule({ ...asked, cron });
      return undefined;
    },
    onSuccess(id) {
      void queries.invalidateQueries({ queryKey: keys.allValidations });
      if (id !== undefined) navigate(paths.validation(project.key, id));
      else setCron('');
    },
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    start.mutate();
  };
  const most = demo ? 'Nothing is paid.' : `Three runs, at most ${money(3 * (Number(budget) || 0))} in all.`;
  return (
    <form onSubmit={submit} className="validation-form">
      <Field label="Repository">
        {(props) => (
          <select {...props} value={repo} onChange={(event) => setRepo(event.target.value)}>
            {aliases.map((alias) => (
              <option key={alias}>{alias}</option>
            ))}
          </select>
        )}
      </Field>
      <Field label="Host">
        {(props) => (
          <select {...props} value={host} onChange={(event) => setHost(event.target.value as Host)}>
            {hosts.map((each) => (
              <option key={each} value={each}>
                {hostWords(each)}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Field label="Role">
        {(props) => (
          <select {...props} value={role} onChange={(event) => setRole(event.target.value as Role)}>
            {roles.map((each) => (
              <option key={each} value={each}>
                {roleWords(each)}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Field label="Budget of each run, USD" hint={`At most ${highestBudget}.`}>
        {(props) => (
          <input {...props} inputMode="decimal" value={budget} onChange={(event) => setBudget(event.target.value)} />
        )}
      </Field>
      <Field label="Schedule" hint="Empty: once, now. Else minute hour day-of-month month day-of-week, UTC: 0 3 * * 1">
        {(props) => <input {...props} value={cron} onChange={(event) => setCron(event.target.value)} />}
      </Field>
      <label className="check">
        <input type="checkbox" checked={demo} onChange={(event) => setDemo(event.target.checked)} />
        Demonstration: a scripted CLI answers, nothing is claimed of a model
      </label>
      {start.error && <Notice tone="error">{start.error.message}</Notice>}
      <div className="row">
        <Button type="submit" look="primary" busy={start.isPending}>
          {cron.trim() === '' ? 'Re-validate now' : 'Schedule it'}
        </Button>
        <span className="small muted">{most}</span>
      </div>
    </form>
  );
}
