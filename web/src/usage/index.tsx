// What the project uses of models, and the settings that bound it.

import { Route, Switch } from 'wouter';
import { SettingsView } from './settings-view.tsx';
import { UsageView } from './usage-view.tsx';

/** Every path under /projects/{project}/usage. */
export function UsageRoutes() {
  return (
    <Switch>
      <Route path="/projects/:project/usage" component={UsageView} />
      <Route path="/projects/:project/usage/settings" component={SettingsView} />
    </Switch>
  );
}
