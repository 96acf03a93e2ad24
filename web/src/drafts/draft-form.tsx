// The form of a draft over a text that others may write, too: what fails or is newer is shown, what was typed stays.

import { useMutation, useQueryClient, type QueryKey } from '@tanstack/react-query';
import { useState, type FormEvent, type ReactNode, type Ref } from 'react';
import { errorCode } from '../../../client/index.ts';
import { Button } from '../base/button.tsx';
import { classes } from '../base/classes.ts';
import { Notice } from '../base/notice.tsx';
import { useNotify } from '../base/notices.tsx';

interface DraftFormProps<Name, Saved> {
  label: string;
  className: string;
  ref?: Ref<HTMLFormElement>;
  submit?: string;
  /** Read anew when the save meets a newer version. */
  queryKey: QueryKey;
  /** The choice about a newer version; until it is made nothing can be saved. */
  newer: ReactNode;
  changed(): Name[];
  save(names: Name[]): Promise<Saved>;
  keep(saved: Saved): void;
  /** Says that it was saved. */
  words(saved: Saved): string;
  /** Saved or cancelled. */
  onEnd(): void;
  children: ReactNode;
}

export function DraftForm<Name, Saved>(props: DraftFormProps<Name, Saved>) {
  const { label, className, ref, submit = 'Save', queryKey, newer, changed, onEnd, children } = props;
  const notify = useNotify();
  const queries = useQueryClient();
  const [nothing, setNothing] = useState(false);
  const save = useMutation({
    mutationFn: props.save,
    onSuccess(saved) {
      props.keep(saved);
      notify(props.words(saved), 'success');
      onEnd();
    },
    onError(error) {
      if (errorCode(error) === 'conflict') void queries.invalidateQueries({ queryKey });
    },
  });
  const onSubmit = (event: FormEvent): void => {
    event.preventDefault();
    const names = changed();
    setNothing(names.length === 0);
    if (names.length > 0) save.mutate(names);
  };
  const failed = save.error && errorCode(save.error) !== 'conflict' ? save.error : undefined;
  const outdated = Boolean(newer);
  return (
    <form className={classes('card', className)} ref={ref} onSubmit={onSubmit} aria-label={label}>
      {children}
      {newer}
      {failed && <Notice tone="error">{failed.message}</Notice>}
      {nothing && !failed && <Notice>Nothing is changed yet.</Notice>}
      <div className="row form-foot">
        {outdated && <span className="grow small muted">First decide about the newer version.</span>}
        <Button onClick={onEnd}>Cancel</Button>
        <Button type="submit" look="primary" busy={save.isPending} disabled={outdated}>
          {submit}
        </Button>
      </div>
    </form>
  );
}
