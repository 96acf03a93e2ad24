// A notice within a view: what happened, what to do.

import type { ReactNode } from 'react';
import { Alert, Check, Info } from './icons.tsx';

export type Tone = 'info' | 'success' | 'warning' | 'error';

export interface NoticeProps {
  tone?: Tone;
  children: ReactNode;
  /** Buttons. */
  actions?: ReactNode;
}

export function Notice({ tone = 'info', children, actions }: NoticeProps) {
  const Icon = tone === 'info' ? Info : tone === 'success' ? Check : Alert;
  return (
    <div className={`notice notice-${tone}`} role={tone === 'error' ? 'alert' : 'status'}>
      <Icon />
      <div className="notice-text">{children}</div>
      {actions && <div className="row">{actions}</div>}
    </div>
  );
}

/** What a view shows where there is nothing yet: says what to do. */
export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="empty">
      <h2>{title}</h2>
      {children}
    </div>
  );
}
