// The page's own paths.

const part = encodeURIComponent;

/** A key names its project: WEB-12 is of WEB. */
const projectOf = (key: string): string => key.slice(0, key.lastIndexOf('-'));

export const paths = {
  chat: (project: string) => `/projects/${part(project)}/chat`,
  session: (project: string, session: string) => `/projects/${part(project)}/chat/${part(session)}`,
  changesets: (project: string) => `/projects/${part(project)}/changesets`,
  changeset: (project: string, id: string) => `/projects/${part(project)}/changesets/${part(id)}`,
  board: (project: string) => `/projects/${part(project)}/board`,
  tree: (project: string) => `/projects/${part(project)}/tree`,
  runs: (project: string) => `/projects/${part(project)}/runs`,
  newRun: (project: string) => `/projects/${part(project)}/runs/new`,
  validations: (project: string) => `/projects/${part(project)}/runs/validation`,
  validation: (project: string, id: string) => `/projects/${part(project)}/runs/validation/${part(id)}`,
  /** `id`: the run's own. */
  run: (project: string, id: string) => `/projects/${part(project)}/runs/${part(id)}`,
  skills: (project: string) => `/projects/${part(project)}/skills`,
  newSkill: (project: string) => `/projects/${part(project)}/skills/new`,
  skill: (project: string, id: string) => `/projects/${part(project)}/skills/${part(id)}`,
  knowledge: (project: string) => `/projects/${part(project)}/knowledge`,
  newKnowledge: (project: string) => `/projects/${part(project)}/knowledge/new`,
  knowledgeEntry: (project: string, id: string) => `/projects/${part(project)}/knowledge/${part(id)}`,
  usage: (project: string) => `/projects/${part(project)}/usage`,
  /** Settings and keys; beside the usage that they bound. */
  settings: (project: string) => `/projects/${part(project)}/usage/settings`,
  item: (key: string) => `/projects/${part(projectOf(key))}/items/${part(key)}`,
} as const;
