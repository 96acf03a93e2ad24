// The plan: changesets and their review, board, tree, items.

import { View } from '../shell/view.tsx';

/** Every path under /projects/{project} but the chat's. */
export function PlanRoutes() {
  return (
    <View title="Plan">
      <p>Nothing is here yet.</p>
    </View>
  );
}
