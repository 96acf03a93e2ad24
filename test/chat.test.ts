// The terminal chat, end to end: real API, worker, Temporal and PostgreSQL; only the model is scripted.

import { spawn, type ChildProcess } from 'node:child_process';
import { PassThrough } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { startApi, type Api } from '../api/server.ts';
import { chat, type ChatOptions } from '../cli/chat.ts';
import { clean } from '../cli/print.ts';
import { createRest, type Rest } from '../client/index.ts';
import { transaction } from '../store/database.ts';
import { listen, type Listener } from '../store/listener.ts';
import { createToken } from '../store/tokens.ts';
import { startTestPlanner, until, type TestPlanner } from './support/planner.ts';
import { startProxy } from './support/proxy.ts';
import { calls, fails, inTurn, says } from './support/scripted-model.ts';

let planner: TestPlanner;
let listener: Listener;
let api: Api;
let token: string;
let rest: Rest;

beforeAll(async () => {
  planner = await startTestPlanner();
  await planner.startWorker();
  listener = await listen(planner.url);
  api = await startApi({
    database: planner.database,
    listener,
    engine: planner.engine,
    port: 0,
    model: { name: 'scripted', demo: false },
    checkAnswers: true,
    temporal: { ui: 'http://127.0.0.1:8233', namespace: planner.temporal.namespace },
  });
  const expires_at = new Date(Date.now() + 3_600_000);
  token = (await transaction(planner.database, (tx) => createToken(tx, { subject: 'ada', expires_at }))).token;
  rest = createRest({ address: api.address, token });
});

const sitting: Person[] = [];
afterEach(async () => {
  for (const person of sitting.splice(0)) await person.leave();
});
afterAll(async () => {
  await api.close();
  await listener.close();
  await planner.close();
});

interface Result {
  code: number | null;
  out: string;
  err: string;
}

/** The command as a process of its own, its input a pipe. */
function start(
  args: string[],
  input = '',
  env: Record<string, string> = {},
): { child: ChildProcess; result: Promise<Result> } {
  const command = fileURLToPath(new URL('../cli/planner.ts', import.meta.url));
  const child = spawn(process.execPath, [command, ...args], {
    env: { ...process.env, PLANNER_ADDRESS: api.address, PLANNER_TOKEN: token, DATABASE_URL: planner.url, ...env },
  });
  let [out, err] = ['', ''];
  child.stdout.on('data', (data) => (out += data));
  child.stderr.on('data', (data) => (err += data));
  child.stdin.end(input);
  const result = new Promise<Result>((resolve) => child.on('close', (code) => resolve({ code, out, err })));
  return { child, result };
}

const run = (...args: Parameters<typeof start>): Promise<Result> => start(...args).result;

interface Person {
  /** Everything on the screen so far, without the terminal's own sequences. */
  screen(): string;
  type(text: string): void;
  sees(text: string): Promise<void>;
  /** The exit code. */
  left: Promise<number>;
  leave(): Promise<void>;
}

/** A person at an interactive chat in this process. */
function sit(options: Partial<ChatOptions> = {}): Person {
  const [input, output] = [new PassThrough(), new PassThrough()];
  let text = '';
  output.on('data', (data) => (text += data));
  const left = chat({ address: api.address, token, apply: 'ask', ...options }, {
    input,
    output,
    interactive: true,
    colour: false,
  });
  left.catch(() => undefined);
  const person: Person = {
    screen: () => clean(text),
    type: (typed) => void input.write(typed),
    sees: (wanted) => seen(person, wanted),
    left,
    async leave() {
      input.end();
      await left.catch(() => undefined);
    },
  };
  sitting.push(person);
  return person;
}

