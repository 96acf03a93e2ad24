// Knowledge: the organization's entries, one of them, a new one.

import { Route, Switch } from 'wouter';
import { EntryView } from './entry-view.tsx';
import { KnowledgeList } from './knowledge-list.tsx';
import { NewEntry } from './new-entry.tsx';

/** Every path under /projects/{project}/knowledge. */
export function KnowledgeRoutes() {
  return (
    <Switch>
      <Route path="/projects/:project/knowledge" component={KnowledgeList} />
      <Route path="/projects/:project/knowledge/new" component={NewEntry} />
      <Route path="/projects/:project/knowledge/:id">{({ id }) => <EntryView id={id} key={id} />}</Route>
    </Switch>
  );
}
