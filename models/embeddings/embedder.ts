// What makes embeddings: a provider's endpoint, the local sentence model, or hashed words (spec: planner 4).

export type Vector = number[];

/** Vectors of one model are never compared with those of another: each is stored with its model's name. */
export interface Embedder {
  /** What it would embed with now; changes once, where the local model turns out not to run here. */
  readonly model: string;
  /**
   * One vector a text, in order; undefined: this text is refused, whatever is tried. Long texts are cut.
   * Errors: EmbeddingError, may be tried again later.
   */
  documents(texts: readonly string[]): Promise<Embedded<(Vector | undefined)[]>>;
  /** Passes before documents that wait. Errors: as above. */
  query(text: string): Promise<Embedded<Vector>>;
  close(): Promise<void>;
}

export interface Embedded<T> {
  model: string;
  embedding: T;
}

/** Why nothing was embedded, in words for an operator; no keys. */
export class EmbeddingError extends Error {
  override readonly name = 'EmbeddingError';
}

/** What is embedded of a title and a body: no model here reads more. Code units. */
export const longestText = 8_000;

/** Of length 1; a vector of zeros stays one. */
export function normalized(vector: ArrayLike<number>): Vector {
  const values = Array.from(vector);
  const length = Math.hypot(...values);
  return values.map((value) => (length === 0 ? 0 : value / length));
}
