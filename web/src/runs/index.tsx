// Bounded runs: the list, one run, a new run.

import { Route, Switch } from 'wouter';
import { NewRunView } from './new-run.tsx';
import { RunList } from './run-list.tsx';
import { RunView } from './run-view.tsx';

/** Every path under /projects/{project}/runs. */
export function RunRoutes() {
  return (
    <Switch>
      <Route path="/projects/:project/runs" component={RunList} />
      <Route path="/projects/:project/runs/new" component={NewRunView} />
      <Route path="/projects/:project/runs/:run">{({ run }) => <RunView id={run} key={run} />}</Route>
    </Switch>
  );
}
