// What tests of bounded planning share: fixtures as bytes, valid packets and plans, made-up secrets, event lines.

import { readFileSync } from 'node:fs';
import { packetSections, packetTitle } from '../../domain/bounded/packet.ts';
import { planSections, planTitle } from '../../domain/bounded/plan.ts';

const folder = new URL('../fixtures/bounded/', import.meta.url);

export const fixture = (name: string): Uint8Array => readFileSync(new URL(name, folder));
export const fixtureJson = (name: string): unknown => JSON.parse(readFileSync(new URL(name, folder), 'utf8'));

export interface Case {
  file: string;
  expected: 'accept' | 'reject';
  reason: string;
  code_points: number | null;
  sha256: string;
}

export const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

/** A valid packet; sections can be replaced, with null left out. */
export function packet(change: Partial<Record<(typeof packetSections)[number], string | null>> = {}): string {
  const bodies = packetSections.map((name) => {
    const body = change[name] === undefined ? (name === 'Truncation' ? 'none' : `Text of ${name}.`) : change[name];
    return body === null ? '' : `## ${name}\n${body}\n\n`;
  });
  return `# ${packetTitle}\n\n${bodies.join('')}`;
}

/** A valid plan; sections can be replaced, with null left out. */
export function plan(change: Partial<Record<(typeof planSections)[number], string | null>> = {}): string {
  const bodies = planSections.map((name) => {
    const body = change[name] === undefined ? `Text of ${name}.` : change[name];
    return body === null ? '' : `## ${name}\n${body}\n\n`;
  });
  return `# ${planTitle}\n\n${bodies.join('')}`;
}

const alphabet = 'Zq8Rt2LmX9vKc4WpYd7HnJ3sFb6GgT1uAeQkMoPz0iVxSwDyCrEhNlBjUfOaI5';

/** A made-up random text, the same each time; put together here so that no file holds one. */
export const randomText = (length: number, offset = 3): string => alphabet.repeat(8).slice(offset, offset + length);

const digits = ['3fa94c1b', 'e07d2865', 'ab19cf30', 'e4d7825b', '6e91a0d3', 'c4f72b58'];
export const randomHex = (length: number): string => digits.join('').repeat(4).slice(0, length);
