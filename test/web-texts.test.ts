// What the page's views of skills, knowledge, usage and settings compute: rights, drafts, rows, numbers in words.

import { describe, expect, test } from 'vitest';
import type {
  ProjectUsage,
  ResolvedSkill,
  SessionMeter,
  SkillPin,
  SkillSummary,
  UsageTotals,
} from '../client/index.ts';
import { contextLimit, contextWords } from '../web/src/chat/context-words.ts';
import { summarizedUpTo } from '../web/src/chat/exchanges.ts';
import { mayIn } from '../web/src/data/rights.ts';
import { begun, clashOf, differing, only, rebased } from '../web/src/drafts/draft.ts';
import { keysIn } from '../web/src/knowledge/words.ts';
import { otherSkills, usedSkills } from '../web/src/skills/rows.ts';
import { pinWords } from '../web/src/skills/words.ts';
import { changeOf, settingsFields } from '../web/src/usage/settings.ts';
import { budgetLeft, costWords, daysBetween, estimateWords, firstDay, tokensIn } from '../web/src/usage/words.ts';

const web = { key: 'WEB', organization: 'acme' };

describe('rights (spec: planner 5)', () => {
  const projects = [web, { key: 'OPS', organization: 'acme' }, { key: 'X', organization: 'other' }];
  const may = (role: 'engineer' | 'viewer' | 'organization-admin' | 'platform-admin', place: object = {}) =>
    mayIn(web, projects, [{ role, ...place }]);

  test('a role of the organization reaches its project, one of the platform everything', () => {
    expect(may('organization-admin', { organization: 'acme' })('skill.write')).toBe(true);
    expect(may('organization-admin', { organization: 'acme' })('skill.write', 'organization')).toBe(true);
    expect(may('organization-admin', { organization: 'acme' })('skill.write', 'platform')).toBe(false);
    expect(may('organization-admin', { organization: 'other' })('skill.write')).toBe(false);
    expect(may('platform-admin')('skill.write', 'platform')).toBe(true);
  });

  test('through any project of it one writes the organization’s knowledge, but no settings', () => {
    expect(may('engineer', { project: 'OPS' })('knowledge.write', 'organization')).toBe(true);
    expect(may('engineer', { project: 'X' })('knowledge.write', 'organization')).toBe(false);
    expect(may('viewer', { project: 'OPS' })('knowledge.write', 'organization')).toBe(false);
    expect(may('engineer', { project: 'OPS' })('tracker.write')).toBe(false);
    expect(may('engineer', { project: 'WEB' })('organization.update', 'organization')).toBe(false);
  });
});

describe('a draft over a newer version', () => {
  const draft = { ...begun(1, { title: 'a', body: 'b', items: ['WEB-1'] }) };
  draft.fields = { ...draft.fields, title: 'mine', items: ['WEB-1', 'WEB-2'] };

  test('what others changed, what I changed, and where both did', () => {
    const current = { title: 'theirs', body: 'new', items: ['WEB-1', 'WEB-2'] };
    expect(clashOf(draft, current)).toEqual({
      theirs: ['title', 'body', 'items'],
      mine: ['title', 'items'],
      both: ['title'],
    });
    expect(rebased(draft, ['title', 'items'], 2, current)).toEqual({
      version: 2,
      base: current,
      fields: { title: 'mine', body: 'new', items: ['WEB-1', 'WEB-2'] },
    });
    expect(rebased(draft, ['items'], 2, current).fields.title).toBe('theirs');
  });

  test('only what differs is sent', () => {
    expect(only(differing(draft.base, draft.fields), draft.fields)).toEqual({
      title: 'mine',
      items: ['WEB-1', 'WEB-2'],
    });
  });
});

describe('skills (spec: planner 3)', () => {
  type Scope = SkillSummary['scope'];
  const skill = (id: string, scope: Scope, name: string, latest: number, more: object = {}): SkillSummary => ({
    ...{ id, scope, name, latest, description: '', draft_version: 1 },
    ...{ created_at: '2026-01-01T00:00:00Z', updated_at: '2026-01-01T00:00:00Z' },
    ...more,
  });
  const used: ResolvedSkill[] = [{ name: 'style', id: '1', scope: 'project', version: 2 }];
  const pin = (name: string, version: number, disabled = false): SkillPin => ({
    ...{ name, version, disabled },
    updated_at: '2026-01-01T00:00:00Z',
  });

  test('one that is not used here says why; those of other projects and organizations are left out', () => {
    const all = [
      skill('1', 'project', 'style', 2, { project: 'WEB', organization: 'acme' }),
      skill('2', 'organization', 'style', 1, { organization: 'acme' }),
      skill('3', 'platform', 'notes', 1),
      skill('4', 'project', 'begun', 0, { project: 'WEB', organization: 'acme' }),
      skill('5', 'project', 'else', 1, { project: 'OPS', organization: 'acme' }),
      skill('6', 'organization', 'else', 1, { organization: 'other' }),
    ];
    expect(otherSkills(web, used, [pin('notes', 0, true)], all).map(({ skill: { id }, why }) => [id, why])).toEqual([
      ['4', 'draft'],
      ['3', 'disabled'],
      ['2', 'overridden'],
    ]);
  });

  test('a pin is told with the skill that it is of', () => {
    expect(usedSkills(used, [pin('style', 2)])).toMatchObject([{ name: 'style', pin: { version: 2 } }]);
    expect([pinWords(undefined), pinWords(pin('a', 0)), pinWords(pin('a', 3)), pinWords(pin('a', 3, true))]).toEqual([
      ...[undefined, undefined, 'Pinned to version 3', 'Disabled'],
    ]);
  });
});

