// The REST client: one typed function a route. For browsers and Node >= 22 (spec: planner 10).
//
//   const rest = createRest({ address: 'http://127.0.0.1:8787', token });
//   const { items } = await rest.items('WEB', { kind: 'ticket', limit: 50 });

import { ApiError, ConnectionError } from './errors.ts';
import { newMessageId } from './realtime.ts';
import { isObject } from './socket.ts';
import type * as Wire from './wire.ts';

export interface RestOptions {
  /** The API's address, for example `http://127.0.0.1:8787`. */
  address: string;
  token: string | (() => string);
  /** Milliseconds a request may take. Default 30,000. */
  timeout?: number;
}

/**
 * Errors of every function: `ApiError` {status, code, message} where the API refuses, `ConnectionError` where it cannot
 * be reached or does not answer in time. Reads, and writes with an Idempotency-Key, are tried three times when the
 * connection fails; others once.
 */
export type Rest = ReturnType<typeof createRest>;

export function createRest(options: RestOptions) {
  const get = <Result>(path: string, query: object = {}): Promise<Result> =>
    request<Result>(options, 'GET', path + search(query), undefined, true);
  /** Creates or sends: keyed, so that a repeat has no second effect. */
  const create = <Result>(path: string, body: object): Promise<Result> =>
    request<Result>(options, 'POST', path, body, true);
  const post = <Result>(path: string, body: object): Promise<Result> =>
    request<Result>(options, 'POST', path, body, false);
  const patch = <Result>(path: string, body: object): Promise<Result> =>
    request<Result>(options, 'PATCH', path, body, false);
  /** Puts what is there in place of what was: a repeat has no second effect. */
  const put = <Result>(path: string, body: object): Promise<Result> =>
    request<Result>(options, 'PUT', path, body, true);
  const remove = async (path: string): Promise<void> => {
    await request<unknown>(options, 'DELETE', path, undefined, false);
  };

  return {
    me: () => get<Wire.Me>('/me'),
    organizations: (page: Wire.PageQuery = {}) => get<Wire.List<Wire.Organization>>('/organizations', page),
    createOrganization: (body: Wire.NewOrganization) => create<Wire.Organization>('/organizations', body),
    projects: (page: Wire.PageQuery = {}) => get<Wire.List<Wire.Project>>('/projects', page),
    createProject: (body: Wire.NewProject) => create<Wire.Project>('/projects', body),
    /** Those that the caller may read. */
    roleBindings: (query: Wire.RoleBindingQuery = {}) => get<Wire.List<Wire.RoleBinding>>('/role-bindings', query),
    createRoleBinding: (body: Wire.NewRoleBinding) => create<Wire.RoleBinding>('/role-bindings', body),
    deleteRoleBinding: (id: string) => remove(`/role-bindings/${part(id)}`),
    /** With its settings, and what holds. */
    project: (key: string) => get<Wire.ProjectView>(`/projects/${part(key)}`),
    /** A setting that is null is inherited again. */
    updateProject: (key: string, body: Wire.ProjectPatch) => patch<Wire.ProjectView>(`/projects/${part(key)}`, body),
    organization: (key: string) => get<Wire.OrganizationView>(`/organizations/${part(key)}`),
    updateOrganization: (key: string, body: Wire.OrganizationPatch) =>
      patch<Wire.OrganizationView>(`/organizations/${part(key)}`, body),
    /** Fingerprints: a key is never read back. */
    credentials: (place: Wire.CredentialPlace) => get<Wire.List<Wire.Credential>>(`${placePath(place)}/credentials`),
    credential: (place: Wire.CredentialPlace, provider: string) =>
      get<Wire.Credential>(`${placePath(place)}/credentials/${part(provider)}`),
    setCredential: (place: Wire.CredentialPlace, provider: string, body: Wire.NewCredential) =>
      put<Wire.Credential>(`${placePath(place)}/credentials/${part(provider)}`, body),
    deleteCredential: (place: Wire.CredentialPlace, provider: string) =>
      remove(`${placePath(place)}/credentials/${part(provider)}`),
    /** By session, model or day (UTC); by default the last 30 days, `from` alone up to today. */
    usage: (project: string, query: Wire.UsageQuery = {}) =>
      get<Wire.ProjectUsage>(`/projects/${part(project)}/usage`, query),

    sessions: (project: string, page: Wire.PageQuery = {}) =>
      get<Wire.List<Wire.Session>>(`/projects/${part(project)}/planner/sessions`, page),
    createSession: (project: string, body: Wire.NewSession = {}) =>
      create<Wire.Session>(`/projects/${part(project)}/planner/sessions`, body),
    /** The whole transcript, or a window of it by `after` (a message's seq) and `limit`. */
    session: (id: string, window: Wire.SessionQuery = {}) =>
      get<Wire.SessionView>(`/planner/sessions/${part(id)}`, window),
    updateSession: (id: string, body: Wire.SessionPatch) =>
      patch<Wire.Session>(`/planner/sessions/${part(id)}`, body),
    send: (session: string, body: Wire.NewMessage) =>
      create<Wire.Sent>(`/planner/sessions/${part(session)}/messages`, body),
    /** `turn` guards against cancelling the next one; an idle session is left alone. */
    cancel: (session: string, turn?: string) =>
      post<Record<string, unknown>>(`/planner/sessions/${part(session)}/cancel`, turn === undefined ? {} : { turn }),
    turns: (session: string, page: Wire.PageQuery = {}) =>
      get<Wire.List<Wire.Turn>>(`/planner/sessions/${part(session)}/turns`, page),

    items: (project: string, query: Wire.ItemQuery = {}) =>
      get<Wire.List<Wire.ItemSummary>>(`/projects/${part(project)}/items`, query),
    runnable: (project: string, page: Wire.PageQuery = {}) =>
      get<Wire.List<Wire.ItemSummary>>(`/projects/${part(project)}/runnable`, page),
    createItem: (project: string, body: Wire.NewItem) => create<Wire.Item>(`/projects/${part(project)}/items`, body),
    item: (key: string) => get<Wire.Item>(`/items/${part(key)}`),
    /** `version` is the one that the change is based on; another one now: conflict. */
    updateItem: (key: string, body: Wire.ItemPatch) => patch<Wire.Item>(`/items/${part(key)}`, body),
    transition: (key: string, body: Wire.ItemTransition) => post<Wire.Item>(`/items/${part(key)}/transition`, body),
    history: (key: string, query: Wire.HistoryQuery = {}) =>
      get<Wire.List<Wire.Event>>(`/items/${part(key)}/history`, query),
    dependencies: (key: string) => get<Wire.ItemDependencies>(`/items/${part(key)}/dependencies`),
    addDependency: (key: string, body: Wire.NewDependency) =>
      create<Wire.Dependency>(`/items/${part(key)}/dependencies`, body),
    removeDependency: (id: string) => remove(`/dependencies/${part(id)}`),

    changesets: (project: string, query: Wire.ChangesetQuery = {}) =>
      get<Wire.List<Wire.ChangesetSummary>>(`/projects/${part(project)}/changesets`, query),
    proposeChangeset: (project: string, body: Wire.NewChangeset) =>
      create<Wire.Changeset>(`/projects/${part(project)}/changesets`, body),
    changeset: (id: string) => get<Wire.Changeset>(`/changesets/${part(id)}`),
    /** `operations` are indices from 0. */
    applyChangeset: (id: string, body: Wire.ApplyChangeset) =>
      post<Wire.Changeset>(`/changesets/${part(id)}/apply`, body),
    rejectChangeset: (id: string) => post<Wire.Changeset>(`/changesets/${part(id)}/reject`, {}),

    skills: (query: Wire.SkillQuery = {}) => get<Wire.List<Wire.SkillSummary>>('/skills', query),
    createSkill: (body: Wire.NewSkill) => create<Wire.Skill>('/skills', body),
    skill: (id: string) => get<Wire.Skill>(`/skills/${part(id)}`),
    /** `version`: the draft's, as it was read; another one now: conflict. */
    updateSkill: (id: string, body: Wire.SkillPatch) => patch<Wire.Skill>(`/skills/${part(id)}`, body),
    publishSkill: (id: string, body: Wire.SkillPublication) =>
      create<Wire.SkillVersion>(`/skills/${part(id)}/publish`, body),
    skillVersions: (id: string, query: Wire.VersionQuery = {}) =>
      get<Wire.List<Wire.SkillVersionSummary>>(`/skills/${part(id)}/versions`, query),
    skillVersion: (id: string, version: number) =>
      get<Wire.SkillVersion>(`/skills/${part(id)}/versions/${version}`),
    /** What the project uses, by name. */
    projectSkills: (project: string, page: Wire.PageQuery = {}) =>
      get<Wire.List<Wire.ResolvedSkill>>(`/projects/${part(project)}/skills`, page),
    skillPins: (project: string, page: Wire.PageQuery = {}) =>
      get<Wire.List<Wire.SkillPin>>(`/projects/${part(project)}/skill-pins`, page),
    /** Version 0: the newest. */
    pinSkill: (project: string, name: string, body: Wire.SkillPinInput) =>
      put<Wire.SkillPin>(`/projects/${part(project)}/skills/${part(name)}/pin`, body),
    unpinSkill: (project: string, name: string) => remove(`/projects/${part(project)}/skills/${part(name)}/pin`),

    knowledge: (organization: string, query: Wire.KnowledgeQuery = {}) =>
      get<Wire.List<Wire.KnowledgeSummary>>(entriesPath(organization), query),
    createKnowledge: (organization: string, body: Wire.NewKnowledge) =>
      create<Wire.KnowledgeEntry>(entriesPath(organization), body),
    knowledgeEntry: (organization: string, id: string) =>
      get<Wire.KnowledgeEntry>(`${entriesPath(organization)}/${part(id)}`),
    /** `version` is the one that the change is based on; another one now: conflict. */
    updateKnowledge: (organization: string, id: string, body: Wire.KnowledgePatch) =>
      patch<Wire.KnowledgeEntry>(`${entriesPath(organization)}/${part(id)}`, body),
    knowledgeVersions: (organization: string, id: string, query: Wire.VersionQuery = {}) =>
      get<Wire.List<Wire.KnowledgeVersionSummary>>(`${entriesPath(organization)}/${part(id)}/versions`, query),
    knowledgeVersion: (organization: string, id: string, version: number) =>
      get<Wire.KnowledgeVersion>(`${entriesPath(organization)}/${part(id)}/versions/${version}`),

    /** By words and meaning, best first. `warning`: by words alone, and why. */
    searchKnowledge: (organization: string, query: Wire.KnowledgeHitQuery) =>
      get<Wire.KnowledgeHits>(`/organizations/${part(organization)}/knowledge/search`, query),
    /** Items and skills, as `searchKnowledge`. */
    search: (query: Wire.HitQuery) => get<Wire.SearchHits>('/search', query),

    repositories: (page: Wire.PageQuery = {}) => get<Wire.List<Wire.Repository>>('/repositories', page),
    runs: (query: Wire.RunsQuery = {}) => get<Wire.List<Wire.Run>>('/bounded-runs', query),
    startRun: (body: Wire.NewRun) => create<Wire.StartedRun>('/bounded-runs', body),
    /** By the run's own id, or by its run id; `repo` (an alias) where several repositories have that. */
    run: (id: string, query: Wire.RunQuery = {}) => get<Wire.RunDetails>(`/bounded-runs/${part(id)}`, query),
    cancelRun: (id: string) => post<Record<string, unknown>>(`/bounded-runs/${part(id)}/cancel`, {}),
    /** Another role only with `approval`, "who, why". */
    resumeRun: (id: string, body: Wire.Resume = {}) =>
      create<Wire.StartedRun>(`/bounded-runs/${part(id)}/resume`, body),
    /** Text of metadata.json, checkpoint.md, recovery.md, events.jsonl or plan.md; by default the last attempt's. */
    runArtifact: (id: string, name: string, query: Wire.ArtifactQuery = {}) =>
      text(options, `/bounded-runs/${part(id)}/artifacts/${part(name)}${search(query)}`),

    revalidations: (query: Wire.RevalidationsQuery = {}) =>
      get<Wire.List<Wire.Revalidation>>('/revalidations', query),
    startRevalidation: (body: Wire.NewRevalidation) => create<Wire.StartedRevalidation>('/revalidations', body),
    revalidation: (id: string) => get<Wire.Revalidation>(`/revalidations/${part(id)}`),
    cancelRevalidation: (id: string) => post<Record<string, unknown>>(`/revalidations/${part(id)}/cancel`, {}),
    /** `failure`: one by its number; default: all that nobody has acknowledged. */
    acknowledgeRevalidation: (id: string, body: Wire.Acknowledgement = {}) =>
      create<Record<string, unknown>>(`/revalidations/${part(id)}/acknowledge`, body),
    /** Text of report.md, or of report.json. */
    revalidationReport: (id: string, query: Wire.ReportQuery = {}) =>
      text(options, `/revalidations/${part(id)}/report${search(query)}`),
    revalidationSchedules: (query: Wire.RevalidationSchedulesQuery = {}) =>
      get<Wire.List<Wire.RevalidationSchedule>>('/revalidation-schedules', query),
    createRevalidationSchedule: (body: Wire.NewRevalidationSchedule) =>
      create<Wire.RevalidationSchedule>('/revalidation-schedules', body),
    revalidationSchedule: (id: string) => get<Wire.RevalidationSchedule>(`/revalidation-schedules/${part(id)}`),
    updateRevalidationSchedule: (id: string, body: Wire.RevalidationSchedulePatch) =>
      patch<Wire.RevalidationSchedule>(`/revalidation-schedules/${part(id)}`, body),
    deleteRevalidationSchedule: (id: string) => remove(`/revalidation-schedules/${part(id)}`),
    triggerRevalidationSchedule: (id: string) =>
      create<Record<string, unknown>>(`/revalidation-schedules/${part(id)}/trigger`, {}),
    /** Times between `from` and `to`, at most 10. */
    backfillRevalidationSchedule: (id: string, body: Wire.Backfill) =>
      create<Wire.Backfilled>(`/revalidation-schedules/${part(id)}/backfill`, body),
  };
}

