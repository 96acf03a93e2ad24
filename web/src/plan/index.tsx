// The plan: changesets and their review, board, tree, items.

import { Link, Redirect, Route, Switch } from 'wouter';
import { Empty } from '../base/notice.tsx';
import { useProject } from '../data/project.ts';
import { paths } from '../paths.ts';
import { View } from '../shell/view.tsx';
import { BoardView } from './board.tsx';
import { ChangesetList } from './changeset-list.tsx';
import { ChangesetView } from './changeset-view.tsx';
import { ItemView } from './item-view.tsx';
import { TreeView } from './tree.tsx';

/** Every path under /projects/{project} but the chat's. */
export function PlanRoutes() {
  return (
    <Switch>
      <Route path="/projects/:project/changesets" component={ChangesetList} />
      <Route path="/projects/:project/changesets/:id">{({ id }) => <ChangesetView id={id} key={id} />}</Route>
      <Route path="/projects/:project/board" component={BoardView} />
      <Route path="/projects/:project/tree" component={TreeView} />
      <Route path="/projects/:project/items/:key">{({ key }) => <ItemOrElsewhere itemKey={key} />}</Route>
      <Route component={Nowhere} />
    </Switch>
  );
}

/** A key names its project: an item of another one is shown there. */
function ItemOrElsewhere({ itemKey }: { itemKey: string }) {
  const project = useProject();
  const [, owner] = /^([A-Z][A-Z0-9]+)-\d+$/.exec(itemKey) ?? [];
  if (owner && owner !== project.key) return <Redirect to={paths.item(itemKey)} replace />;
  return <ItemView itemKey={itemKey} key={itemKey} />;
}

function Nowhere() {
  const project = useProject();
  return (
    <View title="Nothing is here">
      <Empty title="This address names no view">
        <p>
          Go to the <Link href={paths.board(project.key)}>board</Link>, the{' '}
          <Link href={paths.tree(project.key)}>tree</Link> or the{' '}
          <Link href={paths.changesets(project.key)}>changesets</Link>.
        </p>
      </Empty>
    </View>
  );
}
