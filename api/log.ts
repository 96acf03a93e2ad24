// The API's log: one line of JSON an entry, on stderr.

/** Details of a fault stay here; users get a fixed sentence. */
export function logError(what: string, error: unknown): void {
  const { message, stack, code } = error instanceof Error ? (error as Error & { code?: unknown }) : { message: String(error) };
  write({ level: 'error', what, message, ...(code === undefined ? {} : { code }), ...(stack ? { stack } : {}) });
}

export function logWarning(what: string): void {
  write({ level: 'warning', what });
}

function write(entry: Record<string, unknown>): void {
  console.error(JSON.stringify({ time: new Date().toISOString(), process: 'api', ...entry }));
}