/** Every row of a paged list, in order: `for await (const turn of pages((page) => rest.turns(id, page)))`. */
export async function* pages<Row>(
  list: (page: { after?: string }) => Promise<Wire.List<Row>>,
): AsyncGenerator<Row, void, undefined> {
  let after: string | undefined;
  do {
    const page = await list(after === undefined ? {} : { after });
    yield* page.items;
    after = page.next;
  } while (after !== undefined);
}

/** An answer that is no JSON. */
async function text(options: RestOptions, path: string): Promise<string> {
  const { response, text, address } = await sent(options, 'GET', path, undefined, undefined);
  if (!response.ok) answer(response, text, address);
  return text;
}

async function request<Result>(
  options: RestOptions,
  method: string,
  path: string,
  body: object | undefined,
  repeatable: boolean,
): Promise<Result> {
  const key = method === 'POST' && repeatable ? newMessageId() : undefined;
  for (let attempt = 1; ; attempt++) {
    try {
      return (await once(options, method, path, body, key)) as Result;
    } catch (error) {
      const passing = error instanceof ConnectionError ? error.code === 'unreachable' : isUnavailable(error);
      if (!repeatable || !passing || attempt === 3) throw error;
      await new Promise((resolve) => setTimeout(resolve, 150 * 2 ** attempt * (0.5 + Math.random() / 2)));
    }
  }
}

