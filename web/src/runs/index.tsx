// Bounded runs: the list, one run, a new run.

import { Route, Switch } from 'wouter';
import { NewRunView } from './new-run.tsx';
import { RunList } from './run-list.tsx';
import { RunView } from './run-view.tsx';
import { ValidationList } from './validation-list.tsx';
import { ValidationView } from './validation-view.tsx';

/** Every path under /projects/{project}/runs. */
export function RunRoutes() {
  return (
    <Switch>
      <Route path="/projects/:project/runs" component={RunList} />
      <Route path="/projects/:project/runs/new" component={NewRunView} />
      <Route path="/projects/:project/runs/validation" component={ValidationList} />
      <Route path="/projects/:project/runs/validation/:validation">
        {({ validation }) => <ValidationView id={validation} key={validation} />}
      </Route>
      <Route path="/projects/:project/runs/:run">{({ run }) => <RunView id={run} key={run} />}</Route>
    </Switch>
  );
}
