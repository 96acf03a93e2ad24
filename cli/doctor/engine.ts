// Of Temporal: reached, its namespace, its search attributes.

import { Connection } from '@temporalio/client';
import { searchAttributes } from '../../domain/search-attributes.ts';
import type { Whose } from './database.ts';
import { fail, look, ok, warn, type Finding } from './finding.ts';

const requestMs = 5_000;
const notFound = 5;

export async function examineEngine(address: string, namespace: string, { own }: Whose): Promise<Finding[]> {
  let connection: Connection;
  try {
    connection = await Connection.connect({ address, connectTimeout: requestMs });
  } catch (error) {
    const mend = own
      ? 'The stack starts it again by itself; see logs/temporal.log.'
      : 'Start it, or mend TEMPORAL_ADDRESS; without it "npm start" runs one of its own.';
    return [fail('engine', `Temporal at ${address} does not answer: ${firstLine(error)}`, mend)];
  }
  const inTime = <T>(ask: () => Promise<T>): Promise<T> => connection.withDeadline(Date.now() + requestMs, ask);
  try {
    const reached = await look('engine', () => describe(connection, address, namespace, inTime));
    if (reached.mark === 'fail') return [reached];
    return [reached, await look('search attributes', () => attributes(connection, namespace, inTime))];
  } finally {
    await connection.close();
  }
}

type InTime = <T>(ask: () => Promise<T>) => Promise<T>;

async function describe(
  connection: Connection,
  address: string,
  namespace: string,
  inTime: InTime,
): Promise<Finding> {
  try {
    await inTime(() => connection.workflowService.describeNamespace({ namespace }));
    const { serverVersion } = await inTime(() => connection.workflowService.getSystemInfo({}));
    return ok('engine', `Temporal ${serverVersion} answers at ${address}, namespace ${namespace}`);
  } catch (error) {
    if ((error as { code?: unknown }).code === notFound) {
      const make = `temporal operator namespace create --address ${address} --namespace ${namespace}`;
      const text = `Temporal at ${address} has no namespace ${namespace}`;
      return fail('engine', text, `Set TEMPORAL_NAMESPACE, or: ${make}`);
    }
    const text = `Temporal at ${address}, namespace ${namespace}: ${firstLine(error)}`;
    return fail('engine', text, 'Mend that at the server.');
  }
}

/** Without them workflows run all the same; operators can't filter by them. */
async function attributes(connection: Connection, namespace: string, inTime: InTime): Promise<Finding> {
  const what = 'search attributes';
  const { customAttributes } = await inTime(() => connection.operatorService.listSearchAttributes({ namespace }));
  const missing = searchAttributes.filter((name) => !(name in (customAttributes ?? {})));
  if (missing.length === 0) return ok(what, `all ${searchAttributes.length} are registered`);
  const names = missing.map((name) => `--name ${name} --type Keyword`).join(' ');
  const mend =
    'Workers register them where the server lets them; else: ' +
    `temporal operator search-attribute create --namespace ${namespace} ${names}`;
  return warn(what, `${missing.join(', ')}: not registered`, mend);
}

const firstLine = (error: unknown): string => (error as Error).message.split('\n')[0] ?? '';
