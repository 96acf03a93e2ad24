// Skills: what the project uses, one skill with its draft and versions, a new one.

import { Route, Switch } from 'wouter';
import { NewSkill } from './new-skill.tsx';
import { SkillList } from './skill-list.tsx';
import { SkillView } from './skill-view.tsx';

/** Every path under /projects/{project}/skills. */
export function SkillRoutes() {
  return (
    <Switch>
      <Route path="/projects/:project/skills" component={SkillList} />
      <Route path="/projects/:project/skills/new" component={NewSkill} />
      <Route path="/projects/:project/skills/:id">{({ id }) => <SkillView id={id} key={id} />}</Route>
    </Switch>
  );
}