/** A person at the command on a pseudo terminal. */
function sitAtTerminal(): Person {
  const [terminal, command] = ['./support/terminal.py', '../cli/planner.ts'].map((name) =>
    fileURLToPath(new URL(name, import.meta.url)),
  );
  const child = spawn('python3', [terminal!, process.execPath, command!, 'chat'], {
    env: { ...process.env, PLANNER_ADDRESS: api.address, PLANNER_TOKEN: token, NO_COLOR: '1', TERM: 'xterm' },
  });
  let text = '';
  child.stdout.on('data', (data) => (text += data));
  const left = new Promise<number>((resolve) => child.on('close', (code) => resolve(code ?? 1)));
  const person: Person = {
    screen: () => clean(text),
    type: (typed) => void child.stdin.write(typed),
    sees: (wanted) => seen(person, wanted),
    left,
    async leave() {
      if (child.exitCode === null) child.stdin.write('\u0003\u0003');
      await left;
    },
  };
  sitting.push(person);
  return person;
}

async function seen(person: Person, wanted: string): Promise<void> {
  try {
    await until(`"${wanted}"`, async () => person.screen().includes(wanted), 10_000);
  } catch {
    throw new Error(`"${wanted}" was never shown; the screen:\n${person.screen()}`);
  }
}

const proposal = (name: string): Record<string, unknown> => ({
  title: `Plan ${name}`,
  summary: 'As asked.',
  operations: [
    { kind: 'create_item', ref: 'e', create: { kind: 'epic', title: `${name} epic` } },
    { kind: 'create_item', ref: 't', create: { kind: 'ticket', title: `${name} ticket`, epic: '$e' } },
    { kind: 'create_item', ref: 'u', create: { kind: 'ticket', title: `${name} other` } },
    { kind: 'add_dependency', dependency: { from: '$t', to: '$u', type: 'blocks' } },
  ],
});

const proposes = (name: string): void => {
  const n = planner.model.requests.length;
  const script = inTurn(calls('propose_changeset', proposal(name)), says('Proposed. Please review.'));
  planner.model.play((request, at) => script(request, at - n));
};

async function titles(): Promise<string[]> {
  return (await rest.items('WEB', { limit: 500 })).items.map((item) => item.title);
}

it('plans and applies through a pipe: `echo ... | planner chat --apply all`', async () => {
  proposes('Pipe');
  const { code, out, err } = await run(['chat', '--apply', 'all'], 'plan the pipe\n');
  expect(code).toBe(0);
  expect(err).toMatch(/^WEB .* model scripted\n/);
  expect(err).toMatch(/→ propose_changeset title: Plan Pipe/);
  expect(err).toMatch(/✓ propose_changeset: proposed changeset \S+ with 4 operations/);
  expect(err).toContain('1. create epic "Pipe epic" $e');
  const applied = 'created WEB-\\d+ epic "Pipe epic"\n {2}created WEB-\\d+ ticket "Pipe ticket"';
  expect(out).toMatch(new RegExp(`^Proposed\\. Please review\\.\nApplied: 4 operations\\.\n {2}${applied}`));
  expect(out + err).not.toMatch(/\u001b/);
  expect(await titles()).toEqual(expect.arrayContaining(['Pipe epic', 'Pipe ticket', 'Pipe other']));
});

it('leaves a proposal undecided in a pipe unless it is told to apply', async () => {
  proposes('Undecided');
  const { code, err } = await run(['chat'], 'plan\n');
  expect(code).toBe(0);
  expect(err).toContain('Not applied: it waits for a decision.');
  expect(await titles()).not.toContain('Undecided epic');
});

it('ends with 1 when a turn fails, and says what to do', async () => {
  planner.model.play(() => fails(401, 'bad key'));
  const { code, out, err } = await run(['chat'], 'plan\n');
  expect({ code, out }).toEqual({ code: 1, out: '' });
  expect(err).toMatch(/✗ .*PLANNER_MODEL_API_KEY/);
});

it('a pipe that brings nothing, or nothing but blanks, is a wrong call', async () => {
  for (const input of ['', '\n  \n']) {
    const { code, out, err } = await run(['chat'], input);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toMatch(/planner: Nothing came in to be sent\./);
  }
});

