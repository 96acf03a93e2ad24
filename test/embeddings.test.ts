// Embeddings: an endpoint and its faults, the local sentence model, what takes its place (spec: planner 4, 13).

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Worker } from 'node:worker_threads';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { loadConfig } from '../config/index.ts';
import { toolsFolder } from '../config/tools-folder.ts';
import { openEmbedder, type Embedder } from '../models/embeddings/index.ts';
import { minilmEmbedder } from '../models/embeddings/minilm.ts';
import { findMinilm, minilmFile, minilmFolder, runtimeFile, runtimeFolder } from '../models/embeddings/minilm-files.ts';
import { readVocabulary } from '../models/embeddings/word-piece.ts';
import { until } from './support/planner.ts';
import { localEmbedder } from './support/search.ts';

interface Asked {
  model: string;
  input: string[];
  key: string | undefined;
}
type Answer = (asked: Asked, n: number, response: ServerResponse) => { status: number; body: unknown } | undefined;

let answer: Answer;
let asked: Asked[] = [];
const server = createServer((request, response) => void handle(request, response));
async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  const { model, input } = JSON.parse(text) as { model: string; input: string[] };
  asked.push({ model, input, key: request.headers.authorization });
  const given = answer(asked.at(-1)!, asked.length - 1, response);
  if (!given) return;
  response.writeHead(given.status, { 'content-type': 'application/json', 'retry-after-ms': '5' });
  response.end(JSON.stringify(given.body));
}

const vectorOf = (text: string): number[] => [text.length, 1];
const vectors = ({ input }: Asked) => ({
  status: 200,
  // The last first: the order is told by the index.
  body: { data: input.map((text, index) => ({ index, embedding: vectorOf(text) })).reverse() },
});
const refuse = (status: number, message: string) => ({ status, body: { error: { message } } });
const unit = ([x, y]: number[]): number[] => [x! / Math.hypot(x!, y!), y! / Math.hypot(x!, y!)];

