// propose_changeset: the only way in which the planner changes the plan (spec: planner 2, 6).

import { plannerChangeset, type ChangesetInput } from '../../domain/changeset.ts';
import { proposeChangeset as propose } from '../../store/changesets.ts';
import { titlesInUse } from '../../store/item-rows.ts';
import { defineTool, type ToolContext } from './tool.ts';

export const proposeChangeset = defineTool({
  name: 'propose_changeset',
  description:
    'Proposes a changeset: 1-200 operations that a human reviews, then applies or rejects. Nothing changes before ' +
    'that. Kinds of operation: create_item (ref + create), update_item (update: an existing key and the fields to ' +
    'change; "" unlinks epic or milestone), add_dependency (dependency: from blocks to, or relates to it). Where an ' +
    'item is named, give its key, or $ref of an earlier create_item. type, acceptance_criteria and epic are for ' +
    'tickets; milestone is for tickets and epics. Never set policy.',
  action: 'tracker.write',
  writes: true,
  input: plannerChangeset,
  narrow: 'the changeset is stored; list_changesets shows it',
  async run(context, input) {
    const { tx, project, actor, human } = context;
    const notes = await sameTitles(context, input);
    const changeset = await propose(tx, { project, actor, principal: human }, input);
    return {
      changeset: changeset.id,
      status: changeset.status,
      operations: changeset.operations.length,
      note: ['Not applied yet: a human reviews the changeset, then applies or rejects it.', ...notes].join(' '),
    };
  },
});

/** Creates that look like items the project has already: said, not refused. */
async function sameTitles({ tx, project }: ToolContext, { operations }: ChangesetInput): Promise<string[]> {
  const creates = operations.flatMap((each, index) =>
    each.kind === 'create_item' ? [{ number: index + 1, title: each.create.title }] : [],
  );
  const used = await titlesInUse(tx, project, creates.map(({ title }) => title));
  return creates.flatMap(({ number, title }) => {
    const key = used.get(title.toLowerCase());
    return key ? [`Operation ${number} has the same title as ${key}.`] : [];
  });
}