it('a mistyped variable is an error that names the right one, an unknown one a warning', async () => {
  expect(await run(['items'], '', { PLANNER_TOKN: 'x' })).toMatchObject({
    code: 1,
    out: '',
    err: 'planner: PLANNER_TOKN is not known; did you mean PLANNER_TOKEN?\n',
  });
  const warned = await run(['status'], '', { PLANNER_FAVOURITE: 'x' });
  expect(warned).toMatchObject({ code: 0, err: 'planner: warning: PLANNER_FAVOURITE is not known and is not used\n' });
});

it('ends with 1 on a bad token and with 2 on a wrong call', async () => {
  const refused = await run(['chat'], '', { PLANNER_TOKEN: 'plt_wrong' });
  expect(refused).toMatchObject({ code: 1, out: '' });
  expect(refused.err).toMatch(/^planner: The token is .*expired/);
  expect((await run(['chat', '--apply', 'some'])).code).toBe(2);
  const nowhere = await run(['chat', '--project', 'NOPE']);
  expect(nowhere).toMatchObject({ code: 2, err: expect.stringMatching(/no project NOPE/) });
});

it('streams an answer as it comes', async () => {
  const gate = Promise.withResolvers<void>();
  planner.model.play(() => [{ text: 'first half, ' }, { gate: gate.promise }, { text: 'second half' }]);
  const person = sit();
  person.type('go\n');
  await person.sees('first half, ');
  expect(person.screen()).not.toContain('second half');
  gate.resolve();
  await person.sees('first half, second half\n');
});

it('reviews a proposal, tells of a missing reference, and applies with it', async () => {
  proposes('Review');
  const person = sit();
  person.type('plan it\n');
  await person.sees('2. create ticket "Review ticket" $t');
  await person.sees('4. link "Review ticket" blocks "Review other"');
  await person.sees('Apply [a]ll, numbers like 1,3-5, [r]eject, [s]kip?');
  person.type('2,4\n');
  await person.sees('Apply 1, 2, 3, 4 instead, with what they refer to?');
  person.type('y\n');
  await person.sees('Applied: 4 operations.');
  expect(await titles()).toContain('Review ticket');
});

it('an answer counts only when typed after its question: what came before is the next message\'s draft', async () => {
  const gate = Promise.withResolvers<void>();
  const n = planner.model.requests.length;
  const script = inTurn(calls('propose_changeset', proposal('Ahead')), says('Proposed.'));
  planner.model.play(async (request, at) => {
    await gate.promise;
    return script(request, at - n);
  });
  const person = sit();
  person.type('plan it\n');
  await planner.model.request(n);
  person.type('a\n');
  person.type('and then al');
  gate.resolve();
  await person.sees('(what you had typed is kept for your next message)');
  await person.sees('[s]kip? ');
  person.type('s\n');
  await person.sees('Skipped');
  const { items } = await rest.changesets('WEB', { limit: 1 });
  expect(items[0]).toMatchObject({ title: 'Plan Ahead', status: 'proposed' });
  await person.sees('> a\n… and then al');
  planner.model.play(() => says('Both lines came.'));
  person.type('so\n');
  await person.sees('Both lines came.');
  const { messages } = await rest.session((await rest.sessions('WEB', { limit: 1 })).items[0]!.id);
  expect(messages.at(-2)).toMatchObject({ role: 'user', blocks: [{ text: 'a\nand then also' }] });
});

it('several lines are no answer: they are kept for the next message, and the question is asked again', async () => {
  proposes('Lines');
  const person = sit();
  person.type('plan it\n');
  await person.sees('[s]kip? ');
  person.type('1\n2\n');
  await person.sees('(what you had typed is kept for your next message)\nApply [a]ll, numbers like 1,3-5, [r]eject');
  person.type('r\n');
  await person.sees('Rejected.\n\n> 1\n… 2');
  expect((await rest.changesets('WEB', { limit: 1 })).items[0]).toMatchObject({ status: 'rejected' });
});

