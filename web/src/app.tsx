// The page's views by path, for who is signed in; else the sign-in form.

import { Redirect, Route, Switch } from 'wouter';
import { SignIn } from './auth/sign-in.tsx';
import { useSignInState } from './auth/sign-in-state.ts';
import { NoticesProvider } from './base/notices.tsx';
import { ChatRoutes } from './chat/index.tsx';
import { ClientsProvider, useMe } from './data/client.tsx';
import { KnowledgeRoutes } from './knowledge/index.tsx';
import { paths } from './paths.ts';
import { PlanRoutes } from './plan/index.tsx';
import { RunRoutes } from './runs/index.tsx';
import { NoProject, Shell } from './shell/shell.tsx';
import { SkillRoutes } from './skills/index.tsx';
import { UsageRoutes } from './usage/index.tsx';

export function App() {
  const { token, reason } = useSignInState();
  if (!token) return <SignIn reason={reason} />;
  return (
    <ClientsProvider token={token}>
      <NoticesProvider>
        <Switch>
          <Route path="/projects/:project/*?">{({ project }) => <ProjectViews project={project} />}</Route>
          <Route>
            <FirstProject />
          </Route>
        </Switch>
      </NoticesProvider>
    </ClientsProvider>
  );
}

function ProjectViews({ project }: { project: string }) {
  const { projects } = useMe();
  const found = projects.find(({ key }) => key === project);
  if (!found) return <NoProject wanted={project} />;
  return (
    <Shell project={found} key={found.key}>
      <Switch>
        <Route path="/projects/:project/chat/:session?">{({ session }) => <ChatRoutes session={session} />}</Route>
        <Route path="/projects/:project/runs/*?">
          <RunRoutes />
        </Route>
        <Route path="/projects/:project/knowledge/*?">
          <KnowledgeRoutes />
        </Route>
        <Route path="/projects/:project/skills/*?">
          <SkillRoutes />
        </Route>
        <Route path="/projects/:project/usage/*?">
          <UsageRoutes />
        </Route>
        <Route path="/projects/:project">
          <Redirect to={paths.chat(found.key)} replace />
        </Route>
        <Route>
          <PlanRoutes />
        </Route>
      </Switch>
    </Shell>
  );
}

function FirstProject() {
  const { projects } = useMe();
  const [first] = projects;
  return first ? <Redirect to={paths.chat(first.key)} replace /> : <NoProject />;
}
