// Settings of the project and of its organization, and the keys that their model calls use.

import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link } from 'wouter';
import type { OrganizationView, ProjectView } from '../../../client/index.ts';
import { ArrowLeft } from '../base/icons.tsx';
import { useNotify } from '../base/notices.tsx';
import { useRest } from '../data/client.tsx';
import { keys } from '../data/keys.ts';
import { useProject } from '../data/project.ts';
import { useMay } from '../data/may.ts';
import { paths } from '../paths.ts';
import { Reading } from '../plan/pieces.tsx';
import { View } from '../shell/view.tsx';
import { Credentials } from './credentials.tsx';
import { useOrganizationView, useProjectView } from './data.ts';
import { SettingsForm } from './settings-form.tsx';
import { inheritedOf, settingNames, settingWords, shownSetting, type Change } from './settings.ts';

export function SettingsView() {
  const project = useProject();
  const may = useMay();
  const query = useProjectView();
  const back = (
    <Link className="back" href={paths.usage(project.key)}>
      <ArrowLeft />
      <span className="visually-hidden">Usage</span>
    </Link>
  );
  return (
    <View title={`Settings of ${project.key}`} above={back}>
      <Reading of={query} what="the settings">
        {(read) => (
          <div className="settings">
            {may('project.update') ? <ProjectSettings project={read} /> : <Effective project={read} />}
            {may('credential.manage') && (
              <Credentials place={{ project: project.key }} title={`Keys of ${project.key}`} />
            )}
            {may('organization.update', 'organization') && <Organization />}
            {may('credential.manage', 'organization') && (
              <Credentials place={{ organization: project.organization }} title={`Keys of ${project.organization}`} />
            )}
          </div>
        )}
      </Reading>
    </View>
  );
}

/** For those who may not change it. */
function Effective({ project: { effective } }: { project: ProjectView }) {
  return (
    <section className="item-part" aria-label="What holds">
      <h2>What holds</h2>
      <div className="card facts">
        <dl>
          {settingNames.map((name) => (
            <div key={name}>
              <dt>{settingWords[name]}</dt>
              <dd>{shownSetting(name, effective[name])}</dd>
            </div>
          ))}
        </dl>
      </div>
      <p className="small muted">An administrator of the organization can change it.</p>
    </section>
  );
}

function ProjectSettings({ project }: { project: ProjectView }) {
  const rest = useRest();
  const queries = useQueryClient();
  const notify = useNotify();
  const save = useMutation({
    mutationFn: ({ name, description, settings: changed }: Change) =>
      rest.updateProject(project.key, {
        ...(name === undefined ? {} : { name }),
        ...(description === undefined ? {} : { description }),
        ...(Object.keys(changed).length > 0 ? { settings: changed } : {}),
      }),
    onSuccess(saved) {
      queries.setQueryData(keys.project(project.key), saved);
      void queries.invalidateQueries({ queryKey: keys.me });
      void queries.invalidateQueries({ queryKey: keys.usage(project.key) });
      notify(`Saved the settings of ${project.key}.`, 'success');
    },
  });
  return (
    <SettingsForm
      title={`Project ${project.key}`}
      about={{ name: project.name, description: project.description }}
      settings={project.settings}
      inherited={inheritedOf(project)}
      problem={save.error?.message}
      busy={save.isPending}
      onSave={save.mutate}
    />
  );
}

function Organization() {
  const query = useOrganizationView();
  return (
    <Reading of={query} what="the organization’s settings">
      {(read) => <OrganizationSettings organization={read} />}
    </Reading>
  );
}

function OrganizationSettings({ organization }: { organization: OrganizationView }) {
  const rest = useRest();
  const queries = useQueryClient();
  const notify = useNotify();
  const project = useProject();
  const save = useMutation({
    mutationFn: ({ name, settings }: Change) =>
      rest.updateOrganization(organization.key, {
        ...(name === undefined ? {} : { name }),
        ...(Object.keys(settings).length > 0 ? { settings } : {}),
      }),
    onSuccess(saved) {
      queries.setQueryData(['organization', organization.key], saved);
      void queries.invalidateQueries({ queryKey: keys.project(project.key) });
      void queries.invalidateQueries({ queryKey: keys.usage(project.key) });
      notify(`Saved the settings of ${organization.key}.`, 'success');
    },
  });
  return (
    <SettingsForm
      title={`Organization ${organization.key}: what its projects inherit`}
      about={{ name: organization.name }}
      settings={organization.settings}
      inherited={{}}
      problem={save.error?.message}
      busy={save.isPending}
      onSave={save.mutate}
    />
  );
}