let remote: Embedder;
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const endpoint = { baseUrl: `http://127.0.0.1:${port}/v1`, model: 'embed-1', apiKey: 'key-of-the-endpoint' };
  remote = openEmbedder({ endpoint, toolsDir: toolsFolder() }, (message) => {
    throw new Error(message);
  });
});
afterEach(() => {
  asked = [];
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

describe('spec: planner 4: embeddings of an endpoint', () => {
  test('spec: planner 4.13: texts go in batches; each gets its own vector, whatever order they come in and however long they are', async () => {
    answer = vectors;
    const texts = Array.from({ length: 150 }, (_, n) => 'x'.repeat(n + 1));
    const { model, embedding } = await remote.documents(texts);
    expect(model).toBe('embed-1');
    expect(embedding).toEqual(texts.map((text) => unit(vectorOf(text))));
    expect(asked.map(({ input }) => input.length)).toEqual([64, 64, 22]);
    expect(asked[0]).toMatchObject({ model: 'embed-1', key: 'Bearer key-of-the-endpoint' });
    await remote.documents(['y'.repeat(100_000), '']);
    expect(asked.at(-1)!.input.map(({ length }) => length)).toEqual([8_000, 1]);
  });

  test('overload and cut connections are retried', async () => {
    answer = (request, n, response) => {
      if (n === 0) return refuse(503, 'busy');
      if (n === 1) return refuse(429, 'slower');
      if (n === 2) return void response.destroy();
      return vectors(request);
    };
    expect((await remote.documents(['a'])).embedding).toEqual([unit(vectorOf('a'))]);
    expect(asked).toHaveLength(4);
  });

  test('a refused batch is halved, a refused text is cut, then given up, so that it holds up no other', async () => {
    answer = (request) =>
      request.input.some((text) => text.startsWith('bad') || text.length > 2_000)
        ? refuse(400, 'no')
        : vectors(request);
    const long = 'z'.repeat(5_000);
    const { embedding } = await remote.documents(['one', 'bad', 'two', long]);
    expect(embedding).toEqual([unit(vectorOf('one')), undefined, unit(vectorOf('two')), unit([1_000, 1])]);
  });

  test('an endpoint that refuses everything has refused no text: all is tried again later', async () => {
    const { port } = server.address() as AddressInfo;
    const endpoint = { baseUrl: `http://127.0.0.1:${port}/v1`, model: 'embed-2', apiKey: 'key-of-the-endpoint' };
    const other = openEmbedder({ endpoint, toolsDir: toolsFolder() }, () => undefined);
    answer = () => refuse(400, 'API key not valid. Please pass a valid API key.');
    const error = await other.documents(['a', 'b', 'c']).then(String, (caught: Error) => caught);
    expect(error).toMatchObject({ name: 'EmbeddingError', message: expect.stringMatching(/failed: .*API key not valid/) });
    expect(asked).toHaveLength(2);
    answer = vectors;
    expect((await other.documents(['a'])).embedding).toEqual([unit(vectorOf('a'))]);
  });

  test('a bad key, an answer that is none, a missing vector: an error in words, never with the key', async () => {
    const faults: [Answer, RegExp][] = [
      [() => refuse(401, 'Incorrect API key: key-of-the-endpoint'), /failed: .*Incorrect/],
      [() => ({ status: 200, body: { hello: 1 } }), /one vector a text/],
      [() => ({ status: 200, body: { data: [{ embedding: [1] }] } }), /one vector a text/],
      [() => ({ status: 200, body: { data: [{ embedding: ['x'] }, { embedding: [1] }] } }), /one vector a text/],
    ];
    for (const [fault, words] of faults) {
      answer = fault;
      const error = await remote.documents(['a', 'b']).then(String, (caught: Error) => caught);
      expect(error).toMatchObject({ name: 'EmbeddingError', message: expect.stringMatching(words) });
      expect(String(error)).not.toContain('key-of-the-endpoint');
    }
  });

  test('spec: planner 4.12: a query is asked once and not waited for longer than a second', async () => {
    answer = () => refuse(503, 'busy');
    await expect(remote.query('q')).rejects.toMatchObject({ name: 'EmbeddingError' });
    expect(asked).toHaveLength(1);
    answer = () => undefined;
    const begun = performance.now();
    await expect(remote.query('q')).rejects.toThrow(/silent/);
    expect(performance.now() - begun).toBeGreaterThan(900);
    answer = vectors;
    expect(await remote.query('q')).toEqual({ model: 'embed-1', embedding: unit([1, 1]) });
  });
});

describe('spec: planner 4: the local sentence model', () => {
  const cosine = (a: readonly number[], b: readonly number[]): number => a.reduce((sum, x, n) => sum + x * b[n]!, 0);

  test('spec: planner 4.13: texts of one meaning lie near each other, in 384 dimensions, without any network', async () => {
    const local = localEmbedder();
    const { model, embedding } = await local.documents([
      'Users cannot sign in after they changed their password',
      'The invoice is printed without its second page',
    ]);
    const query = await local.query('login fails with new credentials');
    expect([model, query.model]).toEqual(['all-MiniLM-L6-v2-int8', 'all-MiniLM-L6-v2-int8']);
    expect(query.embedding).toHaveLength(384);
    const [near, far] = embedding.map((vector) => cosine(vector!, query.embedding));
    expect(near).toBeGreaterThan(0.4);
    expect(far).toBeLessThan(0.2);
    await local.close();
    await expect(local.query('too late')).rejects.toThrow('closed');
  });

  test('a query passes before the documents that wait', async () => {
    const local = localEmbedder();
    await local.query('warm');
    const ended: string[] = [];
    const documents = local
      .documents(Array.from({ length: 12 }, () => 'a long text about many things '.repeat(20)))
      .then(() => ended.push('documents'));
    await local.query('quick').then(() => ended.push('query'));
    await documents;
    expect(ended).toEqual(['query', 'documents']);
    await local.close();
  });

  test('left alone it gives its memory back, and is there again for the next text', async () => {
    const events: string[] = [];
    const note = (worker: Worker): void => {
      events.push('loaded');
      worker.once('exit', () => events.push('ended'));
    };
    process.on('worker', note);
    const local = minilmEmbedder(findMinilm(toolsFolder())!, () => undefined, 50);
    const first = await local.query('again');
    await until('the thread to end', async () => events.length === 2);
    expect(await local.query('again')).toEqual(first);
    await local.close();
    process.off('worker', note);
    expect(events).toEqual(['loaded', 'ended', 'loaded', 'ended']);
  });

  test('its tokens are those of the reference: words, pieces, marks, accents, ideographs', () => {
    const words = readVocabulary();
    // Made by the model's own tokenizer.
    expect(words.ids("don't stop: it's $5 <b>", 256)).toEqual([
      101, 2123, 1005, 1056, 2644, 1024, 2009, 1005, 1055, 1002, 1019, 1026, 1038, 1028, 102,
    ]);
    expect(words.ids('Café crème — naïve', 256)).toEqual([101, 7668, 13675, 21382, 1517, 15743, 102]);
    expect(words.ids('antidisestablishmentarianism', 256)).toEqual([
      101, 3424, 10521, 4355, 7875, 13602, 3672, 12199, 2964, 102,
    ]);
    expect(words.ids('日本語 ab', 256)).toEqual([101, 1864, 1876, 1950, 11113, 102]);
    expect(words.ids('Привет', 256)).toEqual([101, 1194, 16856, 10325, 25529, 15290, 22919, 102]);
    expect(words.ids('a'.repeat(101), 256)).toEqual([101, 100, 102]);
    expect(words.ids('word '.repeat(1_000), 256)).toHaveLength(256);
  });

  test('spec: planner 4.13: where its files are not there, or do not run here, hashed words take its place, with a warning', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'planner-embeddings-'));
    const warnings: string[] = [];
    const warn = (message: string): void => void warnings.push(message);
    try {
      const none = openEmbedder({ endpoint: undefined, toolsDir: folder }, warn);
      expect(warnings).toEqual([expect.stringMatching(/not there.*by spelling.*PLANNER_EMBEDDINGS_BASE_URL/)]);
      const alike = await none.documents(['Payment by card', 'Paying with cards', 'Walrus']);
      const query = await none.query('card payments');
      const [same, similar, other] = alike.embedding.map((vector) => cosine(vector!, query.embedding));
      expect(same).toBeGreaterThan(similar!);
      expect(similar).toBeGreaterThan(other! + 0.1);

      for (const file of [path.join(minilmFolder, minilmFile), path.join(runtimeFolder, runtimeFile)]) {
        mkdirSync(path.join(folder, path.dirname(file)), { recursive: true });
        writeFileSync(path.join(folder, file), 'throw new Error("built for another computer")');
      }
      const broken = openEmbedder({ endpoint: undefined, toolsDir: folder }, warn);
      expect(broken.model).toBe('all-MiniLM-L6-v2-int8');
      expect((await broken.query('card payments')).model).toBe(none.model);
      expect((await broken.documents(['Payment'])).model).toBe(none.model);
      expect(broken.model).toBe(none.model);
      expect(warnings.slice(1)).toEqual([expect.stringMatching(/does not run here: .*another computer.*by spelling/s)]);
      await broken.close();
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe('spec: planner 13: [embeddings]', () => {
  const load = (env: Record<string, string>) => loadConfig({ PLANNER_DATA_DIR: tmpdir(), ...env });

  test('an endpoint needs its model, and an address or a key; the key is shown as a fingerprint alone', () => {
    expect(load({}).embeddings).toEqual({ endpoint: undefined, toolsDir: toolsFolder({}) });
    expect(load({ PLANNER_EMBEDDINGS_API_KEY: 'k', PLANNER_EMBEDDINGS_MODEL: 'm' }).embeddings.endpoint).toEqual({
      baseUrl: 'https://api.openai.com/v1',
      model: 'm',
      apiKey: 'k',
    });
    expect(() => load({ PLANNER_EMBEDDINGS_BASE_URL: 'http://127.0.0.1:1/v1' })).toThrow(/PLANNER_EMBEDDINGS_MODEL/);
    expect(() => load({ PLANNER_EMBEDDINGS_MODEL: 'm' })).toThrow(/PLANNER_EMBEDDINGS_BASE_URL/);
  });
});
