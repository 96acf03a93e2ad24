// The rules of the ecosystem's secret scanner, in process: nothing is read, written or sent (spec: bounded-claude 2).

import { lintSource } from '@secretlint/core';
import { secretLintProfiler } from '@secretlint/profiler';
import { rules } from '@secretlint/secretlint-rule-preset-recommend';
import { isPlaceholder, isSequence, isSlug } from './harmless.ts';
import { runEnd, type Found } from './shapes.ts';

// Its marks would pile up in the process for as long as it lives.
secretLintProfiler.setEnabled(false);

/**
 * A comment in the text could switch rules off: that rule is left out, or a packet could hide its secrets. URLs with a
 * password are judged by our own rule, which knows examples and this machine's databases.
 */
const leftOut = /(?:filter-comments|database-connection-string|basicauth)$/;

const config = {
  rules: rules
    .filter((rule) => !leftOut.test(rule.meta.id))
    .map((rule) => ({ id: rule.meta.id, rule, options: {} })),
};

/** What the recommended rules find. Their ranges are widened to whole runs of characters. */
export async function findByRules(text: string): Promise<Found[]> {
  const source = { filePath: 'text.txt', content: text, contentType: 'text' as const };
  const { messages } = await lintSource({ source, options: { noPhysicFilePath: true, config } });
  return messages.flatMap((message) => {
    const start = message.range[0];
    const end = runEnd(text, message.range[1]);
    const value = text.slice(start, end);
    const body = value.replace(/^.*[=:\s]/s, '');
    if (value === '' || isPlaceholder(body) || isSequence(body) || isSlug(body)) return [];
    const rule = message.ruleId.replace(/^.*secretlint-rule-/, '');
    return [{ kind: rule, start, end }];
  });
}
