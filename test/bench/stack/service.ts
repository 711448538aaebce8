import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createAgents } from '../../../src/agents/agents.js';
import { createLedger } from '../../../src/billing/ledger/ledger.js';
import { openDatabase, type Database } from '../../../src/database.js';
import { createAccounts } from '../../../src/identity/accounts/accounts.js';
import { createApiKeys } from '../../../src/identity/api-keys/api-keys.js';
import { ledgerAccountId } from '../../../src/kernel/ids.js';
import { parseConfig } from '../../../src/platform/config/config.js';
import { createIndexes } from '../../../src/platform/mongo/indexes.js';
import { createHttpClient, startInbox } from './http.js';
import { startRole, type NodeOptions } from './node-process.js';
import type { BenchServers } from './servers.js';

/** The simulated callee who is busy, so that a call ends without audio. */
export const BUSY_CALLEE = '+12025550101';
/** The simulated callee whose phone rings and is not answered. */
export const SILENT_CALLEE = '+12025550102';

const BALANCE_MICROS = 1_000_000_000;
const CONNECTIONS = 32;
const FIRST_CALL_ATTEMPTS = 20;
const FIRST_CALL_PAUSE_MS = 1_000;

/** The service has rejected a request because the machine was too busy. */
export class Unavailable extends Error {}

export type BenchService = Awaited<ReturnType<typeof startBenchService>>;

/**
 * Starts the roles that a call without audio needs, as separate processes from the build, with a customer whose limits
 * the benchmark does not reach.
 * @param options.ringSeconds how long a phone rings; 30 s by default
 * @param options.environment returns further variables for a process
 */
export async function startBenchService(
  servers: BenchServers,
  options: NodeOptions & { ringSeconds?: number; environment?: () => Promise<Record<string, string>> } = {},
) {
  const id = randomUUID();
  const [apiPort, simulatorPort] = [await servers.ports.take(), await servers.ports.take()];
  const env = roleEnvironment(servers, {
    MONGODB_URI: servers.mongodbUri(`bench_${id}`, { monitored: options.commandsFile !== undefined }),
    TEMPORAL_TASK_QUEUE: servers.newTaskQueue(),
    API_PORT: String(apiPort),
    PUBLIC_BASE_URL: `http://127.0.0.1:${apiPort}`,
    SIMULATOR_PORT: String(simulatorPort),
    SIMULATOR_URL: `http://127.0.0.1:${simulatorPort}`,
    RING_SECONDS: String(options.ringSeconds ?? 30),
  });
  const config = parseConfig(env);
  const database = await openDatabase(servers.mongodbUri(`bench_${id}`));
  await createIndexes(database);
  const inbox = await startInbox();
  const customer = await createCustomer(database, config.apiKeyPepper);
  const observed = async () => ({ ...env, ...(await options.environment?.()) });
  const roles = {
    api: await startRole(servers, 'api', await observed(), options),
    worker: await startRole(servers, 'worker', await observed(), options),
    simulator: await startRole(servers, 'simulator', env),
  };
  const client = createHttpClient(`http://127.0.0.1:${apiPort}`, CONNECTIONS);
  const headers = { authorization: `Bearer ${customer.liveKey}` };

  return {
    database,
    config,
    env,
    inbox,
    roles,

    /** Sends a request with the customer's live key. @throws Error if the response has another status */
    async request(method: 'GET' | 'POST', path: string, options_: { json?: object; status?: number } = {}) {
      const { json, status = 200 } = options_;
      const response = await client.request(method, path, { headers, ...(json && { json }) });
      if (response.status === 503 && status !== 503) throw new Unavailable(`${method} ${path}: 503 ${response.body}`);
      if (response.status !== status) throw new Error(`${method} ${path}: ${response.status} ${response.body}`);
      return response.body;
    },

    /** Places a call whose webhook goes to the inbox. Returns its id when the API has responded. */
    async place(callee = BUSY_CALLEE): Promise<string> {
      const json = { to_phone_number: callee, agent_id: customer.agentId, webhook_url: inbox.url };
      const { call_id: callId } = JSON.parse(await this.request('POST', '/outbound_call', { json })) as {
        call_id: string;
      };
      return callId;
    },

    /** Runs one call to its end. Repeats the request if the roles are not fast enough yet. */
    async firstCall(): Promise<string> {
      for (let attempt = 1; ; attempt += 1) {
        try {
          const callId = await this.place();
          await inbox.received(callId);
          return callId;
        } catch (error) {
          if (attempt === FIRST_CALL_ATTEMPTS) throw error;
          await sleep(FIRST_CALL_PAUSE_MS);
        }
      }
    },

    async stop(): Promise<void> {
      await client.close();
      for (const role of [roles.api, roles.simulator, roles.worker]) await role.stop(8_000);
      await inbox.close();
      await database.connection.dropDatabase();
      await database.close();
    },
  };
}

/** Returns the environment that all roles of the benchmark share. */
export function roleEnvironment(servers: BenchServers, own: Record<string, string>): NodeJS.ProcessEnv {
  const { PATH, HOME } = process.env;
  return {
    PATH,
    HOME,
    LOG_LEVEL: 'info',
    TEMPORAL_ADDRESS: servers.temporalAddress,
    STREAM_URL: 'ws://127.0.0.1:9/stream',
    ...own,
  };
}

/**
 * Creates a customer with a live key and an agent.
 * @param options.maxDurationSeconds how long its calls may last; 600 s by default
 */
export async function createCustomer(
  database: Database,
  pepper: string,
  options: { balanceMicros?: number; maxDurationSeconds?: number } = {},
) {
  const { balanceMicros = BALANCE_MICROS, maxDurationSeconds } = options;
  const accounts = createAccounts(database);
  const { _id: accountId } = await accounts.create({ name: 'Benchmark', plan: 'scale' });
  await accounts.setLimits(accountId, { requestsPerMinute: 1_000_000, concurrentCalls: 100_000 });
  await createLedger(database).topUp({
    ledgerAccountId: ledgerAccountId(accountId, 'live'),
    paymentId: randomUUID(),
    amountMicros: balanceMicros,
  });
  const agent = await createAgents(database).create({
    accountId,
    name: 'Reminders',
    instruction: 'Remind the caller of the appointment.',
    voice: 'amber',
    language: 'en-US',
    ...(maxDurationSeconds === undefined ? {} : { maxDurationSeconds }),
  });
  const keys = createApiKeys({ database, pepper });
  const { secret: liveKey } = await keys.create({ accountId, mode: 'live', name: 'Benchmark' });
  return { accountId, agentId: agent._id, liveKey };
}
