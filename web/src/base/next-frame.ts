// Work at the pace of the screen.

/** With the next frame; a hidden page draws none. */
export function nextFrame(work: () => void): void {
  if (document.hidden) setTimeout(work, 100);
  else requestAnimationFrame(work);
}
