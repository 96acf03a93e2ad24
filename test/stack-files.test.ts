// The launcher, the image and the cluster's files are fit for use: checked without building or pulling anything.

import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { settings } from '../config/settings.ts';
import { parseYaml, type YamlMap } from './support/yaml.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const read = (name: string): string => readFileSync(path.join(root, name), 'utf8');

describe('docker-compose.yml', () => {
  const file = parseYaml(read('docker-compose.yml')) as YamlMap;
  const services = file['services'] as Record<string, YamlMap>;

  test('it holds the database, Temporal with its UI, the set-up, the API and several workers', () => {
    expect(Object.keys(services)).toEqual(['database', 'temporal', 'temporal-ui', 'setup', 'api', 'worker']);
    expect(services['worker']?.['deploy']).toEqual({ replicas: '2' });
    expect(services['database']?.['image']).toBe('pgvector/pgvector:pg18');
    expect(services['database']?.['volumes']).toEqual(['database:/var/lib/postgresql']);
    expect(Object.keys(file['volumes'] as YamlMap)).toEqual(['database']);
  });

  test('only the API and the UI are published, on the loopback address', () => {
    const published = Object.entries(services).flatMap(([name, { ports = [] }]) =>
      (ports as string[]).map((port) => [name, port]),
    );
    expect(published.map(([name]) => name)).toEqual(['temporal-ui', 'api']);
    for (const [, port] of published) expect(port).toMatch(/^127\.0\.0\.1:\d+:\d+$/);
  });

  test('what a service waits for exists and has the health check or the end that it waits for', () => {
    for (const { depends_on: needed = {} } of Object.values(services)) {
      for (const [name, { condition }] of Object.entries(needed as Record<string, YamlMap>)) {
        expect(services).toHaveProperty(name);
        if (condition === 'service_healthy') expect(services[name]).toHaveProperty('healthcheck.test');
        else expect([name, condition]).toEqual(['setup', 'service_completed_successfully']);
      }
    }
  });

  test('commands name files that exist, variables are known to the product, and no secret stands in it', () => {
    const known = new Set<string>(settings.map(({ variable }) => variable));
    for (const [name, service] of Object.entries(services)) {
      const [node, entry = ''] = (service['command'] ?? []) as string[];
      if (node) expect(existsSync(path.join(root, entry))).toBe(true);
      const names = Object.keys((service['environment'] ?? {}) as YamlMap);
      if (node) expect(names.filter((variable) => !known.has(variable))).toEqual([]);
      expect(names.filter((variable) => /PASSWORD|KEY|TOKEN/.test(variable)), name).toEqual([]);
    }
    const example = read('planner.env.example').match(/^[A-Z_]+(?==)/gm) ?? [];
    expect(example.filter((variable) => !known.has(variable))).toEqual(['POSTGRES_PASSWORD']);
  });

  if (spawnSync('docker', ['compose', 'version'], { stdio: 'ignore' }).status === 0) {
    test('the compose command itself accepts it', () => {
      const folder = mkdtempSync(path.join(tmpdir(), 'planner-compose-'));
      cpSync(path.join(root, 'docker-compose.yml'), path.join(folder, 'docker-compose.yml'));
      cpSync(path.join(root, 'planner.env.example'), path.join(folder, 'planner.env'));
      const checked = spawnSync('docker', ['compose', 'config', '--quiet'], { cwd: folder, encoding: 'utf8' });
      rmSync(folder, { recursive: true });
      expect(`${checked.status} ${checked.stderr}`).toBe('0 ');
    });
  }
});

describe('Dockerfile', () => {
  const instructions = read('Dockerfile')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => line.split(' '));

  test('it has only known instructions, and copies what exists', () => {
    const known = ['FROM', 'ENV', 'WORKDIR', 'COPY', 'RUN', 'USER', 'EXPOSE', 'STOPSIGNAL', 'CMD'];
    expect(instructions.map(([name]) => name).filter((name) => !known.includes(name ?? ''))).toEqual([]);
    const fromHere = instructions.filter(([name, first]) => name === 'COPY' && !first?.startsWith('--from='));
    const copied = fromHere.flatMap((words) => words.slice(1, -1));
    expect(copied.filter((name) => !existsSync(path.join(root, name)))).toEqual([]);
    expect(copied).not.toContain('planner.env');
  });

  test('it runs as another user than root, on the Node that the sources need', () => {
    expect(instructions).toContainEqual(['USER', 'node']);
    const stages = instructions.filter(([name]) => name === 'FROM');
    // The page, the sentence model, the image.
    expect(stages.map(([, image]) => image)).toEqual(Array(3).fill('node:24-bookworm-slim'));
    expect(instructions.findLastIndex(([name]) => name === 'USER')).toBeGreaterThan(
      instructions.findLastIndex(([name]) => name === 'FROM'),
    );
  });

  test('the page is built in a stage of its own, and only its files are taken over', () => {
    expect(instructions).toContainEqual(['RUN', 'node', 'web/build.ts']);
    expect(instructions).toContainEqual(['COPY', '--from=page', '/app/dist/web', 'dist/web']);
  });

  test('every folder of sources that a process may import is copied', () => {
    const copied = instructions.filter(([name]) => name === 'COPY').map((words) => words[1]);
    for (const folder of ['api', 'activities', 'cli', 'client', 'config', 'domain', 'models', 'planner', 'store']) {
      expect(copied).toContain(`${folder}/`);
    }
    expect(copied).toEqual(expect.arrayContaining(['worker/', 'workflows/']));
  });
});

describe('the launcher', () => {
  const launcher = path.join(root, 'cli/bin/planner.mjs');

  test('it passes arguments on and leaves with the exit code of the command', () => {
    const wrong = spawnSync(process.execPath, [launcher, 'no-such-command'], { encoding: 'utf8' });
    expect(wrong.status).toBe(2);
    expect(wrong.stderr).toContain('no-such-command');
  });

  test('under an older Node without the bundled one, it says what to do', () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'planner-launcher-'));
    cpSync(path.dirname(launcher), path.join(folder, 'cli/bin'), { recursive: true });
    const older = "Object.defineProperty(process.versions, 'node', { value: '20.20.2' });";
    writeFileSync(path.join(folder, 'older.cjs'), older);
    const args = ['--require', path.join(folder, 'older.cjs'), path.join(folder, 'cli/bin/planner.mjs')];
    const run = spawnSync(process.execPath, args, { encoding: 'utf8' });
    rmSync(folder, { recursive: true });
    expect(run.status).toBe(1);
    expect(run.stderr).toMatch(/planner needs Node 24 or newer.*npm ci/s);
  });

  test('under an older Node it runs the bundled one, with its exit code', () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'planner-launcher-'));
    writeFileSync(
      path.join(folder, 'older.cjs'),
      "Object.defineProperty(process.versions, 'node', { value: '20.20.2' });",
    );
    const args = ['--require', path.join(folder, 'older.cjs'), launcher, 'no-such-command'];
    const run = spawnSync(process.execPath, args, { encoding: 'utf8' });
    rmSync(folder, { recursive: true });
    expect(run.status).toBe(2);
    expect(run.stderr).toContain('no-such-command');
  });
});
