// Keeps failures small and silent: a class and a short phrase enter a history, no stack, no text of a provider or user.
// (spec: orchestration)

import { DefaultFailureConverter, type PayloadConverter, type ProtoFailure } from '@temporalio/common';

/** Characters of a failure's message at most. */
export const maxFailureMessage = 200;

class ShortFailureConverter extends DefaultFailureConverter {
  override errorToFailure(error: unknown, payloadConverter: PayloadConverter): ProtoFailure {
    return shorten(super.errorToFailure(error, payloadConverter));
  }
}

function shorten(failure: ProtoFailure): ProtoFailure {
  const short: ProtoFailure = {
    ...failure,
    message: (failure.message ?? '').slice(0, maxFailureMessage - 1),
    stackTrace: '',
  };
  if (failure.cause) short.cause = shorten(failure.cause);
  return short;
}

export const failureConverter = new ShortFailureConverter();
