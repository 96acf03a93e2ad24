// Before the first message: the session is made when it is sent.

import { useQueryClient } from '@tanstack/react-query';
import { useLocation, Link } from 'wouter';
import { ArrowLeft } from '../base/icons.tsx';
import { useRest } from '../data/client.tsx';
import { keys } from '../data/keys.ts';
import { useModel } from '../data/model.ts';
import { useProject } from '../data/project.ts';
import { paths } from '../paths.ts';
import { View } from '../shell/view.tsx';
import { Composer } from './composer.tsx';
import { giveFirst } from './drafts.ts';
import { titleOf } from './title.ts';

export function NewSession({ focus }: { focus: boolean }) {
  const rest = useRest();
  const model = useModel();
  const project = useProject();
  const queries = useQueryClient();
  const [, navigate] = useLocation();
  const begin = async (text: string): Promise<void> => {
    const session = await rest.createSession(project.key, { title: titleOf(text) });
    void queries.invalidateQueries({ queryKey: keys.sessions(project.key) });
    giveFirst(session.id, text);
    navigate(paths.session(project.key, session.id));
  };
  const back = (
    <Link className="button button-quiet button-icon only-narrow" href={paths.chat(project.key)}>
      <ArrowLeft />
      <span className="visually-hidden">All sessions</span>
    </Link>
  );
  return (
    <View full title="New session" above={back}>
      <div className="talk talk-new">
        <div className="welcome">
          <h2>What do you want to plan in {project.name}?</h2>
          <p className="muted">
            Describe a goal, or paste a list. The planner looks at the project’s items and proposes a changeset: nothing
            changes before you have reviewed and applied it.
          </p>
          {model?.demo && (
            <p className="muted small">
              The built-in <strong>demo model</strong> answers, by fixed rules. It plans from a goal with a bullet list.
            </p>
          )}
        </div>
      </div>
      <div className="talk-foot">
        <Composer session={`new-${project.key}`} onSend={begin} autoFocus={focus} />
      </div>
    </View>
  );
}
