// The chat: a project's sessions, and one of them.

import { View } from '../shell/view.tsx';

export function ChatRoutes({ session }: { session: string | undefined }) {
  return (
    <View title="Chat" full>
      <p>{session}</p>
    </View>
  );
}