it.each([
  ['marked by the terminal', '\u001b[200~', '\u001b[201~'],
  ['unmarked', '', ''],
])('on a terminal a pasted block, %s, is one message with its unfinished last line', async (_, begin, end) => {
  proposes('Pasted');
  const person = sitAtTerminal();
  await person.sees('> ');
  person.type(`${begin}Goal: pasted two\r- one\ra${end}`);
  await person.sees('- one');
  await new Promise((resolve) => setTimeout(resolve, 600));
  person.type('\r');
  await person.sees('[s]kip? ');
  const { messages } = await rest.session((await rest.sessions('WEB', { limit: 1 })).items[0]!.id);
  expect(messages[0]).toMatchObject({ blocks: [{ text: 'Goal: pasted two\n- one\na' }] });
  const { items } = await rest.changesets('WEB', { limit: 1 });
  expect(items[0]).toMatchObject({ title: 'Plan Pasted', status: 'proposed' });
  person.type('r\r');
  await person.sees('Rejected.');
  await person.leave();
});

it('says so when the model answers nothing', async () => {
  planner.model.play(() => [{ text: '' }]);
  const person = sit();
  person.type('go\n');
  await person.sees('(the model answered nothing; send again or ask differently)');
});

it('rejects a proposal', async () => {
  proposes('Reject');
  const person = sit();
  person.type('plan it\n');
  await person.sees('[s]kip?');
  person.type('r\n');
  await person.sees('Rejected.');
  const { items } = await rest.changesets('WEB', { limit: 1 });
  expect(items[0]).toMatchObject({ title: 'Plan Reject', status: 'rejected' });
});

it('offers to apply over an item that has changed since the proposal', async () => {
  const item = await rest.createItem('WEB', { kind: 'ticket', title: 'Before' });
  const made = await rest.proposeChangeset('WEB', {
    title: 'Rename',
    operations: [{ kind: 'update_item', update: { item: item.key, title: 'After' } }],
  });
  await rest.updateItem(item.key, { version: item.version, title: 'Between' });
  const person = sit();
  person.type(`/review ${made.id}\n`);
  await person.sees('(stale: changed since it was proposed)');
  await person.sees('title: "Between" -> "After"');
  await person.sees('[s]kip?');
  person.type('a\n');
  await person.sees('Apply all the same: 1 operation over the changed item?');
  person.type('y\n');
  await person.sees(`updated ${item.key}`);
  expect((await rest.item(item.key)).title).toBe('After');
});

it('cancels the turn on Ctrl-C, keeps what was said, and leaves on a second one', async () => {
  planner.model.play(() => [{ text: 'half of it' }, { hang: true }]);
  const person = sit();
  person.type('go\n');
  await person.sees('half of it');
  person.type('\u0003');
  await person.sees('(cancelled)');
  const { items } = await rest.sessions('WEB', { limit: 1 });
  const { messages } = await rest.session(items[0]!.id);
  expect(messages.at(-1)).toMatchObject({ stop_reason: 'cancelled', blocks: [{ text: 'half of it' }] });
  person.type('\u0003');
  expect(await person.left).toBe(0);
});

it('a pipe that is interrupted cancels its turn and ends with 1', async () => {
  planner.model.play(() => [{ text: 'half' }, { hang: true }]);
  const n = planner.model.requests.length;
  const running = start(['chat'], 'go\nnever sent\n');
  const request = await planner.model.request(n);
  running.child.kill('SIGINT');
  expect(await running.result).toMatchObject({ code: 1, err: expect.stringContaining('(cancelled)') });
  expect(request.closedAt).toBeGreaterThan(0);
  expect(planner.model.requests).toHaveLength(n + 1);
});

