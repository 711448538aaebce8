import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import type { Ports } from '../../../src/dev/processes/free-port.js';
import type { Report } from '../../../src/dev/processes/run-command.js';
import type { ServerProcess } from '../../../src/dev/servers/server-process.js';
import { probeTemporal } from '../../../src/dev/servers/temporal/start-temporal.js';
import { SEARCH_ATTRIBUTES } from '../../../src/platform/temporal/search-attributes.js';
import { LOOPBACK } from '../../production-shape/place.js';
import { NAMESPACE, startTemporalServer } from '../../production-shape/servers/temporal.js';

/** The parts of the benchmark that a Temporal server needs. */
export interface TemporalStart {
  env: NodeJS.ProcessEnv;
  folder: string;
  ports: Ports;
  report: Report;
  /** Ends the server with the benchmark. */
  keep: (server: ServerProcess) => ServerProcess;
}

export interface StartedTemporal {
  address: string;
  temporal: ServerProcess;
  postgresql?: ServerProcess;
}

/** Temporal's enum value for Keyword. */
const KEYWORD = 2;
const ATTRIBUTES_WITHIN_MS = 60_000;

/** Starts Temporal Server on PostgreSQL, as `deploy/production-shape` does, with our search attributes. */
export async function startRealTemporal({ keep, ...shared }: TemporalStart): Promise<StartedTemporal> {
  const kept = new Map<string, ServerProcess>();
  const address = await startTemporalServer({
    ...shared,
    signal: new AbortController().signal,
    place: () => LOOPBACK,
    keep(name, server) {
      kept.set(name, server);
      return keep(server);
    },
    atEnd: () => undefined,
  });
  await registerAttributes(address);
  const [temporal, postgresql] = [kept.get('Temporal'), kept.get('PostgreSQL')];
  if (temporal === undefined || postgresql === undefined) throw new Error('Temporal Server has not started.');
  return { address, temporal, postgresql };
}

/** A server that has just started knows a new namespace only some seconds later. */
async function registerAttributes(address: string): Promise<void> {
  const connection = await Connection.connect({ address });
  const giveUpAt = Date.now() + ATTRIBUTES_WITHIN_MS;
  const searchAttributes = Object.fromEntries(Object.keys(SEARCH_ATTRIBUTES).map((name) => [name, KEYWORD]));
  try {
    for (;;) {
      try {
        await connection.operatorService.addSearchAttributes({ namespace: NAMESPACE, searchAttributes });
        return await probeTemporal(address, NAMESPACE);
      } catch (error) {
        if (await isReady(address)) return;
        if (Date.now() > giveUpAt) throw error;
        await sleep(1_000);
      }
    }
  } finally {
    await connection.close();
  }
}

function isReady(address: string): Promise<boolean> {
  return probeTemporal(address, NAMESPACE).then(
    () => true,
    () => false,
  );
}
