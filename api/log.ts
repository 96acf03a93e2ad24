// The API's log: one line of JSON an entry, on stderr.

/** Details of a fault stay here; users get a fixed sentence. */
export function logError(what: string, error: unknown): void {
  const fault: Error & { code?: unknown } = error instanceof Error ? error : new Error(String(error));
  const { message, stack, code } = fault;
  write({ level: 'error', what, message, ...(code === undefined ? {} : { code }), ...(stack ? { stack } : {}) });
}

export function logWarning(what: string): void {
  write({ level: 'warning', what });
}

function write(entry: Record<string, unknown>): void {
  console.error(JSON.stringify({ time: new Date().toISOString(), process: 'api', ...entry }));
}