it('leaves at once on Ctrl-C twice, though the API does not answer', async () => {
  const proxy = await startProxy(Number(new URL(api.address).port));
  const person = sit({ address: proxy.address });
  await person.sees('new session');
  proxy.cut();
  await proxy.close();
  person.type('go\n');
  await person.sees('(the connection to the planner is lost; connecting again …)');
  person.type('\u0003');
  await person.sees('Ctrl-C again');
  person.type('\u0003');
  expect(await person.left).toBe(0);
});

it('shows that text of a failed attempt is void', async () => {
  const n = planner.model.requests.length;
  planner.model.play((_, at) => (at === n ? [{ text: 'half an ans' }, { wait: 200 }, { cut: true }] : says('whole')));
  const person = sit();
  person.type('go\n');
  await person.sees('whole\n');
  expect(person.screen()).toMatch(/half an ans\n─── the unfinished answer above is void.*\n… .*attempt 2\)\nwhole\n/);
});

it('goes on with a session: its last messages, and the turn that runs', async () => {
  const session = await planner.session();
  planner.model.play(() => says('Earlier answer.'));
  await planner.ended(await planner.send(session, 'Earlier question.'));
  const gate = Promise.withResolvers<void>();
  planner.model.play(() => [{ text: 'Now ' }, { gate: gate.promise }, { text: 'and then.' }]);
  await planner.send(session, 'Running question.');
  const person = sit({ session });
  await person.sees('> Earlier question.\nEarlier answer.\n> Running question.\nNow ');
  gate.resolve();
  await person.sees('Now and then.\n');
});

it('says that the connection is lost, and resumes in mid-answer without gap or repetition', async () => {
  const proxy = await startProxy(Number(new URL(api.address).port));
  const words = ['two', 'three', 'four', 'five'];
  const gates = words.map(() => Promise.withResolvers<void>());
  const rest = words.flatMap((word, index) => [{ gate: gates[index]!.promise }, { text: `${word} ` }]);
  planner.model.play(() => [{ text: 'one ' }, ...rest]);
  const person = sit({ address: proxy.address });
  person.type('count\n');
  await person.sees('one ');
  for (const [index, gate] of gates.entries()) {
    if (index % 2 === 0) proxy.cut();
    gate.resolve();
    await person.sees(words[index]!);
  }
  await until('the end', async () => person.screen().trimEnd().endsWith('>'));
  expect(person.screen()).toContain('(the connection to the planner is lost; connecting again …)');
  expect(person.screen()).toContain('(connected again)');
  const said = person.screen().match(/\b(one|two|three|four|five) /g)!.map((word) => word.trim());
  expect(said).toEqual(['one', 'two', 'three', 'four', 'five']);
  await person.leave();
  await proxy.close();
});

it('knows its commands', async () => {
  const seen = { kind: 'ticket' as const, title: 'Looked at', acceptance_criteria: ['it is seen'] };
  const item = await rest.createItem('WEB', seen);
  const person = sit();
  person.type('/help\n');
  await person.sees('/review [ID]');
  person.type('/items\n');
  await person.sees('Looked at');
  person.type(`/item ${item.key}\n`);
  await person.sees('- it is seen');
  person.type('/sessions\n');
  await person.sees('/resume goes on in one.');
  person.type('/changesets\n');
  await person.sees('operations  title');
  person.type('/nonsense\n');
  await person.sees('There is no command /nonsense');
  person.type(`/item ${item.key} extra\n`);
  await person.sees('✗ Usage: /item KEY\n');
  person.type('/quit\n');
  expect(await person.left).toBe(0);
});

it('`planner status` lists turns with their workflows and links', async () => {
  const { code, out } = await run(['status', '--limit', '3']);
  expect(code).toBe(0);
  expect(out).toMatch(/^project +status +rounds +tokens +age +title +session +workflow\n/);
  expect(out).toMatch(/planner-turn-[0-9a-f-]{36}/);
  expect(out).toContain(`http://127.0.0.1:8233/namespaces/${planner.temporal.namespace}/workflows/planner-turn-`);
  const json = JSON.parse((await run(['status', '--limit', '1', '--json'])).out) as { items: object[] };
  expect(json.items).toEqual([expect.objectContaining({ project: 'WEB', status: 'ended' })]);
});

