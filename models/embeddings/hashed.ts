// Hashed words and letter groups: finds what is spelled alike, knows no meaning. Where no model is to be had.

import { longestText, normalized, type Embedder, type Vector } from './embedder.ts';

const dimensions = 1_024;
export const hashedModel = `hashed-ngrams-${dimensions}`;

export function hashedEmbedder(): Embedder {
  return {
    model: hashedModel,
    documents: async (texts) => ({ model: hashedModel, embedding: texts.map(hashed) }),
    query: async (text) => ({ model: hashedModel, embedding: hashed(text) }),
    close: async () => undefined,
  };
}

function hashed(text: string): Vector {
  const vector = new Float32Array(dimensions);
  const add = (feature: string, weight: number): void => {
    const hash = fnv(feature);
    vector[hash % dimensions]! += hash & 0x40000000 ? weight : -weight;
  };
  for (const [word] of text.slice(0, longestText).toLowerCase().matchAll(/[\p{L}\p{N}]+/gu)) {
    add(word, 1);
    const framed = ` ${word} `;
    for (let at = 0; at + 3 <= framed.length; at++) add(framed.slice(at, at + 3), 0.5);
  }
  return normalized(vector);
}

function fnv(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193) >>> 0;
  // The lowest bits of a short text's hash are alike.
  return (hash ^ (hash >>> 15)) >>> 0;
}
