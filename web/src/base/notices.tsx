// Notices that come and go at the page's edge: `const notify = useNotify(); notify('Applied.', 'success')`.

import { createContext, useCallback, useContext, useRef, useState, type ReactNode } from 'react';
import { IconButton } from './button.tsx';
import { Close } from './icons.tsx';
import type { Tone } from './notice.tsx';

/** Errors stay until they are closed. */
export type Notify = (text: ReactNode, tone?: Tone) => void;

interface Shown {
  id: number;
  text: ReactNode;
  tone: Tone;
}

const shownMs = 6_000;
const NotifyContext = createContext<Notify>(() => undefined);

export const useNotify = (): Notify => useContext(NotifyContext);

export function NoticesProvider({ children }: { children: ReactNode }) {
  const [shown, setShown] = useState<readonly Shown[]>([]);
  const next = useRef(1);
  const close = useCallback((id: number) => setShown((all) => all.filter((each) => each.id !== id)), []);
  const notify = useCallback<Notify>(
    (text, tone = 'info') => {
      const id = next.current++;
      setShown((all) => [...all.slice(-3), { id, text, tone }]);
      if (tone !== 'error') setTimeout(() => close(id), shownMs);
    },
    [close],
  );
  return (
    <NotifyContext value={notify}>
      {children}
      <div className="notices" role="region" aria-label="Notices" aria-live="polite">
        {shown.map(({ id, text, tone }) => (
          <div key={id} className={`notice notice-${tone} notice-floating`}>
            <div className="notice-text">{text}</div>
            <IconButton label="Close this notice" icon={<Close />} small onClick={() => close(id)} />
          </div>
        ))}
      </div>
    </NotifyContext>
  );
}
