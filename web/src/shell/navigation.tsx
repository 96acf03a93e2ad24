// The way to the project's views. Narrow, those at the end are in a menu.

import { Link, useLocation } from 'wouter';
import { classes } from '../base/classes.ts';
import * as icons from '../base/icons.tsx';
import { Menu, MenuItem } from '../base/menu.tsx';
import { paths } from '../paths.ts';

const views = [
  { name: 'Chat', path: paths.chat, Icon: icons.Chat },
  { name: 'Changesets', path: paths.changesets, Icon: icons.Changes },
  { name: 'Board', path: paths.board, Icon: icons.Board },
  { name: 'Tree', path: paths.tree, Icon: icons.Tree },
  { name: 'Runs', path: paths.runs, Icon: icons.Run },
  { name: 'Knowledge', path: paths.knowledge, Icon: icons.Book },
  { name: 'Skills', path: paths.skills, Icon: icons.Skill },
  { name: 'Usage', path: paths.usage, Icon: icons.Bars },
] as const;

/** As many are beside each other on the narrowest screen. */
const always = 4;

export function Navigation({ project }: { project: string }) {
  const [location, navigate] = useLocation();
  const isHere = (to: string): boolean => location === to || location.startsWith(`${to}/`);
  const more = views.slice(always);
  const hidden = more.find(({ path }) => isHere(path(project)));
  return (
    <nav className="shell-nav" aria-label="Views">
      {views.map(({ name, path, Icon }, index) => (
        <Link
          key={name}
          href={path(project)}
          className={index < always ? undefined : 'not-narrow'}
          aria-current={isHere(path(project)) ? 'page' : undefined}
        >
          <Icon />
          <span>{name}</span>
        </Link>
      ))}
      <Menu
        align="end"
        side="top"
        trigger={
          <button type="button" className={classes('nav-more', hidden && 'nav-more-here')}>
            {hidden ? <hidden.Icon /> : <icons.More />}
            <span>
              {hidden?.name ?? 'More'}
              <span className="visually-hidden"> {hidden && '(this view) and more '}views</span>
            </span>
          </button>
        }
      >
        {more.map(({ name, path, Icon }) => (
          <MenuItem key={name} onSelect={() => navigate(path(project))}>
            <Icon />
            {name}
          </MenuItem>
        ))}
      </Menu>
    </nav>
  );
}
