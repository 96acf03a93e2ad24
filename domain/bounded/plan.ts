// A plan checkpoint: valid and complete, or the list of everything that is wrong with it (spec: bounded-claude 6).

import { redact, type Secret } from '../secrets/index.ts';
import { isBlank } from '../text.ts';
import { meant, outline, difference, sectionProblems, withoutBom, type Outline, type Problem } from './markdown.ts';

export const planTitle = 'Plan Checkpoint';

export const planSections = [
  'Goal',
  'Non-goals',
  'Current-State Evidence',
  'File Scope',
  'Steps',
  'Risks',
  'Acceptance Checks',
  'Rollback',
] as const;

const shape = {
  what: 'plan',
  title: planTitle,
  sections: planSections,
  accepts: new Map([['Acceptance Checks (binary)', 'Acceptance Checks']]),
} as const;

export type PlanCheck = { ok: true; text: string } | { ok: false; problems: Problem[] };

/**
 * Checks an answer against the plan's contract (spec: bounded-claude 6). A BOM and blank lines before the title are
 * dropped; `text` is what the plan file holds, ending with a line break. All problems are told together.
 */
export function checkPlan(answer: string): PlanCheck {
  if (isBlank(answer)) {
    return { ok: false, problems: [{ code: 'title', message: 'The answer holds no text, so there is no plan.' }] };
  }
  const body = withoutBom(answer);
  const blank = /^(?:[ \t]*(?:\r\n|\r|\n))*/.exec(body)?.[0] ?? '';
  const text = withoutBom(body.slice(blank.length));
  const skipped = blank.split(/\r\n|\r|\n/).length - 1;
  const found = outline(text);
  const wrapped = fenceAround(text);
  const problems = wrapped
    ? [wrapped]
    : [...titleProblems(found), ...sectionProblems(found, shape)];
  if (problems.length > 0) return { ok: false, problems: problems.map((problem) => moved(problem, skipped)) };
  return { ok: true, text: /[\r\n]$/.test(text) ? text : `${text}\n` };
}

function moved(problem: Problem, lines: number): Problem {
  return problem.line === undefined ? problem : { ...problem, line: problem.line + lines };
}

/** The whole answer in a fence: one cause, told once instead of eight missing sections. */
function fenceAround(text: string): Problem | undefined {
  const fence = /^ {0,3}(`{3,}|~{3,})[^\r\n]*(?:\r\n|\r|\n)\s*#\s+Plan Checkpoint/.exec(text);
  if (!fence) return undefined;
  const message = 'The whole answer stands in a code fence; '
    + 'a plan begins with `# Plan Checkpoint` at the margin, without one.';
  return { code: 'fenced', line: 1, message };
}

function titleProblems(found: Outline): Problem[] {
  const title = found.titles.find((heading) => heading.name === planTitle);
  const first = found.titles[0];
  if (title?.line === 1) {
    const again = found.titles.find((heading) => heading.name === planTitle && heading.line > 1);
    const message = 'The title occurs again: the answer holds more than one plan.';
    return again ? [{ code: 'title', line: again.line, message }] : [];
  }
  if (title) {
    const message = `There is text before the title, which stands at line ${title.line}; `
      + `a plan begins with \`# ${planTitle}\`.`;
    return [{ code: 'preamble', line: 1, message }];
  }
  const alike = found.titles.find((heading) => meant(heading.name, [planTitle]));
  if (alike) {
    const why = difference(alike.name, planTitle);
    return [{ code: 'title', line: alike.line, message: `The title must be exactly \`# ${planTitle}\`: ${why}.` }];
  }
  if (first?.line === 1) {
    return [{ code: 'title', line: 1, message: `The title must be exactly \`# ${planTitle}\`; this one differs.` }];
  }
  return [{ code: 'title', line: 1, message: `The answer does not begin with \`# ${planTitle}\`.` }];
}

export interface RedactedPlan {
  text: string;
  /** One line a redaction, for metadata and the person who asked; never the value. */
  warnings: string[];
}

/** A plan or a checkpoint with its secret-like text redacted, with a warning each (spec: bounded-claude 6). */
export async function redactPlan(text: string): Promise<RedactedPlan> {
  const { text: safe, secrets } = await redact(text);
  return { text: safe, warnings: secrets.map(warning) };
}

const warning = (secret: Secret): string =>
  `Line ${secret.line}: text that looks like a secret (${secret.kind}) was redacted.`;
