// A tool call: one line that opens to its input and its result.

import { useState } from 'react';
import type { ToolPart } from '../../../client/index.ts';
import { classes } from '../base/classes.ts';
import { ChevronRight, Tool } from '../base/icons.tsx';
import { callState, pretty, shortInput } from './tool-words.ts';

export function ToolCall({ part, running }: { part: ToolPart; running: boolean }) {
  const [open, setOpen] = useState(false);
  const state = callState(part, running);
  return (
    <details className="tool-call" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <span className="tool-mark">
          <ChevronRight />
        </span>
        <Tool />
        <span className="tool-name">{part.tool}</span>
        <span className="tool-input">{shortInput(part.input)}</span>
        <span className={classes('badge', `badge-${state.tone}`)}>{state.words}</span>
      </summary>
      {open && (
        <div className="tool-body">
          <h4>Input</h4>
          <pre tabIndex={0} aria-label="Input">
            {pretty(part.input)}
          </pre>
          {part.result && (
            <>
              <h4>{part.result.is_error ? 'Error' : 'Result'}</h4>
              <pre tabIndex={0} aria-label={part.result.is_error ? 'Error' : 'Result'}>
                {pretty(part.result.text)}
              </pre>
            </>
          )}
        </div>
      )}
    </details>
  );
}
