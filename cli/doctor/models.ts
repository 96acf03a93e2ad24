// Of models: the endpoint that answers, the one that embeds. Nothing is asked that is paid for.

import type { Config } from '../../config/index.ts';
import { withoutPassword } from '../../config/index.ts';
import { openEmbedder } from '../../models/embeddings/index.ts';
import { findMinilm } from '../../models/embeddings/minilm-files.ts';
import { fail, ok, warn, type Finding } from './finding.ts';

const answerMs = 10_000;

interface Endpoint {
  what: 'model' | 'embeddings';
  baseUrl: string;
  apiKey: string;
  name: string;
  /** Names of the variables that mend it. */
  variables: { baseUrl: string; apiKey: string; name: string };
}

export async function model({ model: { baseUrl, apiKey, name, demo } }: Config): Promise<Finding> {
  if (demo) {
    const real = 'for a real one set PLANNER_MODEL_BASE_URL, PLANNER_MODEL_API_KEY and PLANNER_MODEL';
    return ok('model', `the built-in demo model, which plans by rule; ${real}`);
  }
  const variables = { baseUrl: 'PLANNER_MODEL_BASE_URL', apiKey: 'PLANNER_MODEL_API_KEY', name: 'PLANNER_MODEL' };
  return listModels({ what: 'model', baseUrl, apiKey, name, variables });
}

export async function embeddings({ embeddings: { endpoint, toolsDir } }: Config): Promise<Finding> {
  if (endpoint) {
    const { baseUrl, apiKey, model: name } = endpoint;
    const variables = {
      baseUrl: 'PLANNER_EMBEDDINGS_BASE_URL',
      apiKey: 'PLANNER_EMBEDDINGS_API_KEY',
      name: 'PLANNER_EMBEDDINGS_MODEL',
    };
    return listModels({ what: 'embeddings', baseUrl, apiKey, name, variables });
  }
  if (!findMinilm(toolsDir)) return ok('embeddings', 'the local sentence model, fetched by the first start');
  return local({ endpoint, toolsDir });
}

/** The local model, tried: its runtime is native, and may not fit this computer. */
async function local(settings: Config['embeddings']): Promise<Finding> {
  const warnings: string[] = [];
  const embedder = openEmbedder(settings, (message) => warnings.push(message));
  try {
    const { model: name } = await embedder.query('a release plan');
    if (warnings.length === 0) return ok('embeddings', `the local sentence model works (${name})`);
    const mend = 'Set PLANNER_EMBEDDINGS_BASE_URL and PLANNER_EMBEDDINGS_MODEL to an endpoint, or use what it names.';
    return warn('embeddings', warnings.join(' '), mend);
  } finally {
    await embedder.close();
  }
}

/** GET {base}/models: costs nothing, and tells whether address, key and name are right. */
async function listModels(endpoint: Endpoint): Promise<Finding> {
  const { what, baseUrl, apiKey, name, variables } = endpoint;
  const address = withoutPassword(baseUrl);
  let response: Response;
  try {
    response = await fetch(`${baseUrl.replace(/\/+$/, '')}/models`, {
      headers: apiKey === '' ? {} : { authorization: `Bearer ${apiKey}` },
      signal: AbortSignal.timeout(answerMs),
    });
  } catch (error) {
    const mend = `Mend ${variables.baseUrl}, start the endpoint, or see to network and proxy.`;
    return fail(what, `${address} can't be reached: ${causeOf(error)}`, mend);
  }
  const { status } = response;
  if (status === 401 || status === 403) {
    const key = apiKey === '' ? 'no key is set' : 'the key is not accepted';
    return fail(what, `${address} answers ${status}: ${key}`, `Set ${variables.apiKey} to a valid one.`);
  }
  const names = response.ok ? namesOf(await response.text()) : undefined;
  if (!names) {
    const mend =
      `It may answer all the same. If not: ${variables.baseUrl} goes up to and without /chat/completions, ` +
      'such as https://host/v1.';
    return warn(what, `${address} answers ${status} and lists no models`, mend);
  }
  if (names.includes(name)) return ok(what, `${name} at ${address}`);
  const some = `${names.slice(0, 5).join(', ')}${names.length > 5 ? ', ...' : ''}`;
  const mend = `If it is refused, set ${variables.name} to one of them.`;
  return warn(what, `${address} answers; ${name} is none of the ${names.length} models that it lists (${some})`, mend);
}

function namesOf(text: string): string[] | undefined {
  try {
    const { data } = JSON.parse(text) as { data?: { id?: unknown }[] };
    return Array.isArray(data) ? data.map(({ id }) => String(id)) : undefined;
  } catch {
    return undefined;
  }
}

/** `ECONNREFUSED`, a certificate's complaint: what fetch hides below its own words. */
function causeOf(error: unknown): string {
  const { name, message, cause } = error as Error & { cause?: { code?: string; message?: string } };
  if (name === 'TimeoutError') return `no answer within ${answerMs / 1_000} s`;
  return cause?.code ?? cause?.message ?? message;
}
