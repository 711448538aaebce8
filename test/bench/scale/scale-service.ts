import { randomUUID } from 'node:crypto';
import { Client, Connection } from '@temporalio/client';
import { openDatabase } from '../../../src/database.js';
import { parseConfig } from '../../../src/platform/config/config.js';
import { createIndexes } from '../../../src/platform/mongo/indexes.js';
import { createHttpClient } from '../stack/http.js';
import { startRole, type NodeOptions, type NodeProcess } from '../stack/node-process.js';
import type { BenchServers } from '../stack/servers.js';
import { createCustomer, roleEnvironment } from '../stack/service.js';
import { startCarrierStub } from './carrier/carrier-stub.js';

/** A simulated number; the stub accepts every number. */
const CALLEE = '+12025550100';
/** Calls per customer, as many as the largest plan allows, because each has its documents for money and slots. */
const CALLS_PER_CUSTOMER = 500;
const BALANCE_MICROS = 100_000_000_000;
const LONGEST_CALL_SECONDS = 14_400;
/** Enough that no request waits in the client. */
const CONNECTIONS = 256;
const FIRST_CALL_WITHIN_MS = 30_000;

export type ScaleService = Awaited<ReturnType<typeof startScaleService>>;

/** The response to a request for a call. */
export interface Placed {
  status: number;
  /** Absent if the call was not accepted. */
  callId?: string;
  /** The body of a response that accepts no call. */
  error?: string;
  ms: number;
}

export interface ScaleWorker extends NodeProcess {
  /** The address of the metrics of Temporal's SDK. */
  metricsAddress: string;
}

/**
 * Starts the API, workers and the carrier stub, with as many customers as the calls need.
 * @param options.calls the number of calls that will be open at once
 * @param options.maxCachedCalls live calls that a worker keeps in memory
 * @param options.activitySlots activities that a worker runs at once; absent: the default
 */
export async function startScaleService(
  servers: BenchServers,
  options: NodeOptions & { calls: number; maxCachedCalls: number; activitySlots?: number; workers?: number },
) {
  const id = randomUUID();
  const [apiPort, carrierPort] = [await servers.ports.take(), await servers.ports.take()];
  const taskQueue = servers.newTaskQueue();
  const env = roleEnvironment(servers, {
    MONGODB_URI: servers.mongodbUri(`scale_${id}`, { monitored: options.commandsFile !== undefined }),
    TEMPORAL_TASK_QUEUE: taskQueue,
    API_PORT: String(apiPort),
    PUBLIC_BASE_URL: `http://127.0.0.1:${apiPort}`,
    SIMULATOR_URL: `http://127.0.0.1:${carrierPort}`,
    RING_SECONDS: '120',
    WORKER_MAX_CACHED_CALLS: String(options.maxCachedCalls),
    ...(options.activitySlots !== undefined && { WORKER_ACTIVITY_SLOTS: String(options.activitySlots) }),
  });
  const config = parseConfig(env);
  const { carrierAccountId, authToken } = config.carriers.live;
  const database = await openDatabase(servers.mongodbUri(`scale_${id}`));
  await createIndexes(database);
  const customers = await createCustomers(database, config.apiKeyPepper, options.calls);
  const { temporalAddress } = servers;
  const carrier = await startCarrierStub(servers, { port: carrierPort, carrierAccountId, authToken, temporalAddress });
  const connection = await Connection.connect({ address: temporalAddress });
  const api = await startRole(servers, 'api', env, options);
  const http = createHttpClient(`http://127.0.0.1:${apiPort}`, CONNECTIONS);
  let next = 0;

  async function startWorker(own: NodeJS.ProcessEnv = {}): Promise<ScaleWorker> {
    const metricsAddress = `127.0.0.1:${await servers.ports.take()}`;
    const all = { ...env, WORKER_METRICS_ADDRESS: metricsAddress, ...own };
    return Object.assign(await startRole(servers, 'worker', all, options), { metricsAddress });
  }

  const workers: ScaleWorker[] = [];
  for (let count = 0; count < (options.workers ?? 1); count += 1) workers.push(await startWorker());

  return {
    database,
    carrier,
    api,
    /** Those that run; the caller adds and removes them. */
    workers,
    startWorker,
    taskQueue,
    client: new Client({ connection }),

    /** Requests a call of the next customer, whatever the response is. */
    async place(): Promise<Placed> {
      const customer = customers[next++ % customers.length];
      if (customer === undefined) throw new Error('there is no customer');
      const json = { to_phone_number: CALLEE, agent_id: customer.agentId, webhook_url: carrier.inboxUrl };
      const headers = { authorization: `Bearer ${customer.liveKey}` };
      const began = performance.now();
      const { status, body } = await http.request('POST', '/outbound_call', { headers, json });
      const ms = performance.now() - began;
      return status === 200
        ? { status, ms, callId: (JSON.parse(body) as { call_id: string }).call_id }
        : { status, ms, error: body };
    },

    /** Resolves when a call is accepted, so that every role serves. */
    async ready(): Promise<string> {
      const giveUpAt = Date.now() + FIRST_CALL_WITHIN_MS;
      for (;;) {
        const { status, callId } = await this.place();
        if (callId !== undefined) return callId;
        if (Date.now() > giveUpAt) throw new Error(`the first calls were rejected with ${status}`);
        await new Promise((resolve) => setTimeout(resolve, 500));
      }
    },

    async stop(): Promise<void> {
      await http.close();
      await Promise.all([api, ...workers].map((role) => role.stop(8_000)));
      await carrier.stop();
      await connection.close();
      await database.connection.dropDatabase();
      await database.close();
    },
  };
}

async function createCustomers(database: Parameters<typeof createCustomer>[0], pepper: string, calls: number) {
  const customers: Awaited<ReturnType<typeof createCustomer>>[] = [];
  while (customers.length * CALLS_PER_CUSTOMER < calls + CALLS_PER_CUSTOMER)
    customers.push(
      await createCustomer(database, pepper, {
        balanceMicros: BALANCE_MICROS,
        maxDurationSeconds: LONGEST_CALL_SECONDS,
      }),
    );
  return customers;
}
