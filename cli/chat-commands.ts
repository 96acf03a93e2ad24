// The chat's slash commands.

import type { Chat } from './chat.ts';
import { age, clean, cleanLine, indent, plural, table } from './print.ts';

interface Command {
  name: string;
  usage: string;
  help: string;
  run(chat: Chat, argument: string): Promise<void>;
}

const listed = 30;

const commands: readonly Command[] = [
  { name: 'changesets', usage: '/changesets', help: 'the newest changesets and their fate', run: changesets },
  { name: 'review', usage: '/review [ID]', help: 'decide on a changeset (the newest undecided one)', run: review },
  { name: 'items', usage: '/items [KIND]', help: 'the project\'s items: milestone, epic, ticket or all', run: items },
  { name: 'item', usage: '/item KEY', help: 'one item with its dependencies', run: item },
  { name: 'sessions', usage: '/sessions', help: 'the newest sessions', run: sessions },
  { name: 'resume', usage: '/resume ID', help: 'go on in a session (also by its number in /sessions)', run: resume },
  { name: 'new', usage: '/new', help: 'begin a new session', run: async (chat) => chat.fresh() },
  { name: 'help', usage: '/help', help: 'this list', run: help },
  { name: 'quit', usage: '/quit', help: 'leave (also Ctrl-C twice, Ctrl-D)', run: async () => undefined },
];

/** Errors: the client's. */
export async function runCommand(chat: Chat, line: string): Promise<'quit' | undefined> {
  const [, name = '', argument = ''] = /^\/(\S*)\s*([^]*)$/.exec(line.trim()) ?? [];
  if (name === 'quit' || name === 'exit') return 'quit';
  const command = commands.find((each) => each.name === name);
  if (command && tooMany(command, argument)) chat.fail(`Usage: ${command.usage}`);
  else if (command) await command.run(chat, argument.trim());
  else chat.fail(`There is no command /${cleanLine(name, 30)}; /help lists them. A space before it sends a slash.`);
  return undefined;
}

function tooMany({ usage }: Command, argument: string): boolean {
  const words = (text: string): number => text.split(/\s+/).filter((word) => word !== '').length;
  return words(argument) > words(usage) - 1;
}

async function help(chat: Chat): Promise<void> {
  const rows = commands.map((each) => [each.usage, each.help]);
  chat.show(table(['command', 'what it does'], rows));
}

async function changesets(chat: Chat): Promise<void> {
  const { items: rows } = await chat.rest.changesets(chat.project, { limit: listed });
  if (rows.length === 0) return chat.say('No changesets yet.');
  const shown = rows.map((row) => [
    row.id,
    row.status,
    row.status === 'applied' ? `${row.approved} of ${row.operations}` : String(row.operations),
    cleanLine(row.title, 80),
  ]);
  chat.show(table(['changeset', 'status', 'operations', 'title'], shown));
}

async function review(chat: Chat, id: string): Promise<void> {
  if (id !== '') return chat.review(id);
  const { items: rows } = await chat.rest.changesets(chat.project, { status: 'proposed', limit: 1 });
  if (rows[0]) await chat.review(rows[0].id);
  else chat.say('No changeset waits for a decision.');
}

async function items(chat: Chat, kind: string): Promise<void> {
  const kinds = ['milestone', 'epic', 'ticket'] as const;
  const wanted = kinds.find((each) => each === kind.replace(/s$/, ''));
  if (kind !== '' && kind !== 'all' && !wanted) return chat.fail(`A kind is one of ${kinds.join(', ')}.`);
  const page = await chat.rest.items(chat.project, { limit: 200, ...(wanted ? { kind: wanted } : {}) });
  if (page.items.length === 0) return chat.say('No items.');
  const rows = page.items.map((row) => [
    row.key,
    row.kind,
    row.state,
    row.epic ?? row.milestone ?? '',
    cleanLine(row.title, 80),
  ]);
  chat.show(table(['key', 'kind', 'state', 'in', 'title'], rows));
  if (page.next) chat.say(chat.style.dim(`The first ${page.items.length} items; "planner items" lists all.`));
}

async function item(chat: Chat, key: string): Promise<void> {
  if (key === '') return chat.fail('Name an item: /item KEY.');
  const found = await chat.rest.item(key.toUpperCase());
  const { blocks, blocked_by, relates } = found.dependencies;
  const linked = (how: string, others: typeof blocks): string[] =>
    others.map((each) => `${how} ${each.key} "${cleanLine(each.title, 80)}" (${each.state})`);
  const links = [...linked('blocked by', blocked_by), ...linked('blocks', blocks), ...linked('relates to', relates)];
  const within = [found.epic && `epic ${found.epic}`, found.milestone && `milestone ${found.milestone}`];
  const facts = [found.kind, found.type, found.state, ...within];
  const lines = [
    `${chat.style.cyan(found.key)} ${chat.style.bold(cleanLine(found.title, 300))}`,
    `  ${facts.filter((fact) => fact).join(' · ')} · version ${found.version}`,
    ...(found.description.trim() === '' ? [] : [indent(clean(found.description).trim(), '  ')]),
    ...(found.acceptance_criteria ?? []).map((each) => `  - ${cleanLine(each, 300)}`),
    ...links.map((link) => `  ${link}`),
  ];
  chat.show(lines.join('\n'));
}

async function sessions(chat: Chat): Promise<void> {
  const { items: rows } = await chat.rest.sessions(chat.project, { limit: listed });
  if (rows.length === 0) return chat.say('No sessions yet.');
  const now = Date.now();
  const shown = rows.map((row, index) => [
    String(index + 1),
    row.id,
    age(row.updated_at, now),
    row.running ? 'running' : row.archived ? 'archived' : '',
    cleanLine(row.title, 60),
  ]);
  chat.show(table(['no.', 'session', 'age', '', 'title'], shown));
  chat.say(chat.style.dim(`${plural(rows.length, 'session')}; /resume goes on in one.`));
}

async function resume(chat: Chat, which: string): Promise<void> {
  if (which === '') return chat.fail('Name a session: /resume ID, or its number in /sessions.');
  if (!/^\d{1,3}$/.test(which)) return chat.resume(which);
  const { items: rows } = await chat.rest.sessions(chat.project, { limit: listed });
  const row = rows[Number(which) - 1];
  if (row) await chat.resume(row.id);
  else chat.fail(`There is no session number ${which}. /sessions lists them.`);
}
