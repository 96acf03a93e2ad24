// Where a project's model calls go: endpoint, key and model as they hold now, else what a person has to set
// (spec: planner 9).

import { defaultProvider } from '../domain/models.ts';
import { firstCharacters } from '../domain/text.ts';
import type { FailureClass } from '../domain/turn.ts';
import type { ModelSettings } from '../models/gateway.ts';
import { openCredential, type OpenCredential } from '../store/credentials.ts';
import type { Queryable } from '../store/database.ts';
import type { Project } from '../store/projects.ts';
import { CannotOpen, type Keyring } from '../store/sealing.ts';
import type { Installation, ResolvedSettings } from '../store/settings.ts';

/** What the installation brings to the choice of an endpoint. */
export interface Endpoints {
  /** Its endpoint, key and model, and the limits of a call. */
  settings: ModelSettings;
  installation: Installation;
  /** The endpoint is the built-in demo model: nobody's key and no other model's name goes there. */
  demo: boolean;
  /** Open stored credentials. */
  keys: Keyring;
}

/** Why a call may not be made: a class for the engine, a text for the human. */
export interface CallRefused {
  failure: FailureClass;
  text: string;
}

const openaiUrl = 'https://api.openai.com/v1';

/** Where a setting is changed, in words. */
const settingAt = (name: string, { key, organization_key }: Project, variable: string): string =>
  `Set ${name} for the project (PATCH /api/v1/projects/${key} with settings.${name}), for its organization ` +
  `(PATCH /api/v1/organizations/${organization_key}), or for the installation (${variable}).`;

const credentialAt = (provider: string, { key, organization_key }: Project): string =>
  `PUT /api/v1/projects/${key}/credentials/${provider} or ` +
  `PUT /api/v1/organizations/${organization_key}/credentials/${provider}`;

/**
 * The project's own credential of its provider, else its organization's, else the installation's; `not_configured` where
 * none can be used. The installation's key goes to the installation's endpoint alone.
 */
export async function endpointOf(
  q: Queryable,
  gateway: Endpoints,
  project: Project,
  resolved: ResolvedSettings,
): Promise<ModelSettings | CallRefused> {
  const { provider } = resolved;
  let stored: OpenCredential | undefined;
  try {
    stored = await openCredential(q, gateway.keys, project, provider);
  } catch (error) {
    if (!(error instanceof CannotOpen)) throw error;
    return unreadable(error, provider, project);
  }
  const own = gateway.settings;
  if (!stored && provider !== defaultProvider) {
    return notConfigured(
      `No credential is stored for the model provider ${provider}, which this project is set to use. Store one ` +
        `(${credentialAt(provider, project)}), or choose another provider.`,
    );
  }
  if (stored) {
    const installationUrl = gateway.demo || own.baseUrl === '' ? openaiUrl : own.baseUrl;
    if (gateway.demo && resolved.model_from === 'installation') {
      const where = settingAt('model', project, 'PLANNER_MODEL');
      return notConfigured(`No model is chosen for the stored credential. ${where}`);
    }
    const endpoint = { baseUrl: stored.baseUrl ?? installationUrl, apiKey: stored.apiKey, model: resolved.model };
    return complete(own, endpoint, project, storedPlaces(stored, provider, project));
  }
  if (gateway.demo && resolved.model !== gateway.installation.model) {
    return notConfigured(
      `The model ${firstCharacters(resolved.model, 100)} is chosen, but no credential for it: this installation has ` +
        `only the demo model. Store one (${credentialAt(provider, project)}), or set PLANNER_MODEL_API_KEY.`,
    );
  }
  return complete(own, { baseUrl: own.baseUrl, apiKey: own.apiKey, model: resolved.model }, project, undefined);
}

function complete(
  own: ModelSettings,
  endpoint: Pick<ModelSettings, 'baseUrl' | 'apiKey' | 'model'>,
  project: Project,
  places: ModelSettings['places'],
): ModelSettings | CallRefused {
  if (endpoint.model === '') {
    return notConfigured(`No model is chosen. ${settingAt('model', project, 'PLANNER_MODEL')}`);
  }
  if (endpoint.baseUrl === '') {
    return notConfigured(
      'No model provider is configured. Store a credential ' +
        `(${credentialAt(defaultProvider, project)}), or set PLANNER_MODEL_BASE_URL and PLANNER_MODEL_API_KEY.`,
    );
  }
  return { ...own, ...endpoint, ...(places ? { places } : {}) };
}

/** Where a person mends what the provider refuses. */
function storedPlaces(
  stored: OpenCredential,
  provider: string,
  { key, organization_key }: Project,
): NonNullable<ModelSettings['places']> {
  const path = stored.from === 'project' ? `projects/${key}` : `organizations/${organization_key}`;
  const credential = `the ${stored.from}'s credential, PUT /api/v1/${path}/credentials/${provider}`;
  const model = `settings.model of the project or organization, PLANNER_MODEL`;
  return { key: credential, baseUrl: stored.baseUrl === undefined ? 'PLANNER_MODEL_BASE_URL' : credential, model };
}

function unreadable({ why }: CannotOpen, provider: string, project: Project): CallRefused {
  const reason =
    why === 'no key'
      ? 'the installation no longer has the key that sealed it. Set PLANNER_SECRET_KEY (an older key: ' +
        'PLANNER_SECRET_KEYS_OLD) for the workers, or store the credential anew'
      : 'it is damaged. Store it anew';
  const where = credentialAt(provider, project);
  return notConfigured(`The stored credential for the model provider ${provider} can't be used: ${reason} (${where}).`);
}

const notConfigured = (text: string): CallRefused => ({ failure: 'not_configured', text });
