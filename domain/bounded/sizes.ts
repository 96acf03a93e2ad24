// Sizes that bound a run (spec: bounded-claude 2 and 4). No imports: workflows may read them.

/** Most Unicode code points of a packet, as read, a BOM not counted; may be lowered, never raised. */
export const maxPacketCharacters = 24_000;

/** Bytes of one line of the stream, its line feed not counted. */
export const maxLineBytes = 1_048_576;

/** Most code points of visible text. */
export const maxVisibleCharacters = 100_000;

/** Bytes of events.jsonl. */
export const maxLogBytes = 10 * 1024 * 1024;
