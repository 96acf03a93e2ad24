// What can go wrong in a model call: one table decides what a retry can mend (spec: orchestration, Retries).

export type ModelErrorClass =
  | 'authentication'
  | 'permission'
  | 'not_found'
  | 'invalid_request'
  | 'context_length'
  | 'rate_limited'
  | 'overloaded'
  | 'server_error'
  | 'timeout'
  | 'connection'
  | 'cut_stream'
  | 'silent_stream'
  | 'bad_response';

interface Rule {
  /** Can the same request succeed later? */
  retryable: boolean;
  /** Attempts in all after which a retry is no use; absent: time alone bounds them. */
  attemptLimit?: number;
  /** Fixed: may enter a workflow's history. */
  phrase: string;
}

export const modelErrorRules: Readonly<Record<ModelErrorClass, Rule>> = {
  authentication: { retryable: false, phrase: 'the provider refused the credential' },
  permission: { retryable: false, phrase: 'the provider denies access' },
  not_found: { retryable: false, phrase: 'the provider does not know the model or the address' },
  invalid_request: { retryable: false, phrase: 'the provider refused the request' },
  context_length: { retryable: false, phrase: 'the conversation is longer than the model accepts' },
  rate_limited: { retryable: true, phrase: 'the provider limits the rate' },
  overloaded: { retryable: true, phrase: 'the provider is overloaded' },
  server_error: { retryable: true, phrase: 'the provider failed' },
  timeout: { retryable: true, phrase: 'the model call took too long' },
  connection: { retryable: true, phrase: 'the provider could not be reached' },
  cut_stream: { retryable: true, phrase: 'the answer was cut off' },
  silent_stream: { retryable: true, phrase: 'the provider fell silent' },
  bad_response: { retryable: true, attemptLimit: 3, phrase: 'the provider sent something that is no answer' },
};

export interface ModelErrorDetails {
  /** For humans: what happened and what to do. Redacted already; the only place of the provider's own words. */
  text: string;
  /** Milliseconds that the provider asks to wait. */
  retryAfterMs?: number;
  /** Only where the class's rule does not fit, such as a used-up quota that calls itself a rate limit. */
  retryable?: boolean;
}

/** A failed model call. `message` is a fixed phrase of its class, `text` what a human is shown. */
export class ModelError extends Error {
  override readonly name = 'ModelError';
  readonly class: ModelErrorClass;
  readonly retryable: boolean;
  readonly retryAfterMs: number | undefined;
  /** Attempts in all after which to give up, though retryable; undefined: no such limit. */
  readonly attemptLimit: number | undefined;
  readonly text: string;

  constructor(errorClass: ModelErrorClass, details: ModelErrorDetails) {
    const rule = modelErrorRules[errorClass];
    super(rule.phrase);
    this.class = errorClass;
    this.retryable = details.retryable ?? rule.retryable;
    this.retryAfterMs = details.retryAfterMs;
    this.attemptLimit = rule.attemptLimit;
    this.text = details.text;
  }
}
