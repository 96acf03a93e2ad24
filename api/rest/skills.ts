// Skills, their versions, and what of them a project uses (spec: planner 3, 10).

import { listPins, listProjectSkills, pinSkill, unpinSkill } from '../../store/skill-pins.ts';
import {
  createSkill,
  getSkill,
  getSkillVersion,
  listSkills,
  listSkillVersions,
  publishSkill,
  updateSkill,
} from '../../store/skills.ts';
import type { App } from '../app.ts';
import { listOf, longPageQuery, versionQuery } from '../contracts/common.ts';
import {
  newSkill,
  resolvedSkill,
  skill,
  skillPatch,
  skillPin,
  skillPinInput,
  skillPublication,
  skillQuery,
  skillSummary,
  skillVersion,
  skillVersionSummary,
} from '../contracts/skills.ts';
import { pageOf } from './page.ts';
import { Routes } from './routes.ts';
import { versionIn, versionPage, versionParam } from './versions.ts';

/** A skill may have 1 MiB of files, longer as JSON. */
const bodyLimit = 2 * 1024 * 1024;

export function skillRoutes(app: App): Routes {
  const routes = new Routes(app, 'Skills');
  draftRoutes(routes);
  versionRoutes(routes);
  projectRoutes(routes);
  return routes;
}

function draftRoutes(routes: Routes): void {
  routes.get(
    '/skills',
    {
      summary: 'Skills, newest first',
      description:
        'Those that the caller may read, drafts included. `organization` narrows to those of the organization and of ' +
        'its projects, `project` to those of the project alone.',
      query: skillQuery,
      answer: listOf(skillSummary),
      errors: ['forbidden', 'not_found'],
    },
    ({ database, principal, query }) => listSkills(database, principal, query),
  );
  routes.post(
    '/skills',
    {
      summary: 'Create a skill',
      description: 'As a draft: no project uses it before it is published. Its scope and name never change.',
      body: newSkill,
      bodyLimit,
      status: 201,
      answer: skill,
      errors: ['forbidden', 'not_found', 'already_exists'],
    },
    ({ principal, body, write }) => write((tx) => createSkill(tx, principal, body)),
  );
  routes.get(
    '/skills/:id',
    { summary: 'A skill with its draft', answer: skill, errors: ['forbidden', 'not_found'] },
    ({ database, principal, param }) => getSkill(database, principal, param('id')),
  );
  routes.patch(
    '/skills/:id',
    {
      summary: 'Change the draft of a skill',
      description: 'Only what is sent changes; `files` is the whole list. `version`: that of the draft that was read.',
      body: skillPatch,
      bodyLimit,
      answer: skill,
      errors: ['forbidden', 'not_found', 'conflict'],
    },
    ({ principal, param, body, write }) => write((tx) => updateSkill(tx, principal, param('id'), body)),
  );
}

function versionRoutes(routes: Routes): void {
  routes.post(
    '/skills/:id/publish',
    {
      summary: 'Publish the draft of a skill',
      description:
        'As its next version, which never changes. `version` is that of the draft that was read; a draft that is as ' +
        'the newest version is a conflict, too.',
      body: skillPublication,
      bodyLimit,
      status: 201,
      answer: skillVersion,
      errors: ['forbidden', 'not_found', 'conflict'],
    },
    ({ principal, param, body, write }) => write((tx) => publishSkill(tx, principal, param('id'), body)),
  );
  routes.get(
    '/skills/:id/versions',
    {
      summary: 'Published versions of a skill, newest first',
      query: versionQuery,
      answer: listOf(skillVersionSummary),
      errors: ['forbidden', 'not_found'],
    },
    async ({ database, principal, param, query }) =>
      versionPage(await listSkillVersions(database, principal, param('id'), query)),
  );
  routes.get(
    '/skills/:id/versions/:version',
    {
      summary: 'A published version of a skill',
      params: { version: versionParam },
      answer: skillVersion,
      errors: ['forbidden', 'not_found'],
    },
    ({ database, principal, param }) =>
      getSkillVersion(database, principal, param('id'), versionIn(param('version'))),
  );
}

function projectRoutes(routes: Routes): void {
  routes.get(
    '/projects/:project/skills',
    {
      summary: 'Skills that a project uses, by name',
      description:
        'Of each name the most specific scope with a published version, as the pins have it. One with a `problem` ' +
        'can\'t be used.',
      query: longPageQuery,
      answer: listOf(resolvedSkill),
      errors: ['forbidden', 'not_found'],
    },
    async ({ database, principal, param, query }) =>
      pageOf(await listProjectSkills(database, principal, param('project')), query, ({ name }) => name),
  );
  routes.get(
    '/projects/:project/skill-pins',
    {
      summary: 'Pins of a project, by name',
      query: longPageQuery,
      answer: listOf(skillPin),
      errors: ['forbidden', 'not_found'],
    },
    async ({ database, principal, param, query }) =>
      pageOf(await listPins(database, principal, param('project')), query, ({ name }) => name),
  );
  routes.put(
    '/projects/:project/skills/:name/pin',
    {
      summary: 'Pin a skill of a project',
      description: 'To a version (0: the newest), or disabled. A name that no skill has is told as a problem.',
      body: skillPinInput,
      bodyLimit,
      answer: skillPin,
      errors: ['forbidden', 'not_found'],
    },
    ({ principal, param, body, write }) =>
      write((tx) => pinSkill(tx, principal, param('project'), param('name'), body)),
  );
  routes.delete(
    '/projects/:project/skills/:name/pin',
    { summary: 'Remove a pin', errors: ['forbidden', 'not_found'] },
    ({ principal, param, write }) => write((tx) => unpinSkill(tx, principal, param('project'), param('name'))),
  );
}
