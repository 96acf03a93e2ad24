// The indexer: follows the event log, restartable, one at a time, whatever the model does (spec: planner 4).

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { EmbeddingError, type Embedder } from '../models/embeddings/index.ts';
import { rebuildSearchCommand, searchStatusCommand } from '../cli/search.ts';
import { openDatabase, type Database } from '../store/database.ts';
import { createItem, updateItem } from '../store/items.ts';
import { listen, type Listener } from '../store/listener.ts';
import { createProject, type Project } from '../store/projects.ts';
import { projectScope } from '../store/search-scope.ts';
import { vectorList } from '../store/search.ts';
import { followScope, unfollowedScopes } from '../store/search-index.ts';
import { systemActor } from '../domain/actor.ts';
import { startIndexer, type Indexer, type IndexerOptions } from '../worker/indexer.ts';
import { until } from './support/planner.ts';
import { planeEmbedder } from './support/search.ts';
import { createTracker, type Tracker } from './support/tracker.ts';

let t: Tracker;
let listener: Listener;
let project: Project;
let indexers: Indexer[] = [];
let databases: Database[] = [];
let warnings: string[] = [];
let number = 0;
beforeAll(async () => {
  t = await createTracker();
  listener = await listen(t.url);
});
beforeEach(async () => {
  const key = `P${++number}`;
  const organization_id = t.organization.id;
  project = await t.run((tx) => createProject(tx, systemActor, { organization_id, key, name: key }));
  warnings = [];
});
afterEach(async () => {
  for (const one of indexers) await one.close();
  for (const one of databases) await one.close();
  indexers = [];
  databases = [];
});
afterAll(async () => {
  await listener.close();
  await t.drop();
});

/** As another process would: with connections of its own. */
function start(embedder: Embedder, options: Partial<IndexerOptions> = {}): Indexer {
  const database = openDatabase(t.url);
  const warn = (message: string, error?: unknown): void => void warnings.push(`${message} ${String(error ?? '')}`);
  const intervals = { poll: 200, retry: 20, longest: 100 };
  const indexer = startIndexer({ database, listener, embedder, warn, intervals, ...options });
  databases.push(database);
  indexers.push(indexer);
  return indexer;
}
async function stop(indexer: Indexer): Promise<void> {
  await indexer.close();
  indexers = indexers.filter((one) => one !== indexer);
}

const item = (title: string) => t.run((tx) => createItem(tx, t.admin, project.key, { kind: 'ticket', title }));

interface Row {
  title: string;
  model: string | null;
  dimensions: number | null;
  written: string;
}
const rows = () =>
  t.database.query<Row>(
    `SELECT d.title, d.model, vector_dims(e.embedding) AS dimensions, d.indexed_at AS written
     FROM search_documents d LEFT JOIN search_embeddings e USING (doc) WHERE d.owner = $1 ORDER BY d.title`,
    [project.id],
  );
const indexed = (wanted: (found: Row[]) => boolean) =>
  until('the index', async () => {
    const found = await rows();
    return wanted(found) && found;
  });
const allBy = (model: string, count: number) => (found: Row[]) =>
  found.length === count && found.every((row) => row.model === model);

