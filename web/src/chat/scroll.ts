// Follows what grows at the end, and yields to a reader who scrolls up.

import { useCallback, useEffect, useRef, useState, type RefObject } from 'react';

const nearPx = 60;

export interface Following<Content extends HTMLElement> {
  /** The box that scrolls, and what grows in it. */
  box: RefObject<HTMLDivElement | null>;
  content: RefObject<Content | null>;
  /** False: the reader has scrolled up. */
  following: boolean;
  follow(): void;
}

export function useFollowing<Content extends HTMLElement = HTMLOListElement>(): Following<Content> {
  const box = useRef<HTMLDivElement>(null);
  const content = useRef<Content>(null);
  const follows = useRef(true);
  const [following, setFollowing] = useState(true);

  const follow = useCallback(() => {
    follows.current = true;
    setFollowing(true);
    if (box.current) box.current.scrollTop = box.current.scrollHeight;
  }, []);

  useEffect(() => {
    const scroller = box.current;
    const grown = content.current;
    if (!scroller || !grown) return;
    let last = scroller.scrollTop;
    const onScroll = (): void => {
      const distance = scroller.scrollHeight - scroller.clientHeight - scroller.scrollTop;
      // Content that grows moves the end away without the reader's doing: only a move up yields.
      if (scroller.scrollTop < last - 1 && distance > nearPx) follows.current = false;
      else if (distance <= nearPx) follows.current = true;
      last = scroller.scrollTop;
      setFollowing(follows.current);
    };
    const observer = new ResizeObserver(() => {
      if (follows.current) scroller.scrollTop = scroller.scrollHeight;
    });
    observer.observe(grown);
    observer.observe(scroller);
    scroller.addEventListener('scroll', onScroll, { passive: true });
    return () => {
      observer.disconnect();
      scroller.removeEventListener('scroll', onScroll);
    };
  }, []);

  return { box, content, following, follow };
}
