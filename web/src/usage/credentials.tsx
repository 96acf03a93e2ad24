// Keys for models: their fingerprints, a new one, removal. A key that was set is never shown again.

import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState, type FormEvent } from 'react';
import type { Credential, CredentialPlace } from '../../../client/index.ts';
import { Button } from '../base/button.tsx';
import { Confirm } from '../base/dialog.tsx';
import { Field } from '../base/field.tsx';
import { Notice } from '../base/notice.tsx';
import { useNotify } from '../base/notices.tsx';
import { Time } from '../base/time.tsx';
import { useRest } from '../data/client.tsx';
import { keys } from '../data/keys.ts';
import { Reading } from '../plan/pieces.tsx';
import { useCredentials } from './data.ts';

export function Credentials({ place, title }: { place: CredentialPlace; title: string }) {
  const query = useCredentials(place);
  return (
    <section className="item-part" aria-label={title}>
      <h2>{title}</h2>
      <Reading of={query} what="the keys">
        {(rows) => (
          <>
            {rows.length === 0 && (
              <p className="muted">
                None.{' '}
                {'project' in place
                  ? 'The organization’s keys are used, or the installation’s.'
                  : 'The installation’s key is used.'}
              </p>
            )}
            {rows.length > 0 && (
              <ul className="plain-list card rows" aria-label={title}>
                {rows.map((row) => (
                  <Row key={row.provider} place={place} row={row} />
                ))}
              </ul>
            )}
          </>
        )}
      </Reading>
      <NewKey place={place} />
    </section>
  );
}

function Row({ place, row }: { place: CredentialPlace; row: Credential }) {
  const rest = useRest();
  const queries = useQueryClient();
  const notify = useNotify();
  const [asked, setAsked] = useState(false);
  const remove = useMutation({
    mutationFn: () => rest.deleteCredential(place, row.provider),
    onSuccess: () => notify(`Removed the key of ${row.provider}.`, 'success'),
    onError: (error) => notify(error.message, 'error'),
    onSettled: () => void queries.invalidateQueries({ queryKey: keys.credentials(place) }),
  });
  return (
    <li>
      <div className="rows-text">
        <p className="row">
          <strong>{row.provider}</strong>
          <code>{row.fingerprint}</code>
        </p>
        <p className="small muted rows-snippet">
          {row.base_url && `${row.base_url}, `}set by {row.created_by}, <Time at={row.updated_at} />
        </p>
      </div>
      <Button small busy={remove.isPending} onClick={() => setAsked(true)}>
        Remove<span className="visually-hidden"> the key of {row.provider}</span>
      </Button>
      <Confirm
        open={asked}
        onOpenChange={setAsked}
        title={`Remove the key of ${row.provider}?`}
        action="Remove"
        danger
        onConfirm={() => remove.mutate()}
      >
        <p>
          Model calls go on with the next key that there is: the organization’s, else the installation’s. Without one,
          they fail.
        </p>
      </Confirm>
    </li>
  );
}

const blank = { provider: 'openai', api_key: '', base_url: '' };

/** What is typed is kept nowhere. */
function NewKey({ place }: { place: CredentialPlace }) {
  const rest = useRest();
  const queries = useQueryClient();
  const notify = useNotify();
  const [fields, setFields] = useState(blank);
  const set = useMutation({
    mutationFn: () =>
      rest.setCredential(place, fields.provider.trim(), {
        api_key: fields.api_key.trim(),
        ...(fields.base_url.trim() === '' ? {} : { base_url: fields.base_url.trim() }),
      }),
    onSuccess({ provider, fingerprint }) {
      setFields(blank);
      void queries.invalidateQueries({ queryKey: keys.credentials(place) });
      notify(`Stored the key of ${provider}, ${fingerprint}.`, 'success');
    },
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    set.mutate();
  };
  const input = (name: keyof typeof blank) => ({
    value: fields[name],
    onChange: (event: React.ChangeEvent<HTMLInputElement>) => setFields({ ...fields, [name]: event.target.value }),
    autoComplete: 'off',
    spellCheck: false,
  });
  return (
    <details className="card disclosure">
      <summary>Set a key</summary>
      <form className="draft-form" onSubmit={submit} aria-label={`Set a key of ${Object.values(place)[0]}`}>
        <div className="field-grid">
          <Field label="Provider" hint="A name that settings refer to.">
            {(props) => <input {...props} {...input('provider')} required />}
          </Field>
          <Field label="Key" hint="Stored encrypted, and never shown again. It takes the place of the present one.">
            {(props) => <input {...props} {...input('api_key')} type="password" autoComplete="new-password" required />}
          </Field>
          <Field label="Address" hint="Such as https://host/v1. Empty: the installation’s, for openai only.">
            {(props) => <input {...props} {...input('base_url')} inputMode="url" />}
          </Field>
        </div>
        {set.error && <Notice tone="error">{set.error.message}</Notice>}
        <div className="row form-foot">
          <Button type="submit" look="primary" busy={set.isPending}>
            Store the key
          </Button>
        </div>
      </form>
    </details>
  );
}