it('`planner items` lists the items', async () => {
  const { code, out } = await run(['items', '--kind', 'epic']);
  expect(code).toBe(0);
  expect(out).toMatch(/WEB-\d+ +epic +open .*Pipe epic/);
  expect(out).not.toContain('Pipe ticket');
  expect((await run(['items', '--kind', 'story'])).code).toBe(1);
});

it('`planner token` makes, lists and revokes; a token is shown once', async () => {
  const options = ['--expires', '1h', '--label', 'test', '--action', 'tracker.read'];
  const made = await run(['token', 'create', '--subject', 'ada', ...options]);
  expect(made.code).toBe(0);
  const [fresh = ''] = made.out.split('\n');
  expect(fresh).toMatch(/^plt_/);
  expect(await createRest({ address: api.address, token: fresh }).me()).toMatchObject({ subject: 'ada' });
  const listed = await run(['token', 'list', '--subject', 'ada']);
  expect(listed.out).toMatch(/valid .* tracker\.read +test/);
  expect(listed.out).not.toContain(fresh.slice(4));
  const [, id = ''] = /Token (\S+) speaks/.exec(made.out) ?? [];
  expect((await run(['token', 'revoke', id])).code).toBe(0);
  await expect(createRest({ address: api.address, token: fresh }).me()).rejects.toMatchObject({ status: 401 });
  expect((await run(['token', 'list'])).out).toMatch(new RegExp(`${id} +ada +revoked`));
});

it('`planner token create` says how to make an unknown subject known', async () => {
  const unknown = await run(['token', 'create', '--subject', 'grace']);
  expect(unknown).toMatchObject({ code: 1, err: expect.stringContaining('--new human') });
  const grace = await run(['token', 'create', '--subject', 'grace', '--new', 'human']);
  expect(grace.out).toMatch(/^plt_\S+\n[^]*grace has no role yet and may do nothing\. Add --role/);
  const stranger = await run(['chat'], 'go\n', { PLANNER_TOKEN: grace.out.split('\n')[0]! });
  expect(stranger).toMatchObject({ code: 2, err: expect.stringContaining('"planner token create --subject S --role') });
  expect((await run(['token', 'create', '--subject', 'ada', '--expires', 'soon'])).code).toBe(2);
  expect((await run(['token', 'create', '--subject', 'ada', '--action', 'fly'])).err).toContain('Unknown actions: fly');
});

it('`planner token create --role` makes a token that can do something', async () => {
  const create = (...more: string[]): Promise<Result> => run(['token', 'create', '--subject', 'lin', ...more]);
  const made = await create('--new', 'human', '--role', 'engineer', '--project', 'WEB');
  expect(made.out).toMatch(/^plt_/);
  expect(made.out).not.toContain('no role');
  const [fresh = ''] = made.out.split('\n');
  expect((await createRest({ address: api.address, token: fresh }).me()).projects).toMatchObject([{ key: 'WEB' }]);
  expect((await create('--role', 'engineer', '--project', 'WEB')).code).toBe(0);
  expect(await create('--role', 'engineer')).toMatchObject({
    code: 2,
    err: 'planner: The role engineer needs --organization KEY or --project KEY.\n',
  });
  expect(await create('--role', 'king')).toMatchObject({ code: 2, err: expect.stringContaining('platform-admin') });
  expect(await create('--role', 'viewer', '--project', 'NOPE')).toMatchObject({
    code: 1,
    err: expect.stringContaining('no project "NOPE"'),
  });
  expect((await run(['token', 'create', '--help'])).out).toContain('(default: 90d)');
});
