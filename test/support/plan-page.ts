// A small plan on the page's planner, a changeset for it, and a second person who works on it too.

import { createRest, type Changeset, type Item, type NewChangeset, type Rest } from '../../client/index.ts';
import { systemActor, type Role } from '../../domain/actor.ts';
import { transaction } from '../../store/database.ts';
import { projectByKey } from '../../store/projects.ts';
import { bindRole } from '../../store/role-bindings.ts';
import { createSubject, createToken } from '../../store/tokens.ts';
import { inHours } from './api.ts';
import type { TestPage } from './page.ts';

/** Another person with that role in WEB. */
export async function person(web: TestPage, subject: string, role: Role): Promise<{ token: string; rest: Rest }> {
  const { token } = await transaction(web.planner.database, async (tx) => {
    await createSubject(tx, { subject, kind: 'human', name: subject });
    await bindRole(tx, systemActor, { subject, role, project_id: (await projectByKey(tx, 'WEB')).id });
    return createToken(tx, { subject, expires_at: inHours(1) });
  });
  return { token, rest: createRest({ address: web.address, token }) };
}

const description = (second: string): string =>
  [
    'The costs come as a surprise.',
    `- read them from the carrier\n- ${second}`,
    'See [the study](https://example.org/study).',
  ].join('\n\n');

export interface SmallPlan {
  milestone: Item;
  epic: Item;
  tickets: [Item, Item, Item, Item, Item];
}

/** A milestone, two epics, six tickets in several states, two dependencies. */
export async function makePlan(rest: Rest): Promise<SmallPlan> {
  const milestone = await rest.createItem('WEB', { kind: 'milestone', title: 'Spring release' });
  const epic = await rest.createItem('WEB', {
    kind: 'epic',
    title: 'Checkout that people finish',
    milestone: milestone.key,
    description: 'Fewer steps, **no surprises**: what it costs is shown from the start.',
  });
  await rest.createItem('WEB', { kind: 'epic', title: 'Newsletter' });
  const ticket = (title: string, more: object = {}): Promise<Item> =>
    rest.createItem('WEB', { kind: 'ticket', title, ...more });
  const tickets: SmallPlan['tickets'] = [
    await ticket('Show delivery costs in the basket', {
      epic: epic.key,
      description: description('show them in the basket'),
      acceptance_criteria: [
        'The basket shows the costs of the chosen country.',
        'They follow a change of the country.',
      ],
    }),
    await ticket('Pay with one click', { epic: epic.key }),
    await ticket('The total is wrong with two vouchers', { epic: epic.key, type: 'bug' }),
    await ticket('Compare mail providers', { type: 'spike', milestone: milestone.key }),
    await ticket('Describe the shop’s API', { type: 'docs' }),
  ];
  const [costs, click, bug, compare] = tickets;
  await rest.addDependency(costs.key, { type: 'blocks', to: click.key });
  await rest.addDependency(bug.key, { type: 'relates', to: costs.key });
  await rest.transition(click.key, { state: 'ready' });
  await rest.transition(bug.key, { state: 'ready' });
  await rest.transition(compare.key, { state: 'done' });
  return { milestone, epic, tickets };
}

/** Operations 1-5: an epic, two tickets of it, an edge between them, a change of an existing ticket. */
export function proposal({ tickets: [costs] }: SmallPlan): NewChangeset {
  return {
    title: 'Vouchers',
    summary: 'People ask for **vouchers**. This adds what is needed, and says where they show.',
    operations: [
      { kind: 'create_item', ref: 'vouchers', create: { kind: 'epic', title: 'Vouchers' } },
      {
        kind: 'create_item',
        ref: 'redeem',
        create: {
          kind: 'ticket',
          title: 'Redeem a voucher',
          description: 'A field in the basket.',
          epic: '$vouchers',
          acceptance_criteria: ['A valid code lowers the total.', 'An invalid one says why.'],
        },
      },
      { kind: 'create_item', ref: 'sell', create: { kind: 'ticket', title: 'Sell vouchers', epic: '$vouchers' } },
      { kind: 'add_dependency', dependency: { from: '$redeem', to: '$sell', type: 'blocks' } },
      {
        kind: 'update_item',
        update: {
          item: costs.key,
          title: 'Show delivery costs and vouchers in the basket',
          description: description('show them and the vouchers in the basket'),
          acceptance_criteria: ['The basket shows the costs of the chosen country.', 'Vouchers lower the total.'],
        },
      },
    ],
  };
}

export const propose = (rest: Rest, plan: SmallPlan): Promise<Changeset> =>
  rest.proposeChangeset('WEB', proposal(plan));
