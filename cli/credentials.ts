// `planner credentials reseal`: stored credentials under the newest key, so that older ones can be dropped.

import { loadConfig } from '../config/index.ts';
import { openDatabase } from '../store/database.ts';
import { resealCredentials, type Resealed } from '../store/credentials.ts';
import { keyring } from '../store/sealing.ts';
import { UsageError } from './print.ts';
import { dataFolder, type Environment } from './target.ts';

/** Works on the database itself. Errors: UsageError without a key to seal with. */
export async function resealCommand(databaseUrl: string, env: Environment): Promise<string> {
  const { secretKeys: keys } = loadConfig(env, dataFolder(env));
  if (keys.length === 0) {
    throw new UsageError(
      'Set PLANNER_SECRET_KEY to the new key, and PLANNER_SECRET_KEYS_OLD to the former ones (that of "npm start" is ' +
        'in secret.key of the data folder).',
    );
  }
  const database = openDatabase(databaseUrl, { max: 1, name: 'planner-credentials' });
  try {
    return told(await resealCredentials(database, keyring(keys)));
  } finally {
    await database.close();
  }
}

function told({ resealed, current, lost }: Resealed): string {
  const lines = [`Sealed anew: ${resealed}. Sealed under the newest key already: ${current}.`];
  if (lost.length === 0) lines.push('No other key is needed any more: PLANNER_SECRET_KEYS_OLD can be unset.');
  for (const { organization, project, provider } of lost) {
    const where = project === undefined ? `organization ${organization}` : `project ${project}`;
    lines.push(`Could not be opened, its key is missing: ${provider} of ${where}. Name the key, or store it anew.`);
  }
  return lines.join('\n');
}