async function once(
  options: RestOptions,
  method: string,
  path: string,
  body: object | undefined,
  key: string | undefined,
): Promise<unknown> {
  const { response, text, address } = await sent(options, method, path, body, key);
  return answer(response, text, address);
}

async function sent(
  options: RestOptions,
  method: string,
  path: string,
  body: object | undefined,
  key: string | undefined,
): Promise<{ response: Response; text: string; address: string }> {
  const token = typeof options.token === 'function' ? options.token() : options.token;
  const address = options.address.replace(/\/+$/, '');
  let response: Response;
  let text: string;
  try {
    response = await fetch(`${address}/api/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        accept: 'application/json',
        ...(body ? { 'content-type': 'application/json' } : {}),
        ...(key ? { 'idempotency-key': key } : {}),
      },
      ...(body ? { body: JSON.stringify(body) } : {}),
      signal: AbortSignal.timeout(options.timeout ?? 30_000),
    });
    text = await response.text();
  } catch (error) {
    if (error instanceof Error && error.name === 'TimeoutError') {
      throw new ConnectionError('timeout', `The API at ${address} did not answer in time.`);
    }
    throw new ConnectionError('unreachable', `The API at ${address} cannot be reached.`);
  }
  return { response, text, address };
}

function answer(response: Response, text: string, address: string): unknown {
  let body: unknown;
  try {
    body = text === '' ? {} : JSON.parse(text);
  } catch {
    body = undefined;
  }
  if (response.ok && body !== undefined) return body;
  if (isObject(body) && typeof body.error === 'string' && typeof body.message === 'string') {
    const wait = Number(response.headers.get('retry-after') ?? Number.NaN);
    throw new ApiError(response.status, body.error, body.message, Number.isFinite(wait) ? wait : undefined);
  }
  const message = `${address} answered ${response.status}, but not as the planner's API does.`;
  throw new ApiError(response.status, 'http', message);
}

function isUnavailable(error: unknown): boolean {
  return error instanceof ApiError && (error.status === 503 || error.status === 502 || error.status === 504);
}

function part(text: string): string {
  return encodeURIComponent(text);
}

function placePath(place: Wire.CredentialPlace): string {
  return 'project' in place ? `/projects/${part(place.project)}` : `/organizations/${part(place.organization)}`;
}

const entriesPath = (organization: string): string => `/organizations/${part(organization)}/knowledge/entries`;

function search(query: object): string {
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined);
  if (pairs.length === 0) return '';
  return `?${new URLSearchParams(pairs.map(([name, value]) => [name, String(value)]))}`;
}