test('keys are read from what people type: each once, whatever parts them', () => {
  expect(keysIn(' web-1, WEB-2;web-1\nOPS-3 ')).toEqual(['WEB-1', 'WEB-2', 'OPS-3']);
  expect(keysIn('')).toEqual([]);
});

describe('usage (spec: planner 9)', () => {
  const sum: UsageTotals = {
    ...{ input: 100, output: 20, cache_read: 30, cache_write: 0 },
    ...{ calls: 2, unanswered: 0, estimated_tokens: 0, unpriced_calls: 0 },
  };

  test('a cost that rests on an estimate, or lacks a price, says so', () => {
    expect(costWords(sum)).toBeUndefined();
    expect(costWords({ ...sum, cost_usd: 0.5 })).toBe('0.50 USD');
    expect(costWords({ ...sum, cost_usd: 0.5, estimated_tokens: 3 })).toBe('about 0.50 USD');
    expect(costWords({ ...sum, cost_usd: 0.5, unpriced_calls: 1 })).toBe('at least 0.50 USD');
  });

  test('estimated tokens are marked, all or some', () => {
    expect(estimateWords(sum)).toBeUndefined();
    expect(estimateWords({ ...sum, estimated_tokens: 150 })).toBe('estimated');
    expect(estimateWords({ ...sum, estimated_tokens: 50 })).toBe('50 of the tokens estimated');
    expect(tokensIn(sum)).toBe(130);
  });

  test('days are UTC, both ends included; those without a call are there, too', () => {
    expect(firstDay(7, Date.parse('2026-03-03T23:59:00Z'))).toBe('2026-02-25');
    expect(daysBetween('2026-02-27', '2026-03-01')).toEqual(['2026-02-27', '2026-02-28', '2026-03-01']);
  });

  test('what is left of a budget is never less than nothing; none: no number', () => {
    const budget = { daily_tokens: 100, used: 130, organization_daily_tokens: 0, organization_used_up: false };
    const left = (change: Partial<ProjectUsage['budget']>) => budgetLeft({ ...budget, resets_at: '', ...change });
    expect([left({}), left({ used: 30 }), left({ daily_tokens: 0 })]).toEqual([0, 70, undefined]);
  });
});

describe('settings', () => {
  const before = settingsFields({ name: 'Web', description: '' }, { model: 'a', daily_tokens: 0 });

  test('an emptied field is inherited again, an untouched one is not sent, a number may be written with commas', () => {
    expect(changeOf(before, before)).toBeUndefined();
    const settings = { ...before.settings, model: ' ', skill: 'style', daily_tokens: '50,000' };
    expect(changeOf(before, { ...before, settings })).toEqual({
      settings: { model: null, skill: 'style', daily_tokens: 50_000 },
    });
    expect(changeOf(before, { ...before, about: { name: 'Web shop', description: '' } })).toEqual({
      name: 'Web shop',
      settings: {},
    });
  });
});

describe('the context (spec: planner 8)', () => {
  const meter = (change: Partial<SessionMeter>): SessionMeter => ({
    usage: {
      ...{ input: 0, output: 0, cache_read: 0, cache_write: 0 },
      ...{ calls: 0, unanswered: 0, estimated_tokens: 0, unpriced_calls: 0 },
    },
    ...{ context_tokens: 2_500, model: 'm', compact_at_tokens: 10_000 },
    ...change,
  });

  test('is measured against compaction or the model’s window, whichever is nearer', () => {
    expect(contextLimit(meter({}))).toEqual({ tokens: 10_000, kind: 'compaction' });
    expect(contextLimit(meter({ window: 8_000 }))).toEqual({ tokens: 8_000, kind: 'window' });
    expect(contextLimit(meter({ compact_at_tokens: 0, window: 8_000 }))).toEqual({ tokens: 8_000, kind: 'window' });
    expect(contextLimit(meter({ compact_at_tokens: 0 }))).toBeUndefined();
    expect(contextWords(meter({}))).toContain('about 2,500 tokens, 25 % of 10,000');
  });

  test('the line stands after the turn of the last message that the summary stands for', () => {
    const message = (seq: number, turn: string) => ({
      ...{ seq, turn, role: 'user' as const, blocks: [] },
      created_at: '2026-01-01T00:00:00Z',
    });
    const messages = [message(1, 'a'), message(2, 'a'), message(3, 'b')];
    expect([0, 1, 2, 3, 9].map((upTo) => summarizedUpTo(messages, upTo))).toEqual([undefined, 'a', 'a', 'b', 'b']);
  });
});