describe('spec: planner 4: the indexer', () => {
  test('what was there before it started is indexed, and what comes later as soon as it is told', async () => {
    await item('Early');
    start(planeEmbedder(() => 0), { intervals: { poll: 60_000 } });
    await indexed(allBy('plane', 1));
    const { key, version } = await item('Later');
    await indexed(allBy('plane', 2));
    await t.run((tx) => updateItem(tx, t.admin, key, { version, title: 'Even later' }));
    const found = await indexed((now) => now[1]?.title === 'Even later' || now[0]?.title === 'Even later');
    expect(found).toHaveLength(2);
  });

  test('words can be found while embeddings are not to be had; a failing endpoint is asked again, with one warning', async () => {
    let down = true;
    const plane = planeEmbedder(() => 0);
    const embedder: Embedder = {
      ...plane,
      documents: async (texts) => {
        if (down) throw new EmbeddingError('The embeddings endpoint is silent.');
        return plane.documents(texts);
      },
    };
    await item('Without');
    start(embedder);
    await indexed((found) => found.length === 1);
    await item('Another');
    const lexical = await indexed((found) => found.length === 2);
    expect(lexical.map(({ model }) => model)).toEqual([null, null]);
    await until('a warning', async () => warnings.length > 0);
    down = false;
    await indexed(allBy('plane', 2));
    expect(warnings).toEqual([expect.stringMatching(/found by their words alone.*endpoint is silent/)]);
  });

  test('spec: planner 4.10: words of new texts are found at once also while the model is silent', async () => {
    let asked = false;
    const silent: Embedder = {
      ...planeEmbedder(() => 0),
      documents: () => {
        asked = true;
        return new Promise(() => undefined);
      },
    };
    await item('Earlier');
    start(silent);
    await until('the first batch', async () => asked);
    await item('Meanwhile');
    expect((await indexed((found) => found.length === 2)).map(({ model }) => model)).toEqual([null, null]);
  });

  test('stopped in the middle, it goes on where it was: nothing is missing, nothing is embedded twice', async () => {
    for (let n = 0; n < 80; n++) await item(`Text ${String(n).padStart(2, '0')}`);
    const first = planeEmbedder(() => 0);
    let batches = 0;
    const half: Embedder = {
      ...first,
      documents: async (texts) => {
        if (++batches > 1) await new Promise(() => undefined);
        return first.documents(texts);
      },
    };
    const gone = start(half);
    await until('the second batch', async () => batches === 2);
    // Its process ends with its lock, in the middle of a batch.
    await t.database.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE application_name = 'planner-indexer' AND datname = current_database()`,
    );
    await stop(gone);
    const second = planeEmbedder(() => 0);
    start(second);
    await indexed(allBy('plane', 80));
    const asked = [...first.asked, ...second.asked].filter((text) => text.startsWith('Text '));
    expect([...asked].sort()).toEqual([...new Set(asked)].sort());
    expect(new Set(asked).size).toBe(80);
  });

  test('a transaction that fails has followed nothing: the cursor moves with the documents, or not at all', async () => {
    await item('Once');
    const scope = `project:${project.id}`;
    await t.database.query(`
      CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'disk full'; END $$;
      CREATE TRIGGER refuse BEFORE INSERT ON search_words FOR EACH ROW EXECUTE FUNCTION refuse()`);
    await expect(followScope(t.database, scope)).rejects.toThrow('disk full');
    await t.database.query('DROP FUNCTION refuse CASCADE');
    expect(await rows()).toEqual([]);
    expect(await unfollowedScopes(t.database)).toContain(scope);
    // Two at once, and once more: each event has its effect once.
    await Promise.all([followScope(t.database, scope), followScope(t.database, scope)]);
    expect(await followScope(t.database, scope)).toBe(false);
    expect((await rows()).map(({ title }) => title)).toEqual(['Once']);
  });

  test('a backlog of long texts is written in statements that are short each', async () => {
    await t.database.query(`
      CREATE TABLE statements (written int);
      CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO statements SELECT count(*) FROM new_rows; RETURN NULL; END $$;
      CREATE TRIGGER note AFTER INSERT ON search_words REFERENCING NEW TABLE AS new_rows
        FOR EACH STATEMENT EXECUTE FUNCTION note()`);
    const description = 'word '.repeat(9_990);
    for (let n = 0; n < 45; n++) {
      await t.run((tx) => createItem(tx, t.admin, project.key, { kind: 'ticket', title: `Long ${n}`, description }));
    }
    while (await followScope(t.database, `project:${project.id}`));
    expect(await rows()).toHaveLength(45);
    const written = await t.database.query<{ written: number }>('SELECT written FROM statements');
    expect(written.map((each) => each.written)).toEqual([20, 20, 5]);
    await t.database.query('DROP FUNCTION note CASCADE; DROP TABLE statements');
  });

  test('a scope that can not be followed keeps no other from being followed', async () => {
    const broken = project;
    await item('Stuck');
    await t.database.query(`
      CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'disk full'; END $$;
      CREATE TRIGGER refuse BEFORE INSERT ON search_documents FOR EACH ROW WHEN (NEW.title = 'Stuck')
        EXECUTE FUNCTION refuse()`);
    const key = `P${++number}`;
    const organization_id = t.organization.id;
    const later = await t.run((tx) => createProject(tx, systemActor, { organization_id, key, name: key }));
    expect(`project:${broken.id}` < `project:${later.id}`).toBe(true);
    await t.run((tx) => createItem(tx, t.admin, key, { kind: 'ticket', title: 'Fine' }));
    start(planeEmbedder(() => 0));
    await until('the other scope', async () => {
      const found = await t.database.query('SELECT 1 FROM search_documents WHERE owner = $1 AND model IS NOT NULL', [later.id]);
      return found.length === 1;
    });
    expect(warnings[0]).toMatch(/Events of project:.* are not followed for now.*disk full/);
    await t.database.query('DROP FUNCTION refuse CASCADE');
    await indexed(allBy('plane', 1));
  });

  test('of two indexers one works; when it goes, the other takes over', async () => {
    const [one, two] = [planeEmbedder(() => 0), planeEmbedder(() => 0)];
    const first = start(one);
    await item('First');
    await indexed(allBy('plane', 1));
    start(two);
    await item('Second');
    await indexed(allBy('plane', 2));
    expect(two.asked).toEqual([]);
    await stop(first);
    await item('Third');
    await indexed(allBy('plane', 3));
    expect(two.asked.map((text) => text.trim())).toContain('Third');
  });

  test('spec: planner 4.11: another model embeds everything anew; until then only what it made is compared with its queries', async () => {
    const { key } = await item('Moved');
    await stop(await startAndWait(planeEmbedder(() => 0, 'old')));
    const scope = await projectScope(t.database, t.admin, project);
    const found = async (model: string) =>
      (await vectorList(t.database, scope, { text: key, embedding: { model, embedding: [1, 0] } })).length;
    expect([await found('old'), await found('new')]).toEqual([1, 0]);
    start(planeEmbedder(() => 0, 'new'));
    await indexed(allBy('new', 1));
    expect([await found('old'), await found('new')]).toEqual([0, 1]);
  });

  test('a model that answers with another dimension than before embeds everything anew', async () => {
    await item('Flat');
    await stop(await startAndWait(planeEmbedder(() => 0)));
    const plane = planeEmbedder(() => 0);
    const solid: Embedder = {
      ...plane,
      documents: async (texts) => ({ model: 'plane', embedding: texts.map(() => [1, 0, 0]) }),
    };
    start(solid);
    await item('Solid');
    const found = await indexed((now) => now.length === 2 && now.every(({ dimensions }) => dimensions === 3));
    expect(found.map(({ model }) => model)).toEqual(['plane', 'plane']);
  });

  test('a text that the model refuses holds up no other, and is tried again when it changes', async () => {
    const { key, version } = await item('Refused');
    await item('Fine');
    const embedder = planeEmbedder((text) => (text.startsWith('Refused') ? undefined : 0));
    start(embedder);
    const found = await indexed(allBy('plane', 2));
    expect(found.map(({ dimensions }) => dimensions)).toEqual([2, null]);
    expect(embedder.asked.filter((text) => text.startsWith('Refused'))).toHaveLength(1);
    await t.run((tx) => updateItem(tx, t.admin, key, { version, title: 'Accepted' }));
    await indexed((now) => now.every(({ dimensions }) => dimensions === 2));
  });

  test('a text that changes while it is embedded keeps no embedding of what it was', async () => {
    const { key, version } = await item('Before');
    const plane = planeEmbedder(() => 0);
    let changed = false;
    const slow: Embedder = {
      ...plane,
      documents: async (texts) => {
        const made = await plane.documents(texts);
        if (!changed) {
          changed = true;
          await t.run((tx) => updateItem(tx, t.admin, key, { version, title: 'After' }));
          await followScope(t.database, `project:${project.id}`);
        }
        return made;
      },
    };
    start(slow);
    const [row] = await indexed((now) => allBy('plane', 1)(now) && now[0]!.title === 'After');
    expect(row).toMatchObject({ title: 'After', dimensions: 2 });
    expect(plane.asked.map((text) => text.trim())).toContain('After');
  });

  test('spec: planner 4.11: a change that does not touch the text is not embedded again; a rebuild writes and embeds everything', async () => {
    const { key, version } = await item('Same');
    const embedder = planeEmbedder(() => 0);
    start(embedder);
    await indexed(allBy('plane', 1));
    const times = () => embedder.asked.filter((text) => text.startsWith('Same')).length;
    await t.run((tx) => updateItem(tx, t.admin, key, { version, type: 'bug' }));
    await until('the event', async () => (await unfollowedScopes(t.database)).length === 0);
    expect(times()).toBe(1);
    await t.database.query("UPDATE search_documents SET title = 'Broken' WHERE owner = $1", [project.id]);
    expect(await rebuildSearchCommand(t.url)).toMatch(/anew/);
    await indexed((now) => allBy('plane', 1)(now) && now[0]!.title === 'Same');
    expect(times()).toBe(2);
    await until('the index', async () => /All events are followed/.test(await searchStatusCommand(t.url, {})));
    expect(await searchStatusCommand(t.url, {})).toMatch(/item +plane +\d+/);
  });

  test('a body as long as it may be is indexed, whatever it is made of', async () => {
    const letter = (digit: string): number => 0x10400 + parseInt(digit, 26);
    const word = (n: number): string => String.fromCodePoint(...[...n.toString(26)].map(letter));
    const body = Array.from({ length: 40_000 }, (_, n) => word(n)).join(' ').slice(0, 49_000);
    const long = { kind: 'ticket', title: 'Long', description: body.toWellFormed() };
    await t.run((tx) => createItem(tx, t.admin, project.key, long));
    await followScope(t.database, `project:${project.id}`);
    expect(await rows()).toMatchObject([{ title: 'Long' }]);
  });
});

async function startAndWait(embedder: Embedder): Promise<Indexer> {
  const indexer = start(embedder);
  await indexed((found) => found.length > 0 && found.every(({ model }) => model === embedder.model));
  return indexer;
}
