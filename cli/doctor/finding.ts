// What a doctor tells: a line for each thing that it looked at, and how to mend what is not well.

import { clean } from '../print.ts';

/** warn: it works, but not as it should. fail: it does not work. */
export type Mark = 'ok' | 'warn' | 'fail';

export interface Finding {
  what: string;
  mark: Mark;
  text: string;
  /** With warn and fail: what to do. */
  mend?: string;
}

export const ok = (what: string, text: string): Finding => ({ what, mark: 'ok', text });
export const warn = (what: string, text: string, mend: string): Finding => ({ what, mark: 'warn', text, mend });
export const fail = (what: string, text: string, mend: string): Finding => ({ what, mark: 'fail', text, mend });

export const hasFailed = (findings: readonly Finding[]): boolean => findings.some(({ mark }) => mark === 'fail');

export function renderFindings(findings: readonly Finding[]): string {
  const width = Math.max(...findings.map(({ what }) => what.length));
  const margin = ' '.repeat(width + 7);
  const lines = findings.map(({ mark, what, text, mend }) => {
    const all = mend === undefined ? text : `${text}${/[.!?]$/.test(text) ? '' : '.'} ${mend}`;
    return clean(`${mark.padEnd(5)} ${what.padEnd(width)} ${all.replaceAll('\n', `\n${margin}`)}`);
  });
  return [...lines, '', verdict(findings)].join('\n');
}

function verdict(findings: readonly Finding[]): string {
  const count = (mark: Mark): number => findings.filter((one) => one.mark === mark).length;
  const [failed, warned] = [count('fail'), count('warn')];
  if (failed > 0) return `${failed} of ${findings.length} failed.`;
  return warned > 0 ? `Nothing failed; ${warned} to look at.` : 'All is well.';
}

/** `{items, ok}` */
export const findingsJson = (findings: readonly Finding[]): string =>
  JSON.stringify({ ok: !hasFailed(findings), items: findings }, null, 2);

/** A check that itself breaks is a finding, too. */
export async function look(what: string, check: () => Finding | Promise<Finding>): Promise<Finding> {
  try {
    return await check();
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    return fail(what, `could not be looked at: ${text}`, 'Mend that, and look again.');
  }
}
