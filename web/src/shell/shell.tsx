// What is around every view: project, navigation, connection, theme, sign-out.

import { useState, type ReactNode } from 'react';
import { Link, useLocation } from 'wouter';
import type { Project } from '../../../client/index.ts';
import { signOut } from '../auth/sign-in-state.ts';
import { Button, IconButton } from '../base/button.tsx';
import * as icons from '../base/icons.tsx';
import { Menu, MenuChoice, MenuItem, MenuLabel, MenuSeparator } from '../base/menu.tsx';
import { Notice } from '../base/notice.tsx';
import { useConnection, useMe } from '../data/client.tsx';
import { useModel } from '../data/model.ts';
import { useLiveProject } from '../data/live.ts';
import { ProjectContext } from '../data/project.ts';
import { paths } from '../paths.ts';
import { Search } from '../search/search.tsx';
import { Navigation } from './navigation.tsx';
import { applyTheme, readTheme, type Theme } from './theme.ts';

export function Shell({ project, children }: { project: Project; children: ReactNode }) {
  useLiveProject(project.key);
  return (
    <ProjectContext value={project}>
      <a className="skip-link" href="#content" onClick={skip}>
        Skip to the content
      </a>
      <div className="shell">
        <header className="shell-head">
          <ProjectSwitcher project={project} />
          <Search />
          <Account />
        </header>
        <Navigation project={project.key} />
        <main className="shell-content" id="content" tabIndex={-1}>
          {children}
        </main>
        <Connection />
      </div>
    </ProjectContext>
  );
}

/** By script: the address's fragment is the sign-in's. */
function skip(event: React.MouseEvent): void {
  event.preventDefault();
  document.getElementById('content')?.focus();
}

function ProjectSwitcher({ project }: { project: Project }) {
  const { projects } = useMe();
  const [, navigate] = useLocation();
  const trigger = (
    <Button look="quiet" className="project-switcher">
      <span className="key">{project.key}</span>
      <span className="project-name">{project.name}</span>
      <span className="visually-hidden">, switch project</span>
      <icons.ChevronDown />
    </Button>
  );
  return (
    <Menu trigger={trigger}>
      <MenuLabel>Projects</MenuLabel>
      <MenuChoice
        value={project.key}
        onChange={(key) => navigate(paths.chat(key))}
        options={projects.map(({ key, name }) => ({ value: key, label: `${key} · ${name}` }))}
      />
      <MenuSeparator />
      <MenuItem onSelect={() => navigate(paths.settings(project.key))}>Settings of {project.key}</MenuItem>
    </Menu>
  );
}

const themes = [
  { value: 'system', label: 'As the system' },
  { value: 'light', label: 'Light' },
  { value: 'dark', label: 'Dark' },
] as const;

function Account() {
  const me = useMe();
  const model = useModel();
  const [theme, setTheme] = useState<Theme>(readTheme);
  const choose = (value: string): void => {
    const next = themes.find((each) => each.value === value)?.value ?? 'system';
    applyTheme(next);
    setTheme(next);
  };
  return (
    <div className="account">
      <ConnectionDot />
      {model?.demo && (
        <span className="badge badge-demo" title="Answers by fixed rules. Set PLANNER_MODEL_BASE_URL for a real model.">
          Demo model
        </span>
      )}
      {model?.demo === false && (
        <span className="badge account-model" title="The model that answers">
          {model.name}
        </span>
      )}
      <Menu align="end" trigger={<IconButton label={`Account of ${me.name}, theme`} icon={<icons.Person />} />}>
        <MenuLabel>{me.name}</MenuLabel>
        <MenuSeparator />
        <MenuLabel>Theme</MenuLabel>
        <MenuChoice value={theme} onChange={choose} options={themes} />
        <MenuSeparator />
        <MenuItem onSelect={() => signOut()}>Sign out</MenuItem>
      </Menu>
    </div>
  );
}

function ConnectionDot() {
  const open = useConnection() === 'open';
  const words = open ? 'Connected' : 'Not connected';
  return <span className={open ? 'dot dot-good' : 'dot'} role="img" aria-label={words} title={words} />;
}

const connectionWords = {
  open: '',
  connecting: 'Connecting …',
  waiting: 'The connection is lost. Reconnecting …',
  closed: 'Not connected. Reload the page.',
} as const;

function Connection() {
  const words = connectionWords[useConnection()];
  return (
    <div className="connection" role="status">
      {words && <span>{words}</span>}
    </div>
  );
}

export function NoProject({ wanted }: { wanted?: string }) {
  const { projects, name } = useMe();
  return (
    <main className="sign-in">
      <div className="card sign-in-card">
        <h1>{wanted ? `No project ${wanted}` : 'No project yet'}</h1>
        <Notice tone="warning">
          {wanted
            ? `${name} can’t see a project with the key ${wanted}. It may not exist, or a role in it is missing.`
            : `${name} has no role in any project. Ask an administrator for one.`}
        </Notice>
        {projects.length > 0 && (
          <ul>
            {projects.map((project) => (
              <li key={project.key}>
                <Link href={paths.chat(project.key)}>
                  {project.key} · {project.name}
                </Link>
              </li>
            ))}
          </ul>
        )}
        <Button onClick={() => signOut()}>Sign out</Button>
      </div>
    </main>
  );
}
