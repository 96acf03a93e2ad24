// What an attempt has cost at most, where its CLI told no result (spec: bounded-claude 1 and 7).

/** USD for a million tokens: the highest list prices of current models, so that an estimate is never too low. */
const dearest = { input: 15, output: 75 };

/** USD, from the tokens that the stream's own events told. */
export function estimatedCost(streamed: { input_tokens: number; output_tokens: number }): number {
  return (streamed.input_tokens * dearest.input + streamed.output_tokens * dearest.output) / 1_000_000;
}
