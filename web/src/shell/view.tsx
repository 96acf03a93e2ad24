// A view's frame: its heading, which takes the focus when one navigates to it, its actions, its content.

import { useEffect, useRef, type ReactNode } from 'react';
import { classes } from '../base/classes.ts';

export interface ViewProps {
  title: string;
  /** Shown instead of the title's text in the heading. */
  heading?: ReactNode;
  /** Above the heading, for example a way back. */
  above?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
  /** Uses all of the height and scrolls by itself. */
  full?: boolean;
}

/** At the page's very first view the focus stays where browsers put it. */
let first = true;

export function View({ title, heading, above, actions, children, full }: ViewProps) {
  const place = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (!first) place.current?.focus();
    first = false;
  }, []);
  useEffect(() => {
    document.title = `${title} · Planner`;
  }, [title]);
  return (
    <div className={classes('view', full && 'view-full')}>
      <header className="view-head">
        <div className="view-heading">
          {above}
          <h1 ref={place} tabIndex={-1}>
            {heading ?? title}
          </h1>
        </div>
        {actions && <div className="view-actions">{actions}</div>}
      </header>
      {children}
    </div>
  );
}

/** What stands in for content that is being read. */
export function Waiting({ children = 'Reading …' }: { children?: ReactNode }) {
  return (
    <p className="waiting" role="status">
      {children}
    </p>
  );
}
