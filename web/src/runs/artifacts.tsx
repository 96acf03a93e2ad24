// A run's artifacts, attempt by attempt: each is read when it is opened.

import { useQuery } from '@tanstack/react-query';
import { useMemo, useState, type ReactNode } from 'react';
import type { RunDetails } from '../../../client/index.ts';
import { Button } from '../base/button.tsx';
import { Markdown } from '../base/markdown.tsx';
import { useRest } from '../data/client.tsx';
import { keys } from '../data/keys.ts';
import { Reading } from '../plan/pieces.tsx';
import { eventRows, metadataRows } from './artifact-rows.ts';
import { isOpen } from './words.ts';

export function Artifacts({ run }: { run: RunDetails }) {
  const [chosen, setChosen] = useState<number>();
  const attempt = run.attempt_list.find((each) => each.attempt === chosen) ?? run.attempt_list.at(-1)!;
  const ended = attempt.status !== 'running' && !isOpen(run);
  const names = ['metadata.json', 'recovery.md', 'checkpoint.md', 'events.jsonl'].filter(
    (name) => name !== 'recovery.md' || (attempt.status === 'failed' && ended),
  );
  return (
    <section className="run-part" aria-label="Artifacts">
      <div className="row">
        <h2>Artifacts</h2>
        {run.attempt_list.length > 1 && (
          <select
            className="attempt-choice"
            aria-label="Artifacts of"
            value={attempt.attempt}
            onChange={(event) => setChosen(Number(event.target.value))}
          >
            {run.attempt_list.map((each) => (
              <option key={each.attempt} value={each.attempt}>
                Attempt {each.attempt}
              </option>
            ))}
          </select>
        )}
      </div>
      <div className="artifacts">
        {names.map((name) => (
          <Artifact key={`${attempt.attempt} ${name}`} run={run} attempt={attempt.attempt} name={name} />
        ))}
      </div>
    </section>
  );
}

function Artifact({ run, attempt, name }: { run: RunDetails; attempt: number; name: string }) {
  const rest = useRest();
  const [open, setOpen] = useState(false);
  const query = useQuery({
    queryKey: keys.artifact(run.id, attempt, name),
    queryFn: () => rest.runArtifact(run.id, name, { attempt }),
    enabled: open,
  });
  return (
    <details className="disclosure card" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{name}</summary>
      {open && (
        <div className="artifact">
          <Reading of={query} what={name}>
            {(text) => <Shown name={name} text={text} />}
          </Reading>
        </div>
      )}
    </details>
  );
}

function Shown({ name, text }: { name: string; text: string }): ReactNode {
  if (name === 'metadata.json') return <Metadata text={text} />;
  if (name === 'events.jsonl') return <Events text={text} />;
  return text.trim() === '' ? <p className="muted">It is empty.</p> : <Markdown text={text} />;
}

function Metadata({ text }: { text: string }) {
  const rows = useMemo(() => metadataRows(text), [text]);
  return (
    <table className="metadata small">
      <tbody>
        {rows.map(({ name, value }) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td>{value}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const rowsAtOnce = 200;
const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit' });

function Events({ text }: { text: string }) {
  const rows = useMemo(() => eventRows(text), [text]);
  const [shown, setShown] = useState(rowsAtOnce);
  if (rows.length === 0) return <p className="muted">No event was recorded.</p>;
  return (
    <>
      <ol className="plain-list event-rows small" tabIndex={0} aria-label="Events">
        {rows.slice(0, shown).map(({ n, at, type, rest }, index) => (
          <li key={index}>
            <span className="muted">{n}</span>
            {at && <time dateTime={at}>{clock.format(new Date(at))}</time>}
            <code>{type}</code>
            <span className="muted">{rest}</span>
          </li>
        ))}
      </ol>
      {rows.length > shown && (
        <Button small onClick={() => setShown(shown + rowsAtOnce)}>
          Show more of {rows.length.toLocaleString()}
        </Button>
      )}
    </>
  );
}
