// Times as people read them, exact on hovering.

const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });
const day = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' });
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });

/** Today: the time; else the day and the time. */
export function Time({ at }: { at: string }) {
  const date = new Date(at);
  const today = date.toDateString() === new Date().toDateString();
  return (
    <time dateTime={at} title={exact.format(date)}>
      {today ? clock.format(date) : `${day.format(date)}, ${clock.format(date)}`}
    </time>
  );
}
