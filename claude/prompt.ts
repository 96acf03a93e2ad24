// What the CLI gets on stdin: our own sentences, then the packet (spec: bounded-claude 4 and 5).

import { planSections, planTitle } from '../domain/bounded/plan.ts';

export type PromptKind =
  | { kind: 'fresh' }
  /** `held`: the session holds the packet, so it need not be sent again. */
  | { kind: 'resume'; held: boolean };

const contract = [
  `Answer with one complete plan in Markdown and nothing else. Its first line is \`# ${planTitle}\`, without anything`,
  'before it and without a code fence around it. Then come exactly these level-2 sections, in this order, none empty:',
  `${planSections.map((name) => `\`## ${name}\``).join(', ')}.`,
  'Headings are written exactly so, with `#` at the margin. Use no tools: there are none. Reason only over the packet;',
  'say what it does not tell instead of guessing, and repeat no secret.',
].join('\n');

/**
 * The prompt of an attempt. It begins with our own sentence, whatever the packet begins with: a prompt that starts with
 * `/name` would run a command of the CLI, locally. A resume asks for the complete plan again: a mere continuation could
 * never be valid.
 */
export function promptFor(prompt: PromptKind, packet: string): string {
  if (prompt.kind === 'fresh') {
    const begin = 'You plan from one bounded packet, which follows after the line of dashes.';
    return `${begin}\n${contract}\n\n----\n\n${packet}`;
  }
  const again = [
    'Your answer was cut off before it was complete, and what came of it is lost.',
    `Put out the complete plan again from its first line \`# ${planTitle}\`; do not continue where it broke off.`,
    contract,
  ].join('\n');
  return prompt.held ? `${again}\n` : `${again}\nThe packet follows after the line of dashes.\n\n----\n\n${packet}`;
}
