// What the demo model writes: tables, explanations, next steps. Markdown.

import type { Proposal } from './proposal.ts';
import { sameTitle } from './text.ts';

/** Ends every finished answer. */
export const demoMark = '_— demo model: it plans by fixed rules, without understanding._';

export const marked = (text: string): string => `${text.trim()}\n\n${demoMark}`;

export const introduction = `I am the **built-in demo model**. I understand nothing:
I turn goals, headings and lists into a plan by fixed rules.

Try a goal with a list, such as:

\`\`\`
Plan the launch of our web shop:
1. Product catalogue, so that visitors find what we sell
2. Shopping cart
3. Checkout with card payment
- Load test before checkout
\`\`\`

Or ask **what is ready**, **list the tickets**, **show** and an item's key, or **which changesets are open**.

For real planning set a model and start again:
\`PLANNER_MODEL_BASE_URL\` (an OpenAI-compatible address), \`PLANNER_MODEL_API_KEY\`, \`PLANNER_MODEL\`.`;

const cell = (value: unknown): string => String(value ?? '').replaceAll('|', '\\|').replace(/\s+/g, ' ');

function table(head: readonly string[], rows: readonly (readonly unknown[])[]): string {
  const lines = [head, head.map(() => '---'), ...rows].map((row) => `| ${row.map(cell).join(' | ')} |`);
  return lines.join('\n');
}

const maxRows = 50;

export function itemTable(items: readonly Record<string, unknown>[]): string {
  const rows = items.slice(0, maxRows).map(({ key, kind, title, state, epic, milestone }) => {
    return [key, kind, title, state, epic ?? milestone];
  });
  const more = items.length > maxRows ? `\n\n... and ${items.length - maxRows} more.` : '';
  return table(['key', 'kind', 'title', 'state', 'part of'], rows) + more;
}

export function changesetTable(changesets: readonly Record<string, unknown>[]): string {
  const operations = (value: unknown): unknown => (Array.isArray(value) ? value.length : value);
  const rows = changesets.slice(0, maxRows).map((one) => [one.id, one.title, one.status, operations(one.operations)]);
  return table(['changeset', 'title', 'status', 'operations'], rows);
}

export function itemDetails(item: Record<string, unknown>): string {
  const lines = [`### ${cell(item.key)}: ${cell(item.title)}`, '', `${cell(item.kind)}, ${cell(item.state)}`];
  if (typeof item.description === 'string' && item.description !== '') lines.push('', item.description);
  if (Array.isArray(item.acceptance_criteria) && item.acceptance_criteria.length > 0) {
    lines.push('', 'Accepted when:', ...item.acceptance_criteria.map((text) => `- ${cell(text)}`));
  }
  for (const [name, edges] of Object.entries((item.dependencies ?? {}) as Record<string, unknown>)) {
    const keys = Array.isArray(edges) ? edges.map((edge: { key?: unknown }) => cell(edge.key)) : [];
    if (keys.length > 0) lines.push('', `${name.replaceAll('_', ' ')}: ${keys.join(', ')}`);
  }
  return lines.join('\n');
}

export function planTable({ items }: Proposal): string {
  const name = (item: Proposal['items'][number]): string => (item.known ? item.known.key : item.title);
  return table(
    ['#', 'kind', 'title', 'part of', 'comes after'],
    items.map((item, i) => [
      i + 1,
      item.kind,
      item.known ? `${item.title} (${item.known.key}, there already)` : item.title,
      item.parent ? name(item.parent) : '',
      item.blockedBy.map(name).join(', '),
    ]),
  );
}

/** `waiting`: the changesets that were undecided before this one. */
export function proposedAnswer(
  proposal: Proposal,
  changeset: string,
  waiting: readonly Record<string, unknown>[],
): string {
  const twins = waiting.filter((one) => sameTitle(String(one.title)) === sameTitle(proposal.input.title));
  const notes = [
    ...proposal.remarks,
    ...twins.map(({ id }) => `Changeset ${cell(id)} of the same title is waiting already: reject one of them.`),
  ];
  const count = proposal.input.operations.length;
  return [
    `I proposed **${cell(proposal.input.title)}**: ${count} ${count === 1 ? 'operation' : 'operations'}.`,
    ...(proposal.items.length > 0 ? [planTable(proposal)] : []),
    ...(notes.length > 0 ? [notes.map((note) => `- ${note}`).join('\n')] : []),
    `**Next:** review changeset \`${changeset}\` and apply it, whole or in part. Nothing has changed yet.`,
  ].join('\n\n');
}

export function nothingNewAnswer(proposal: Proposal): string {
  return `All of that is in the tracker already; there is nothing to propose.\n\n${planTable(proposal)}`;
}

export function failedAnswer(what: string, said: string): string {
  const quoted = said.split('\n').slice(0, 12).map((line) => `> ${line.slice(0, 400)}`).join('\n');
  const advice = 'Nothing has changed. Change the request, or check your rights, and send it again.';
  return `I could not ${what}. The planner answered:\n\n${quoted}\n\n${advice}`;
}

/** Asked without tools after a long talk: what was said, in short. */
export function digest(said: readonly string[]): string {
  const lines = said.slice(-20).map((text) => `- ${text.replace(/\s+/g, ' ').slice(0, 300)}`);
  return `The human asked for:\n${lines.join('\n')}`;
}
