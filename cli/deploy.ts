// `planner deploy`: which version of the workers gets new turns and runs
// (spec: orchestration "Change without breakage").

import { setTimeout as sleep } from 'node:timers/promises';
import { Connection, isGrpcServiceError } from '@temporalio/client';
import { loadConfig } from '../config/index.ts';
import { isOwnDeployment } from '../domain/deployment.ts';
import { plannerTaskQueue } from '../domain/turn.ts';
import { buildId } from '../worker/build-id.ts';
import { UsageError } from './print.ts';
import { readStack } from './stack/stack-file.ts';
import { dataFolder, type Environment } from './target.ts';

interface Version {
  deployment: string;
  build: string;
  status: string;
  since: string | undefined;
}

const statuses = ['unknown', 'inactive', 'current', 'ramping', 'draining', 'drained', 'created'];
const failedPrecondition = 9;
/** Milliseconds in which the queues of workers that have just started become known. */
const settleMs = 20_000;

/** The versions of all queues. */
export async function listDeployments(env: Environment, { json = false }: { json?: boolean } = {}): Promise<string> {
  const versions = await withTemporal(env, (temporal) => versionsOf(temporal));
  if (json) return JSON.stringify(versions, null, 2);
  if (versions.length === 0) return 'No versions: no worker has run with PLANNER_WORKER_VERSIONING=1.';
  return versions.map(({ deployment, build, status }) => `${deployment}  ${build}  ${status}`).join('\n');
}

/**
 * Makes a version the one that new turns and runs begin with, on every queue that has workers of it. Default: that of
 * this installation's own code. Errors: UsageError where no worker of it has run.
 */
export async function deployCurrent(env: Environment, named?: string): Promise<string> {
  const build = named ?? (await buildId());
  return withTemporal(env, async (temporal) => {
    const found = (await versionsOf(temporal)).filter((version) => version.build === build);
    if (!found.some(({ deployment }) => deployment === plannerTaskQueue)) {
      throw new UsageError(
        `No worker of version ${build} is there. Start workers of it with PLANNER_WORKER_VERSIONING=1, then repeat; ` +
          '"planner deploy list" shows the versions that there are.',
      );
    }
    // Hosts first: what a new turn or run asks of them must find them.
    found.sort((a, b) => Number(a.deployment === plannerTaskQueue) - Number(b.deployment === plannerTaskQueue));
    const lines: string[] = [];
    for (const version of found) lines.push(await makeCurrent(temporal, version));
    return lines.join('\n');
  });
}

async function makeCurrent({ connection, namespace }: Temporal, version: Version): Promise<string> {
  const { deployment, build } = version;
  if (version.status === 'current') return `${deployment}: ${build} is current already`;
  const request = { namespace, deploymentName: deployment, buildId: build, identity: 'planner deploy' };
  for (const deadline = Date.now() + settleMs; ; ) {
    try {
      await connection.workflowService.setWorkerDeploymentCurrentVersion(request);
      return `${deployment}: ${build} is current`;
    } catch (error) {
      if (!isGrpcServiceError(error) || Number(error.code) !== failedPrecondition) throw error;
      if (Date.now() > deadline) throw new UsageError(`${deployment}: Temporal refuses ${build}: ${error.details}`);
      await sleep(500);
    }
  }
}

async function versionsOf({ connection, namespace }: Temporal): Promise<Version[]> {
  const names: string[] = [];
  let nextPageToken: Uint8Array | undefined;
  do {
    const page = await connection.workflowService.listWorkerDeployments({
      namespace,
      pageSize: 100,
      ...(nextPageToken ? { nextPageToken } : {}),
    });
    names.push(...page.workerDeployments.map(({ name }) => name ?? '').filter(isOwnDeployment));
    nextPageToken = page.nextPageToken.length > 0 ? page.nextPageToken : undefined;
  } while (nextPageToken);
  const all = await Promise.all(names.sort().map(async (deploymentName): Promise<Version[]> => {
    const { workerDeploymentInfo } = await connection.workflowService.describeWorkerDeployment({
      namespace,
      deploymentName,
    });
    return (workerDeploymentInfo?.versionSummaries ?? []).map(({ deploymentVersion, status, createTime }) => ({
      deployment: deploymentName,
      build: deploymentVersion?.buildId ?? '',
      status: statuses[status ?? 0] ?? 'unknown',
      since: createTime?.seconds ? new Date(Number(createTime.seconds) * 1_000).toISOString() : undefined,
    }));
  }));
  return all.flat();
}

interface Temporal {
  connection: Connection;
  namespace: string;
}

async function withTemporal<T>(env: Environment, act: (temporal: Temporal) => Promise<T>): Promise<T> {
  const folder = dataFolder(env);
  const { temporal } = loadConfig(env, folder);
  const address = temporal.address ?? readStack(folder)?.temporal;
  if (!address) throw new UsageError('Set TEMPORAL_ADDRESS, host:port, or run "npm start" first.');
  const connection = await Connection.connect({ address, connectTimeout: 10_000 }).catch(() => {
    throw new UsageError(`Temporal at ${address} can't be reached. Is it running? TEMPORAL_ADDRESS names another one.`);
  });
  try {
    return await connection.withDeadline(Date.now() + 60_000, () =>
      act({ connection, namespace: temporal.namespace }),
    );
  } finally {
    await connection.close();
  }
}
