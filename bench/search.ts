// `npm run bench:search`: search among 20,000 items and knowledge entries, the query's embedding by the local sentence
// model included; beside it what each part takes. BENCH_DOCUMENTS sets another number.

import { cpus } from 'node:os';
import { systemActor } from '../domain/actor.ts';
import { fuse } from '../domain/search.ts';
import type { Vector } from '../models/embeddings/index.ts';
import { transaction, type Database } from '../store/database.ts';
import { createOrganization, createProject, type Project } from '../store/projects.ts';
import { followScope, storeEmbeddings, unembedded, unfollowedScopes } from '../store/search-index.ts';
import { knowledgeScope, projectScope, type SearchScope } from '../store/search-scope.ts';
import { lexicalList, searchHits, vectorList } from '../store/search.ts';
import { documents, queries } from '../test/fixtures/search/labelled.ts';
import { createTestDatabase } from '../test/support/database.ts';
import { embedded, localEmbedder } from '../test/support/search.ts';
import { startServers } from '../test/support/servers.ts';
import { subject } from '../test/support/tracker.ts';
import { ms, p50, p95, table } from './numbers.ts';

const count = Number(process.env['BENCH_DOCUMENTS'] ?? 20_000);
/** Of another organization, in the same tables. */
const strangers = count / 4;
const rounds = 6;

/** The same in each run. */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
const random = generator(7);

const sentences = documents.flatMap(([, title, body]) => [title, ...body.split(/(?<=[.;])\s/)]);
const sentence = (): string => sentences[Math.floor(random() * sentences.length)]!;
/** A title and some 60 words; some words in every tenth text, most in few. */
const text = (n: number): { title: string; body: string } => ({
  title: `${sentence()} (${n})`,
  body: `${Array.from({ length: 5 }, sentence).join(' ')} Reference r${n}, batch b${n % 500}.`,
});

async function fill(database: Database, project: Project, items: number, entries: number): Promise<void> {
  const texts = Array.from({ length: items + entries }, (_, n) => text(n));
  const own = texts.slice(0, items);
  const known = texts.slice(items);
  await database.query(
    `WITH new AS (
       INSERT INTO items (id, project_id, number, key, kind, title, description, state, type)
       SELECT gen_random_uuid(), $1, n, $2 || '-' || n, 'ticket', title, body, 'backlog', 'feature'
       FROM unnest($3::text[], $4::text[]) WITH ORDINALITY AS t (title, body, n) RETURNING id, number
     )
     INSERT INTO events (scope, seq, id, project_id, type, entity_type, entity_id, actor)
     SELECT 'project:' || $1, number + 10, gen_random_uuid(), $1, 'item.created', 'item', id, '{}' FROM new`,
    [project.id, project.key, own.map(({ title }) => title), own.map(({ body }) => body)],
  );
  await database.query(
    `WITH new AS (
       INSERT INTO knowledge_entries (id, organization_id, kind, title, body, author)
       SELECT gen_random_uuid(), $1, 'note', title, body, 'ada' FROM unnest($2::text[], $3::text[]) AS t (title, body)
       RETURNING id
     )
     INSERT INTO events (scope, seq, id, organization_id, type, entity_type, entity_id, actor)
     SELECT 'organization:' || $1, row_number() OVER () + 10, gen_random_uuid(), $1, 'knowledge.created', 'knowledge', id,
            '{}' FROM new`,
    [project.organization_id, known.map(({ title }) => title), known.map(({ body }) => body)],
  );
  await database.query(
    `INSERT INTO event_counters (scope, seq) VALUES ('project:' || $1, $3 + 10), ('organization:' || $2, $4 + 10)
     ON CONFLICT (scope) DO UPDATE SET seq = excluded.seq`,
    [project.id, project.organization_id, items, entries],
  );
}

/** Vectors near those of real sentences: how long a search takes does not depend on what they say. */
async function embedAll(database: Database, model: string, bases: readonly Vector[]): Promise<void> {
  for (;;) {
    const rows = await unembedded(database, model, 500, 100);
    if (rows.length === 0) return;
    const base = (): Vector => bases[Math.floor(random() * bases.length)]!;
    const near = (): Vector => base().map((value) => value + (random() - 0.5) * 0.05);
    await storeEmbeddings(database, model, rows.map((row) => ({ ...row, embedding: near() })));
  }
}

async function timed<T>(samples: number[], act: () => Promise<T>): Promise<T> {
  const begun = performance.now();
  const result = await act();
  samples.push(performance.now() - begun);
  return result;
}

async function main(): Promise<void> {
  const endServers = await startServers();
  const { database, drop } = await createTestDatabase();
  const embedder = localEmbedder();
  const make = (organization: string, key: string): Promise<Project> =>
    transaction(database, async (tx) => {
      const { id } = await createOrganization(tx, systemActor, { key: organization, name: organization });
      return createProject(tx, systemActor, { organization_id: id, key, name: key });
    });
  const project = await make('acme', 'WEB');
  const other = await make('globex', 'GLX');
  const ada = await subject(database, 'ada', 'human', 'engineer', { organization_id: project.organization_id });
  await fill(database, project, (count * 7) / 10, (count * 3) / 10);
  await fill(database, other, strangers / 2, strangers / 2);

  const following = performance.now();
  for (const scope of await unfollowedScopes(database)) while (await followScope(database, scope));
  const followed = (count + strangers) / ((performance.now() - following) / 1_000);
  const { model, embedding: bases } = await embedder.documents(sentences);
  const documentTimes: number[] = [];
  for (let n = 0; n < 100; n++) {
    const { title, body } = text(n);
    await timed(documentTimes, () => embedder.documents([`${title}\n${body}`]));
  }
  await embedAll(database, model, bases.map((vector) => vector!));
  await database.query('VACUUM ANALYZE search_documents, search_words, search_embeddings');

  const items = await projectScope(database, ada, project);
  const all: SearchScope = { ...items, organizations: knowledgeScope(project.organization_id).organizations };
  const times = { whole: [] as number[], embed: [] as number[], lexical: [] as number[], vector: [] as number[] };
  const common = ['order page for customers', 'mail', 'Reference r1234', 'batch b77 price'];
  for (let round = 0; round <= rounds; round++) {
    if (round === 1) for (const samples of Object.values(times)) samples.length = 0;
    for (const search of [...queries.map(([query]) => query), ...common]) {
      await timed(times.whole, async () => searchHits(database, all, await embedded(embedder, search), 20));
      const query = await timed(times.embed, () => embedded(embedder, search));
      const lexical = await timed(times.lexical, () => lexicalList(database, all, search));
      const vector = await timed(times.vector, () => vectorList(database, all, query));
      if (fuse([lexical, vector]).length === 0) throw new Error(`nothing was found for ${search}`);
    }
  }
  console.log(
    `${cpus().length} cores, Node ${process.version}; ${count} documents of the reader's organization, ` +
      `${strangers} of another one; ${times.whole.length} searches\n`,
  );
  const row = (what: string, samples: number[]): string[] => [what, ms(p50(samples)), ms(p95(samples))];
  console.log(
    table(
      ['what', 'p50', 'p95'],
      [
        row('search, from the text to 20 hits with snippets', times.whole),
        row('the embedding of the query', times.embed),
        row('the lexical list', times.lexical),
        row('the vector list (exact)', times.vector),
        row('the embedding of a document of 70 words', documentTimes),
      ],
    ),
  );
  console.log(`\nfollowing events: ${followed.toFixed(0)} documents/s`);
  await embedder.close();
  await drop();
  await endServers();
}

await main();
process.exit(0);
