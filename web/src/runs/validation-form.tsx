// A new re-validation: of which role, now or by a schedule.

import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState, type FormEvent } from 'react';
import { useLocation } from 'wouter';
import type { Repository } from '../../../client/index.ts';
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
import { WhereFields, type Where } from './where.tsx';
import { hosts, money, roles } from './words.ts';

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
            <Form known={known} />
          )
        }
      </Reading>
    </details>
  );
}

function Form({ known }: { known: readonly Repository[] }) {
  const rest = useRest();
  const queries = useQueryClient();
  const project = useProject();
  const [, navigate] = useLocation();
  const [where, setWhere] = useState<Where>({ repo: known[0]!.alias, host: hosts[0]!, role: roles[0]! });
  const [budget, setBudget] = useState(String(defaultBudget));
  const [cron, setCron] = useState('');
  const [demo, setDemo] = useState(false);
  const start = useMutation({
    async mutationFn(): Promise<string | undefined> {
      const asked = { ...where, max_budget_usd: Number(budget), demo };
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
      <WhereFields known={known} where={where} onChange={(change) => setWhere({ ...where, ...change })} />
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
