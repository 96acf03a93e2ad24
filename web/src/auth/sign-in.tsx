// The sign-in form: a token, pasted.

import { useState, type FormEvent } from 'react';
import { Button } from '../base/button.tsx';
import { Field } from '../base/field.tsx';
import { Notice } from '../base/notice.tsx';
import { signIn } from './sign-in-state.ts';

export function SignIn({ reason }: { reason: string | undefined }) {
  const [token, setToken] = useState('');
  const [problem, setProblem] = useState<string>();

  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const given = tokenIn(token);
    if (given === '') setProblem('Paste a token first.');
    else signIn(given);
  };

  return (
    <main className="sign-in">
      <form className="card sign-in-card" onSubmit={submit}>
        <h1>Sign in to the planner</h1>
        {reason && <Notice tone="warning">{reason}</Notice>}
        <Field
          label="Token"
          hint={
            <>
              Open the address that <code>npm start</code> printed, or paste its token here. A new one:{' '}
              <code>npx planner token create</code>.
            </>
          }
          error={problem}
        >
          {(props) => (
            <input
              {...props}
              type="password"
              autoComplete="off"
              spellCheck={false}
              value={token}
              onChange={(event) => setToken(event.target.value)}
            />
          )}
        </Field>
        <Button type="submit" look="primary">
          Sign in
        </Button>
      </form>
    </main>
  );
}

/** A whole address may be pasted as well. */
function tokenIn(text: string): string {
  return (/#token=(\S+)/.exec(text)?.[1] ?? text).trim();
}
