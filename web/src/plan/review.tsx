// The review of a proposed changeset: which operations to apply, then apply or reject.

import { useMutation, useQueries, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import type { Changeset } from '../../../client/index.ts';
import { Button } from '../base/button.tsx';
import { Confirm } from '../base/dialog.tsx';
import { Notice } from '../base/notice.tsx';
import { useRest } from '../data/client.tsx';
import { keys } from '../data/keys.ts';
import { chooseAll, toggle, type Choice } from './choice.ts';
import { useItems, useRights } from './data.ts';
import { alsoWords, OperationCard } from './operation.tsx';
import { counted, listed } from './words.ts';

/** What the last change of the choice took along, and why. */
interface Note {
  index: number;
  text: string;
}

export function Review({ changeset }: { changeset: Changeset }) {
  const { operations, stale = [] } = changeset;
  const { byKey } = useItems();
  const rights = useRights();
  const [choice, setChoice] = useState<Choice>(() => chooseAll(operations));
  const [note, setNote] = useState<Note>();

  const turn = (index: number): void => {
    const { choice: next, also } = toggle(operations, choice, index);
    setChoice(next);
    setNote(also.length > 0 ? { index, text: alsoWords(next.has(index), also, operations[index]) } : undefined);
  };
  const turnAll = (on: boolean): void => {
    setChoice(on ? chooseAll(operations) : new Set());
    setNote(undefined);
  };

  return (
    <>
      <div className="row">
        <h2 className="grow">{counted(operations.length, 'operation')}</h2>
        {rights.decide && operations.length > 1 && (
          <>
            <Button small look="quiet" onClick={() => turnAll(true)} disabled={choice.size === operations.length}>
              Check all
            </Button>
            <Button small look="quiet" onClick={() => turnAll(false)} disabled={choice.size === 0}>
              Uncheck all
            </Button>
          </>
        )}
      </div>
      <ol className="plain-list operations">
        {operations.map((_, index) => (
          <OperationCard
            key={index}
            changeset={changeset}
            index={index}
            items={byKey}
            dimmed={!choice.has(index)}
            control={({ id, label }) =>
              rights.decide && (
                <input
                  type="checkbox"
                  id={id}
                  aria-label={label}
                  checked={choice.has(index)}
                  onChange={() => turn(index)}
                />
              )
            }
            note={note?.index === index && <p className="operation-note">{note.text}</p>}
          />
        ))}
      </ol>
      <p className="visually-hidden" role="status">
        {note?.text}
      </p>
      {rights.decide ? (
        <Decision changeset={changeset} choice={choice} stale={stale.filter((index) => choice.has(index))} />
      ) : (
        <Notice>You can read this changeset. To apply or reject it, one needs the role engineer or approver.</Notice>
      )}
    </>
  );
}

interface DecisionProps {
  changeset: Changeset;
  choice: Choice;
  /** The chosen ones whose item has changed since. */
  stale: number[];
}

function Decision({ changeset, choice, stale }: DecisionProps) {
  const rest = useRest();
  const queries = useQueryClient();
  const [accepted, setAccepted] = useState('');
  const [asking, setAsking] = useState(false);
  const staleNow = useStaleVersions(changeset, stale);
  const accept = stale.length > 0 && accepted === staleNow;

  const after = {
    onSuccess(decided: Changeset) {
      queries.setQueryData(keys.changeset(changeset.id), decided);
      void queries.invalidateQueries({ queryKey: keys.allItems });
    },
    onSettled: () => queries.invalidateQueries({ queryKey: keys.allChangesets }),
  };
  const apply = useMutation({
    mutationFn: () =>
      rest.applyChangeset(changeset.id, {
        operations: [...choice].sort((a, b) => a - b),
        ...(accept ? { accept_stale: true } : {}),
      }),
    ...after,
  });
  const reject = useMutation({ mutationFn: () => rest.rejectChangeset(changeset.id), ...after });
  const { reset } = apply;
  // A refusal is of the choice that was sent.
  useEffect(() => reset(), [choice, reset]);
  const failed = apply.error ?? reject.error;
  const hindrance =
    choice.size === 0
      ? 'Check at least one operation to apply it.'
      : stale.length > 0 && !accept
        ? 'Some items have changed since the proposal: uncheck their operations, or apply over the changes.'
        : undefined;

  return (
    <section className="decision card" aria-label="Decision">
      {failed && <Notice tone="error">{failed.message}</Notice>}
      {stale.length > 0 && (
        <label className="check">
          <input
            type="checkbox"
            checked={accept}
            onChange={(event) => setAccepted(event.target.checked ? staleNow : '')}
          />
          Apply {stale.length === 1 ? 'operation' : 'operations'} {listed(stale.map((index) => index + 1))} over what
          has changed since the proposal
        </label>
      )}
      <div className="row">
        <p className="grow small muted" id="decision-state">
          {hindrance ?? `${choice.size} of ${counted(changeset.operations.length, 'operation')} chosen`}
        </p>
        <Button onClick={() => setAsking(true)} busy={reject.isPending} disabled={apply.isPending}>
          Reject
        </Button>
        <Button
          look="primary"
          onClick={() => apply.mutate()}
          busy={apply.isPending}
          disabled={hindrance !== undefined || reject.isPending}
          aria-describedby="decision-state"
        >
          {choice.size === changeset.operations.length ? 'Apply all' : `Apply ${choice.size}`}
        </Button>
      </div>
      <Confirm
        open={asking}
        onOpenChange={setAsking}
        title="Reject this changeset?"
        action="Reject"
        danger
        onConfirm={() => reject.mutate()}
      >
        <p>None of its operations will be applied, and it can’t be decided again. The planner can propose anew.</p>
      </Confirm>
    </section>
  );
}

/** The stale operations' items with their versions: what is accepted is what was seen, a later write asks anew. */
function useStaleVersions({ operations }: Changeset, stale: readonly number[]): string {
  const rest = useRest();
  return useQueries({
    queries: stale.flatMap((index) => {
      const operation = operations[index];
      if (operation?.kind !== 'update_item') return [];
      const { item } = operation.update;
      return [{ queryKey: keys.item(item), queryFn: () => rest.item(item) }];
    }),
    combine: (items) => items.map(({ data }) => `${data?.key} ${data?.version}`).join(),
  });
}
