// The demo model's rules: what to do next in a conversation. Pure and deterministic: the same request, the same reply.

import { isObject } from '../json.ts';
import * as answers from './answers.ts';
import { type Conversation, type Finding, type Reply, rowsOf } from './conversation.ts';
import { hasStructure, outlineOf } from './outline.ts';
import { type Known, type Operation, type Proposal, proposalOf } from './proposal.ts';
import { cleanTitle, itemKeys, namesGoal } from './text.ts';

const pageSize = 100;
const maxPages = 10;

const says = (text: string): Reply => ({ text: answers.marked(text), calls: [] });
const does = (text: string, ...calls: Reply['calls']): Reply => ({ text, calls });

export function replyTo(conversation: Conversation): Reply {
  const { human, tools, said, toSummarize } = conversation;
  if (toSummarize || (tools.size === 0 && said.length > 1)) return says(answers.digest(said));
  const edit = editIn(human);
  if (edit) return propose(conversation, edit, 'I turn that into a changeset.');
  const structure = hasStructure(human);
  if (!structure) {
    const question = questionIn(human);
    if (question) return look(conversation, question);
  }
  if (structure || (namesGoal(human) && !smallTalk.test(human.trim()))) return plan(conversation);
  return says(answers.introduction);
}

const smallTalk =
  /^(?:how are you|who are you|what are you|what can you do|what model|thanks?|thank you|hi|hello|hey)\b[^]{0,40}$/i;

// Questions

interface Question {
  tool: string;
  inputs: Record<string, unknown>[];
  answer(values: unknown[]): string;
}

const asks = new RegExp(
  '\\?\\s*$|^\\s*(?:what|which|show|list|how many|how far|where|who|is|are|do|does|tell me|status|overview|next|' +
    'give me (?:a |the )?(?:list|overview|status))\\b',
  'i',
);

/** A wish in the form of a question. */
const requests = new RegExp(
  '^(?:(?:can|could|would|will) you\\s+)?(?:please\\s+)?(?:help (?:me|us)\\s+)?' +
    '(?:plan|build|create|add|make|implement|develop|design|set up|draft|propose|prepare|organi[sz]e)\\b',
  'i',
);
const wantsList =
  /\b(?:list|show|status|overview|items?|tickets?|epics?|milestones?|tasks?|plan|tracker|backlog|done|open)\b/i;

function questionIn(human: string): Question | undefined {
  const text = human.trim();
  if (!asks.test(text) || requests.test(text) || text.length > 500) return undefined;
  const keys = itemKeys(text).slice(0, 5);
  if (keys.length > 0) return { tool: 'get_item', inputs: keys.map((key) => ({ key })), answer: detailsAnswer };
  if (/\bchange ?sets?\b|\bproposals?\b/i.test(text)) {
    return { tool: 'list_changesets', inputs: [{}], answer: changesetsAnswer };
  }
  if (/\b(?:ready|runnable|next|start with|startable|unblocked|work on|begin)\b/i.test(text)) {
    return { tool: 'list_runnable', inputs: [{}], answer: runnableAnswer };
  }
  if (wantsList.test(text)) {
    return { tool: 'list_items', inputs: [filterIn(text)], answer: (values) => listAnswer(values, filterIn(text)) };
  }
  return undefined;
}

function filterIn(text: string): Record<string, unknown> {
  const kind = /\b(milestone|epic|ticket)s?\b/i.exec(text)?.[1]?.toLowerCase();
  const state = /\b(backlog|ready|paused|done|cancelled|open)\b/i.exec(text)?.[1]?.toLowerCase();
  const filter: Record<string, unknown> = { limit: pageSize };
  if (kind) filter.kind = kind;
  if (state && !(state === 'open' && kind !== 'epic' && kind !== 'milestone')) filter.state = state;
  return filter;
}

function look(conversation: Conversation, question: Question): Reply {
  if (!conversation.tools.has(question.tool)) {
    return says(`I would need the tool ${question.tool}, and it is not on offer here.`);
  }
  const found = conversation.findings.filter((finding) => finding.tool === question.tool);
  if (found.length === 0) {
    return does('Let me look.', ...question.inputs.map((input) => ({ name: question.tool, input })));
  }
  const failed = found.filter((finding) => finding.value === undefined);
  const good = found.filter((finding) => finding.value !== undefined).map((finding) => finding.value);
  const parts = [
    ...(good.length > 0 ? [question.answer(good)] : []),
    ...failed.map((finding) => answers.failedAnswer(`call ${finding.tool}`, finding.text)),
  ];
  return says(parts.join('\n\n'));
}

const detailsAnswer = (values: unknown[]): string => values.filter(isObject).map(answers.itemDetails).join('\n\n');

function runnableAnswer(values: unknown[]): string {
  const items = values.flatMap(rowsOf);
  if (items.length === 0) {
    return (
      'No ticket is ready to run: none is in state `ready` without open blockers. ' +
      'Move one from `backlog` to `ready`.'
    );
  }
  return `**${items.length} ready to run**, the first one next:\n\n${answers.itemTable(items)}`;
}

function changesetsAnswer(values: unknown[]): string {
  const changesets = values.flatMap(rowsOf);
  if (changesets.length === 0) return 'There are no changesets yet. Tell me a goal and I propose one.';
  const open = changesets.filter((one) => one.status === 'proposed').length;
  return `**${open} waiting for a decision**, ${changesets.length} in all:\n\n${answers.changesetTable(changesets)}`;
}

