// recovery.md: how to go on after a failed run (spec: bounded-claude 5 and 7), and what a resume sends.

import { automaticResume, failureSentences, type FailureKind } from './failures.ts';
import { defaultBudget, highestBudget } from './limits.ts';
import { planTitle } from './plan.ts';

export interface RecoveryFacts {
  run_id: string;
  repo: string;
  host: string;
  role: string;
  packet: string;
  model: string;
  effort: string;
  session_id: string;
  failure_kind: FailureKind;
  failure_detail: string;
  /** Attempts made, the automatic ones among them. */
  attempts: number;
  /** USD in all, null when unknown. */
  total_cost_usd: number | null;
  /** True when the cost is an estimate. */
  estimated: boolean;
  budget_usd: number;
  /** USD left for a resume; null when too little is left. */
  budget_left_usd: number | null;
  has_checkpoint: boolean;
  /** The run was allowed an identity that is not verified. */
  allow_unverified: boolean;
  /** A script answered. */
  demo: boolean;
  /** True when the plan is finished and kept, and only its file could not be created. */
  finished: boolean;
}

/** The text of recovery.md. Details must be redacted already. */
export function recoveryText(facts: RecoveryFacts): string {
  const cost = facts.total_cost_usd === null ? 'unknown' : `${facts.total_cost_usd.toFixed(4)} USD`;
  const guess = facts.estimated ? ' (estimated, the CLI reported no result)' : '';
  return `# Recovery of ${facts.run_id}

## What failed

- Kind: \`${facts.failure_kind}\`. ${sentence(facts)}
- Detail: ${facts.failure_detail}
- Attempts: ${facts.attempts}. ${kept(facts)}

## What it cost

- Spent: ${cost}${guess}, of a budget of ${facts.budget_usd} USD.

## How to go on

${advice(facts)}

## What was not and will not be done

The run used ${facts.model} at effort ${facts.effort}, as ${facts.role} on ${facts.host} is configured.
No other role or model was used, and none will be without approval. To approve another role for this run:

    ${command(facts, ['--resume', facts.run_id, '--approve-role', 'ROLE', '--approval', '"who, why"'])}
`;
}

/** The kind in words; of a host that was there and could not do its part, nothing says that nobody took the run. */
function sentence({ failure_kind, failure_detail, finished }: RecoveryFacts): string {
  if (failure_kind !== 'host_unavailable') return failureSentences[failure_kind];
  if (finished) return 'The plan is finished, but its file could not be created.';
  const absent = failure_detail === failureSentences.host_unavailable;
  return absent ? failureSentences[failure_kind] : "The repository's host could not do its part.";
}

function kept({ has_checkpoint, finished, run_id }: RecoveryFacts): string {
  if (finished) return `PostgreSQL keeps the whole plan: \`partner artifacts ${run_id} checkpoint.md\`.`;
  return has_checkpoint ? 'checkpoint.md keeps the visible text so far.' : 'No visible text came.';
}

function advice(facts: RecoveryFacts): string {
  const resume = `    ${command(facts, ['--resume', facts.run_id])}`;
  const again = (budget: number): string => `    ${command(facts, freshFlags(facts, budget))}`;
  const fresh = again(facts.budget_usd);
  const session = `The session is ${facts.session_id}.`;
  if (facts.finished) {
    return 'Mend what the detail names, then resume. The plan is paid: the resume only creates its file, starts no CLI '
      + `and costs nothing:\n\n${resume}`;
  }
  switch (facts.failure_kind) {
    case 'session_lost':
      return `The conversation can't be resumed: ${session} Start a fresh run:\n\n${fresh}`;
    case 'budget_exceeded':
      return facts.budget_usd < highestBudget
        ? `${spent} Start a fresh run with a larger budget, or with a smaller packet:\n\n${again(larger(facts))}`
        : `${spent} The budget is the largest there is. Start a fresh run with a smaller packet:\n\n${fresh}`;
    case 'authentication':
      return `Log in (\`claude\`, then \`/login\`) or set the credentials, check with \`partner doctor\`, `
        + `then resume. ${session}\n\n${resume}`;
    case 'identity_mismatch':
      return `Configure the model in full (\`partner config set --host ${facts.host} --role ${facts.role} `
        + `--model MODEL\`), verify it (\`partner verify --host ${facts.host} --role ${facts.role}\`), `
        + `then start a fresh run:\n\n${fresh}`;
    case 'refusal':
    case 'tool_use_violation':
      return `Change the packet so that it asks for reasoning over its own evidence only, `
        + `then start a fresh run:\n\n${fresh}`;
    case 'claude_error':
      return `Read the detail; a packet that is too long must be split. Then start a fresh run:\n\n${fresh}`;
    default:
      if (facts.budget_left_usd === null) return `${spent} Start a fresh run:\n\n${fresh}`;
      return `${session} Resume it${usedUp(facts.failure_kind)}; `
        + `${facts.budget_left_usd.toFixed(2)} USD are left:\n\n${resume}`;
  }
}

/** Whole USD: twice the budget, or what was spent and half as much again, whichever is more. */
const larger = ({ budget_usd, total_cost_usd }: RecoveryFacts): number =>
  Math.min(highestBudget, Math.max(1, Math.ceil(Math.max(2 * budget_usd, 1.5 * (total_cost_usd ?? 0)))));

/** What a fresh run needs to be like this one. */
const freshFlags = ({ allow_unverified, demo }: RecoveryFacts, budget: number): string[] => [
  ...(budget === defaultBudget ? [] : ['--max-budget-usd', String(budget)]),
  ...(allow_unverified ? ['--allow-unverified'] : []),
  ...(demo ? ['--demo'] : []),
];

const spent = 'Too little of the budget is left for a resume.';

const usedUp = (kind: FailureKind): string =>
  automaticResume[kind] === 'resume' ? ' (the automatic resumes are used up)' : '';

function command(facts: RecoveryFacts, more: string[]): string {
  const words = ['partner', 'plan', '--repo', quoted(facts.repo), '--host', facts.host, '--role', facts.role];
  return [...words, '--packet', quoted(facts.packet), ...more].join(' ');
}

/** An argument as a POSIX shell takes it. */
const quoted = (text: string): string => (/^[\w./:@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);

/** Our own first sentence of every prompt: a prompt that begins with `/name` would run a command locally. */
export const promptOpening =
  'You are planning from the packet below and nothing else: there are no tools and no files to look at.';

const form = `Begin with \`# ${planTitle}\` and write these level-2 sections in this order, none empty: Goal, `
  + 'Non-goals, Current-State Evidence, File Scope, Steps, Risks, Acceptance Checks, Rollback. Write nothing before '
  + 'the title, and put no fence around the whole.';

/** The prompt of a fresh run. */
export const planPrompt = (packet: string): string => `${promptOpening} ${form}\n\n${packet}`;

/**
 * The prompt of a resume: the whole plan again; the packet again if the session holds none (spec: bounded-claude 5).
 */
export function resumePrompt(packet: string | undefined): string {
  const ask = 'Your last answer was cut off. Put out the complete plan again, '
    + `from \`# ${planTitle}\` on, not only the rest of it.`;
  return packet === undefined ? `${ask} ${form}` : `${ask} ${promptOpening} ${form}\n\n${packet}`;
}
