// The planner skill in the system prompt of real turns (spec: planner 3, 7).

import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { systemActor, type Principal } from '../domain/actor.ts';
import type { NewSkill } from '../domain/skill.ts';
import { transaction } from '../store/database.ts';
import { bindRole } from '../store/role-bindings.ts';
import { pinSkill, unpinSkill } from '../store/skill-pins.ts';
import { createSkill, publishSkill, updateSkill } from '../store/skills.ts';
import { createSubject } from '../store/tokens.ts';
import { calls, says } from './support/scripted-model.ts';
import { startTestPlanner, type TestPlanner } from './support/planner.ts';

const root: Principal = { subject: 'root', kind: 'human' };
let planner: TestPlanner;
let session: string;
beforeAll(async () => {
  planner = await startTestPlanner(() => says('Done.'));
  await planner.startWorker();
  await transaction(planner.database, async (tx) => {
    await createSubject(tx, { subject: root.subject, kind: 'human', name: 'Root' });
    await bindRole(tx, systemActor, { subject: root.subject, role: 'platform-admin' });
  });
});
afterAll(() => planner.close());
beforeEach(async () => {
  session = await planner.session();
});

/** The system prompts of the requests of one turn. */
async function prompts(): Promise<string[]> {
  const before = planner.model.requests.length;
  const { reason } = await planner.ended(await planner.send(session, 'Plan it.'));
  expect(reason).toBe('end_turn');
  return planner.model.requests.slice(before).map(({ body }) => {
    const messages = body['messages'] as { role: string; content: string }[];
    expect(messages[0]!.role).toBe('system');
    return messages[0]!.content;
  });
}
async function publish(scope: Partial<NewSkill>, body: string): Promise<string> {
  const skill = { scope: 'platform', name: 'planner', description: 'How we plan.', body, ...scope } as const;
  return transaction(planner.database, async (tx) => {
    const { id } = await createSkill(tx, root, skill);
    await publishSkill(tx, root, id, { version: 1 });
    return id;
  });
}
const heading = (version: number, name = 'planner') => `How planning is done here (skill ${name}, version ${version}):`;

describe('spec: planner 3: the planner skill', () => {
  test('spec: planner 3.10, 3.11, 7.7: what the project resolves is added; absent, nothing', async () => {
    expect((await prompts())[0]).not.toContain('How planning is done here');
    const id = await publish({}, 'Platform rules.');
    const end = `Organization acme: Acme\n\n${heading(1)}\nPlatform rules.`;
    expect((await prompts())[0]!.slice(-end.length)).toBe(end);

    await transaction(planner.database, async (tx) => {
      await updateSkill(tx, root, id, { version: 1, body: 'Second rules.' });
    });
    expect((await prompts())[0]).toContain(`${heading(1)}\nPlatform rules.`);
    await transaction(planner.database, (tx) => publishSkill(tx, root, id, { version: 2 }));
    expect((await prompts())[0]).toContain(`${heading(2)}\nSecond rules.`);

    await transaction(planner.database, (tx) => pinSkill(tx, root, 'WEB', 'planner', { version: 1 }));
    expect((await prompts())[0]).toContain(`${heading(1)}\nPlatform rules.`);
    await transaction(planner.database, (tx) => pinSkill(tx, root, 'WEB', 'planner', { disabled: true }));
    expect((await prompts())[0]).not.toContain('How planning is done here');
    await transaction(planner.database, (tx) => unpinSkill(tx, root, 'WEB', 'planner'));
    await publish({ scope: 'project', project: 'WEB' }, 'Rules of WEB.');
    expect((await prompts())[0]).toContain(`${heading(1)}\nRules of WEB.`);
  });

  test('spec: planner 13.4: its name is a setting of the project, else of the organization', async () => {
    await publish({ name: 'of-acme' }, 'Acme rules.');
    await publish({ name: 'of-web' }, 'Web rules.');
    await planner.database.query(`UPDATE organizations SET settings = '{"skill": "of-acme"}'`);
    expect((await prompts())[0]).toContain(`${heading(1, 'of-acme')}\nAcme rules.`);
    await planner.database.query(`UPDATE projects SET settings = '{"skill": "of-web"}'`);
    expect((await prompts())[0]).toContain(`${heading(1, 'of-web')}\nWeb rules.`);
    await planner.database.query(`UPDATE organizations SET settings = '{}'; UPDATE projects SET settings = '{}'`);
  });

  test('spec: planner 3.10: it is resolved anew for each model call of a turn', async () => {
    const id = await publish({ name: 'live' }, 'Before.');
    await planner.database.query(`UPDATE projects SET settings = '{"skill": "live"}'`);
    const first = planner.model.requests.length;
    planner.model.play(async (_, n) => {
      if (n !== first) return says('Done.');
      await transaction(planner.database, async (tx) => {
        await updateSkill(tx, root, id, { version: 1, body: 'After.' });
        await publishSkill(tx, root, id, { version: 2 });
      });
      return calls('list_items', {});
    });
    const [before, after] = await prompts();
    planner.model.play(() => says('Done.'));
    await planner.database.query(`UPDATE projects SET settings = '{}'`);
    expect(before).toContain(`${heading(1, 'live')}\nBefore.`);
    expect(after).toContain(`${heading(2, 'live')}\nAfter.`);
  });

  test('spec: planner 3.11: a look-up that fails is logged as a warning, and the turn goes on without it', async () => {
    const logged = vi.spyOn(console, 'error').mockImplementation(() => undefined);
    const warnings = () => logged.mock.calls.map(([line]) => JSON.parse(String(line)) as Record<string, unknown>);
    try {
      await planner.database.query('ALTER TABLE skill_pins RENAME TO skill_pins_gone');
      expect((await prompts())[0]).not.toContain('How planning is done here');
      await planner.database.query('ALTER TABLE skill_pins_gone RENAME TO skill_pins');
      const message = 'the planner skill could not be looked up';
      const failed = { level: 'warn', message, project: 'WEB', skill: 'planner' };
      expect(warnings()).toMatchObject([{ ...failed, reason: 'relation "skill_pins" does not exist' }]);

      await transaction(planner.database, (tx) => pinSkill(tx, root, 'WEB', 'planner', { version: 9 }));
      expect((await prompts())[0]).not.toContain('How planning is done here');
      expect(warnings().at(-1)).toMatchObject({ ...failed, reason: expect.stringContaining('Version 9 is pinned') });
    } finally {
      logged.mockRestore();
    }
  });
});