function listAnswer(values: unknown[], filter: Record<string, unknown>): string {
  const items = values.flatMap(rowsOf);
  const what = `${String(filter.state ?? '')} ${filter.kind ? `${String(filter.kind)}s` : 'items'}`.trim();
  if (items.length === 0) return `There are no ${what}. Tell me a goal and I propose a plan.`;
  const more = values.some((value) => isObject(value) && value.next !== undefined) ? ' (the first page)' : '';
  return `**${items.length} ${what}**${more}:\n\n${answers.itemTable(items)}`;
}

// Plans

function plan(conversation: Conversation): Reply {
  const { tools, findings, human } = conversation;
  const pages = findings.filter((finding) => finding.tool === 'list_items');
  if (tools.has('list_items')) {
    if (pages.length === 0) {
      const calls: Reply['calls'] = [{ name: 'list_items', input: { limit: pageSize } }];
      if (tools.has('list_changesets')) calls.push({ name: 'list_changesets', input: { status: 'proposed' } });
      return does('First a look at the tracker.', ...calls);
    }
    const last = pages.at(-1);
    if (last && last.value === undefined) return says(answers.failedAnswer('read the tracker', last.text));
    const next = nextPage(last);
    const proposed = findings.some((finding) => finding.tool === 'propose_changeset');
    if (next !== undefined && pages.length < maxPages && !proposed) {
      return does('', { name: 'list_items', input: { limit: pageSize, after: next } });
    }
  }
  const known = pages.flatMap((page) => rowsOf(page.value)).flatMap(knownOf);
  const proposal = proposalOf(outlineOf(human), known);
  if (proposal.items.length === 0) return says(answers.introduction);
  return propose(conversation, proposal, 'Now I propose a changeset.');
}

function propose(conversation: Conversation, proposal: Proposal, lead: string): Reply {
  const { findings, tools } = conversation;
  const done = findings.find((finding) => finding.tool === 'propose_changeset');
  if (done) {
    if (done.value === undefined) return says(answers.failedAnswer('propose the changeset', done.text));
    const waiting = findings.filter((finding) => finding.tool === 'list_changesets');
    const rows = waiting.flatMap((finding) => rowsOf(finding.value));
    return says(answers.proposedAnswer(proposal, changesetId(done), rows));
  }
  if (proposal.input.operations.length === 0) return says(answers.nothingNewAnswer(proposal));
  if (!tools.has('propose_changeset')) {
    return says(`I can't propose changesets here, so this is a sketch only:\n\n${answers.planTable(proposal)}`);
  }
  return does(lead, { name: 'propose_changeset', input: { ...proposal.input } });
}

function changesetId(finding: Finding): string {
  const value = isObject(finding.value) ? (finding.value.changeset ?? finding.value.id) : undefined;
  return isObject(value) ? String(value.id) : String(value ?? 'the newest one');
}

function nextPage(page: Finding | undefined): string | undefined {
  const next = page && isObject(page.value) ? page.value.next : undefined;
  return typeof next === 'string' && next !== page?.input.after ? next : undefined;
}

function knownOf(row: Record<string, unknown>): Known[] {
  const { key, kind, title } = row;
  if (typeof key !== 'string' || typeof kind !== 'string' || typeof title !== 'string') return [];
  const known: Known = { key, kind, title };
  for (const field of ['state', 'epic', 'milestone'] as const) {
    const value = row[field];
    if (typeof value === 'string') known[field] = value;
  }
  return [known];
}

// Edits of what is there: "rename WEB-3 to ...", "WEB-4 depends on WEB-2"

const key = '([A-Z][A-Z0-9]{1,9}-[1-9]\\d{0,8})';
const renames = new RegExp(`\\brename\\s+${key}\\s+to\\s+["“]?(.+?)["”]?\\s*[.!]?$`, 'i');
const blocks = new RegExp(`\\b${key}\\s+(?:blocks|before|must come before|comes before)\\s+${key}\\b`, 'i');
const follows = new RegExp(
  `\\b${key}\\s+(?:depends on|is blocked by|after|must come after|comes after|needs|requires)\\s+${key}\\b`,
  'i',
);

function editIn(human: string): Proposal | undefined {
  const operations: Operation[] = [];
  const lines = human.split('\n').map((line) => line.trim()).filter((line) => line !== '');
  for (const line of lines) {
    const rename = renames.exec(line);
    const block = blocks.exec(line);
    const follow = follows.exec(line);
    if (/\?\s*$/.test(line)) return undefined;
    if (rename) {
      const update = { item: upper(rename[1]), title: cleanTitle(rename[2] ?? '') };
      operations.push({ kind: 'update_item', update });
    } else if (block) operations.push(edge(block[1], block[2]));
    else if (follow) operations.push(edge(follow[2], follow[1]));
    else return undefined;
  }
  if (operations.length === 0 || operations.length > 200) return undefined;
  const title = cleanTitle(lines[0] ?? '');
  const summary = 'As asked for. Read by fixed rules of the built-in demo model.';
  return { input: { title, summary, operations }, items: [], remarks: [] };
}

const upper = (text: string | undefined): string => (text ?? '').toUpperCase();

function edge(from: string | undefined, to: string | undefined): Operation {
  return { kind: 'add_dependency', dependency: { from: upper(from), to: upper(to), type: 'blocks' } };
}
