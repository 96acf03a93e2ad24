// Where a packet is written: its length, and its problems as they come and go.

import { useEffect, useRef, useState } from 'react';
import { maxPacketCharacters } from '../../../domain/bounded/sizes.ts';
import { characters } from '../../../domain/text.ts';
import { Button } from '../base/button.tsx';
import { Field } from '../base/field.tsx';
import { Check } from '../base/icons.tsx';
import { checkPacket, lineRange, template, type Problem } from './packet-check.ts';

const settledMs = 250;

type Checked = { of: string; problems: Problem[] } | { of: string; unchecked: true };

interface PacketEditorProps {
  text: string;
  /** Code points, where lowered. */
  limit?: number | undefined;
  onChange(text: string): void;
}

export function PacketEditor({ text, limit = maxPacketCharacters, onChange }: PacketEditorProps) {
  const place = useRef<HTMLTextAreaElement>(null);
  const checked = useChecked(text, limit);
  const count = characters(text.startsWith('\ufeff') ? text.slice(1) : text);
  const show = (line: number): void => {
    const area = place.current;
    if (!area) return;
    const { start, end } = lineRange(text, line);
    area.focus();
    // The end first: browsers scroll to a selection that is made by focus, not to one that is set.
    area.setSelectionRange(start, start);
    area.blur();
    area.focus();
    area.setSelectionRange(start, end);
  };
  return (
    <div className="packet-editor">
      <Field
        label="Packet"
        hint={
          <span className={count > limit ? 'over-limit' : undefined}>
            {count.toLocaleString()} of {limit.toLocaleString()} characters
          </span>
        }
      >
        {(props) => (
          <textarea
            {...props}
            ref={place}
            className="packet-text"
            rows={18}
            spellCheck={false}
            value={text}
            onChange={(event) => onChange(event.target.value)}
          />
        )}
      </Field>
      {text.trim() === '' ? (
        <p className="row small">
          <Button small onClick={() => void template().then(onChange)}>
            Begin with the template
          </Button>
          <span className="muted">It holds the title, the seven sections, and what belongs in each.</span>
        </p>
      ) : (
        <Problems checked={checked} onShow={show} />
      )}
    </div>
  );
}

function useChecked(text: string, limit: number): Checked | undefined {
  const [checked, setChecked] = useState<Checked>();
  useEffect(() => {
    let stale = false;
    const timer = setTimeout(() => {
      checkPacket(text, limit).then(
        (problems) => stale || setChecked({ of: text, problems }),
        () => stale || setChecked({ of: text, unchecked: true }),
      );
    }, settledMs);
    return () => {
      stale = true;
      clearTimeout(timer);
    };
  }, [text, limit]);
  // What was found in no text is nothing to show for the first words.
  return checked?.of.trim() === '' ? undefined : checked;
}

function Problems({ checked, onShow }: { checked: Checked | undefined; onShow(line: number): void }) {
  if (!checked) return <p className="small muted">Checking …</p>;
  if ('unchecked' in checked) {
    return <p className="small muted">The packet can’t be checked here now. It is checked when the run starts.</p>;
  }
  const { problems } = checked;
  return (
    <div role="status" className="packet-problems small">
      {problems.length === 0 ? (
        <p className="packet-good">
          <Check /> This packet is acceptable.
        </p>
      ) : (
        <>
          <p className="over-limit">{problems.length === 1 ? '1 problem' : `${problems.length} problems`}</p>
          <ul className="plain-list">
            {problems.map((problem, index) => (
              <li key={index}>
                {problem.line !== undefined && (
                  <Button small look="quiet" onClick={() => onShow(problem.line!)}>
                    Line {problem.line}
                  </Button>
                )}
                <span>{problem.message}</span>
              </li>
            ))}
          </ul>
        </>
      )}
    </div>
  );
}
