// The thread that runs all-MiniLM-L6-v2: one text at a time, mean of its tokens' vectors, length 1.

import { createRequire } from 'node:module';
import { parentPort, workerData } from 'node:worker_threads';
import { normalized } from './embedder.ts';
import type { Answer, Request } from './minilm.ts';
import type { MinilmFiles } from './minilm-files.ts';
import { readVocabulary } from './word-piece.ts';

interface Output {
  data: Float32Array;
  dims: readonly number[];
}

/** The part of onnxruntime-node that is used. */
interface Runtime {
  InferenceSession: {
    create(file: string, options: Record<string, unknown>): Promise<{
      run(feeds: Record<string, unknown>): Promise<{ last_hidden_state: Output }>;
    }>;
  };
  Tensor: new (type: 'int64', data: BigInt64Array, dims: readonly number[]) => unknown;
}

/** What the model was trained with. */
const maxTokens = 256;

const { model, runtime } = workerData as MinilmFiles;
const { InferenceSession, Tensor } = createRequire(import.meta.url)(runtime) as Runtime;
const words = readVocabulary();
// One core: the process has other work, and two threads gain little on texts this short.
const session = await InferenceSession.create(model, {
  intraOpNumThreads: 1,
  interOpNumThreads: 1,
  executionMode: 'sequential',
});

async function embed(text: string): Promise<number[]> {
  const ids = words.ids(text, maxTokens);
  const tensor = (values: readonly number[]): unknown =>
    new Tensor('int64', BigInt64Array.from(values, BigInt), [1, values.length]);
  const { last_hidden_state: last } = await session.run({
    input_ids: tensor(ids),
    attention_mask: tensor(ids.map(() => 1)),
    token_type_ids: tensor(ids.map(() => 0)),
  });
  const size = last.dims.at(-1)!;
  const sum = new Float32Array(size);
  for (let at = 0; at < last.data.length; at++) sum[at % size]! += last.data[at]!;
  return normalized(sum);
}

const tell = (answer: Answer): void => parentPort!.postMessage(answer);
parentPort!.on('message', (request: Request) => {
  if ('close' in request) return parentPort!.close();
  embed(request.text).then(
    (vector) => tell({ vector }),
    (error: unknown) => tell({ error: String(error) }),
  );
});
tell({ ready: true });
