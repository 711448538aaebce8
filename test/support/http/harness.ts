import { randomUUID } from 'node:crypto';
import { basename, join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { createCallGateway } from '../../../src/calls/gateway.js';
import { sign, type SignedParams } from '../../../src/telephony/twilio/signature.js';
import { createCarriers } from '../../../src/telephony/carriers.js';
import type { CarrierFactory } from '../../../src/telephony/port.js';
import { parseConfig, type Config } from '../../../src/platform/config/config.js';
import { ledgerAccountId, type Mode } from '../../../src/kernel/ids.js';
import type { ConnectionLimits } from '../../../src/platform/http/connection-limits.js';
import { createApiServer } from '../../../src/api/server.js';
import { createAccounts } from '../../../src/identity/accounts/accounts.js';
import { createAgents } from '../../../src/agents/agents.js';
import { createApiKeys } from '../../../src/identity/api-keys/api-keys.js';
import { createIndexes } from '../../../src/platform/mongo/indexes.js';
import { openDatabase } from '../../../src/database.js';
import { createLedger } from '../../../src/billing/ledger/ledger.js';
import type { AccountDocument } from '../../../src/identity/accounts/model.js';
import type { AgentDocument } from '../../../src/agents/model.js';
import { connectionOptions } from '../../../src/platform/temporal/connection.js';
import { createDataConverter } from '../../../src/platform/temporal/data-converter.js';
import { withDeploymentTokens } from '../../../src/platform/secrets/deployment-tokens.js';
import type { Passwords } from '../../../src/identity/people/passwords.js';
import { createPhoneNumbers } from '../../../src/agents/numbers/phone-numbers.js';
import { createLogger } from '../../../src/platform/telemetry/logger.js';
import { bundleFile } from '../../../workers/bundle.js';
import { runWorker } from '../../../workers/worker.js';

export const PUBLIC_BASE_URL = 'https://calls.test';
export const STREAM_URL = 'wss://stream.test/audio';

/**
 * A port at which no carrier listens. A dial fails at once, in a way that proves that no call was placed, and the call
 * ends.
 */
const CLOSED_PORT = 'http://127.0.0.1:9';

export interface Customer {
  account: AccountDocument;
  agent: AgentDocument;
  liveKey: string;
  testKey: string;
}

export interface ServiceResponse {
  status: number;
  headers: Headers;
  text: string;
  /** The parsed body of a JSON response; an empty object for any other response. */
  json: Record<string, unknown>;
}

export type Service = Awaited<ReturnType<typeof startService>>;

/**
 * Starts the real application on a free port, with its own database and task queues on the shared servers.
 * @param options.minDeadlineMs the minimum deadline of requests: 10 s by default, because other tests use the machine;
 *   0 for tests that expect a 503
 * @param options.worker false for tests that start no call
 * @param options.adapt changes parts of the configuration that no environment variable sets, such as the live carrier
 * @param options.carriers factories of carriers by kind; by default all
 * @param options.passwords replaces password hashing, for tests of requests that wait for hashes
 * @param options.mailDelayMs the delay of e-mails with password resets: by default none
 * @param options.onLog receives each log line; LOG_LEVEL is `silent` by default
 * @param options.uriOptions options of the connection string, beginning with a question mark
 */
export async function startService(
  options: {
    env?: Record<string, string>;
    worker?: boolean;
    connections?: Partial<ConnectionLimits>;
    minDeadlineMs?: number;
    adapt?: (config: Config) => Config;
    carriers?: Readonly<Record<string, CarrierFactory>>;
    passwords?: Passwords;
    mailDelayMs?: () => number;
    onLog?: (line: string) => void;
    uriOptions?: string;
  } = {},
) {
  const { minDeadlineMs = 10_000, onLog, passwords, mailDelayMs = () => 0 } = options;
  const id = randomUUID();
  const parsed = parseConfig({
    NODE_ENV: 'test',
    ALLOW_INSECURE_DEVELOPMENT: 'true',
    LOG_LEVEL: 'silent',
    PUBLIC_BASE_URL,
    STREAM_URL,
    API_PORT: '0',
    MONGODB_URI: `${process.env.TEST_MONGODB_URI}/http_${id}${options.uriOptions ?? ''}`,
    TEMPORAL_ADDRESS: process.env.TEST_TEMPORAL_ADDRESS,
    TEMPORAL_TASK_QUEUE: `http-${id}`,
    SIMULATOR_URL: CLOSED_PORT,
    ANSWER_WITHIN_MS: String(Math.max(1_700, minDeadlineMs)),
    ...options.env,
  });
  const destination = onLog === undefined ? {} : { destination: { write: onLog } };
  const logger = createLogger({ role: 'test', level: parsed.logLevel, ...destination });
  const database = await openDatabase(parsed.mongodbUri);
  await createIndexes(database);
  const settled = await withDeploymentTokens(parsed, database);
  const config = options.adapt?.(settled) ?? settled;
  const given = options.carriers && { carriers: createCarriers({ config, factories: options.carriers }) };
  const gateway = await createCallGateway({ config });
  const server = createApiServer(
    { config, database, gateway, logger, minDeadlineMs, mailDelayMs, ...given, ...(passwords && { passwords }) },
    options.connections,
  );
  const { port } = await server.listen();
  const encrypted = parsed.temporal.payloadKeys.newest !== undefined;
  const bundlePath = join(__dirname, '../../../dist/workers', basename(bundleFile({ traced: false, encrypted })));

  /**
   * Starts a worker in this process.
   * @param settings replace those of the configuration
   * @param accounts the carrier accounts that the worker knows, instead of those of the configuration
   */
  function startWorker(settings: Partial<Config['worker']> = {}, accounts?: Config['carriers']) {
    const stop = new AbortController();
    const own = { ...config, carriers: accounts ?? config.carriers, worker: { ...config.worker, ...settings } };
    const factories = options.carriers && { factories: options.carriers };
    const carriers = accounts ? { carriers: createCarriers({ config: own, ...factories }) } : given;
    return { stop, worker: runWorker({ config: own, database, logger, stop: stop.signal, bundlePath, ...carriers }) };
  }
  let own = options.worker === false ? undefined : startWorker();
  const baseUrl = `http://127.0.0.1:${port}`;

  /** Creates a customer with an agent, a live key and a test key. The live balance is 10 USD by default. */
  async function customer(balanceMicros = 10_000_000): Promise<Customer> {
    const account = await createAccounts(database).create({ name: 'Test', plan: 'growth' });
    if (balanceMicros > 0) {
      await createLedger(database).topUp({
        ledgerAccountId: ledgerAccountId(account._id, 'live'),
        paymentId: randomUUID(),
        amountMicros: balanceMicros,
      });
    }
    const agent = await createAgents(database).create({
      accountId: account._id,
      name: 'Reminders',
      instruction: 'Remind the caller of the appointment.',
      voice: 'amber',
      language: 'en-US',
    });
    const keys = createApiKeys({ database, pepper: config.apiKeyPepper });
    const key = async (mode: Mode) => (await keys.create({ accountId: account._id, mode, name: mode })).secret;
    return { account, agent, liveKey: await key('live'), testKey: await key('test') };
  }

  async function request(path: string, init: RequestInit & { key?: string } = {}): Promise<ServiceResponse> {
    const { key, ...rest } = init;
    const headers = new Headers(rest.headers);
    if (key !== undefined) headers.set('Authorization', `Bearer ${key}`);
    const response = await fetch(`${baseUrl}${path}`, { ...rest, headers, signal: AbortSignal.timeout(20_000) });
    return responseOf(response);
  }

  async function withClient<T>(use: (client: Client) => Promise<T>): Promise<T> {
    const connection = await Connection.connect(connectionOptions(config.temporal));
    try {
      const dataConverter = createDataConverter(config.temporal.payloadKeys);
      return await use(new Client({ connection, dataConverter }));
    } finally {
      await connection.close();
    }
  }

  /** Sends POST /outbound_call with a JSON body. */
  function place(key: string, body: unknown, headers: Record<string, string> = {}): Promise<ServiceResponse> {
    return request('/outbound_call', {
      method: 'POST',
      key,
      headers: { 'Content-Type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
  }

  /**
   * Places a first call, so that later ones are fast. The first call waits while code is loaded and connections are
   * opened.
   */
  async function warmUp(): Promise<string> {
    const { account, testKey } = await customer(0);
    const body = { to_phone_number: '+12025550100', instruction: 'Hello.' };
    await eventually(async () => (await place(testKey, body)).status === 200);
    return account._id;
  }
  const warmUpAccount = own === undefined ? '' : await warmUp();

  return {
    config,
    database,
    gateway,
    port,
    baseUrl,
    customer,
    request,
    startWorker,

    /** Stops the worker as a crash does for its calls, and then starts another one. @param accounts see `startWorker` */
    async restartWorker(accounts?: Config['carriers']): Promise<void> {
      own?.stop.abort();
      await own?.worker;
      own = startWorker({}, accounts);
    },
    accounts: createAccounts(database),
    agents: createAgents(database),
    phoneNumbers: createPhoneNumbers(database),
    apiKeys: createApiKeys({ database, pepper: config.apiKeyPepper }),

    place,
    withClient,

    /** Sends a form with the signature of the carrier account that belongs to the mode. */
    carrierPost(path: string, form: Record<string, string>, mode: Mode = 'live'): Promise<ServiceResponse> {
      const { carrierAccountId, authToken } = config.carriers[mode];
      const params: SignedParams = { AccountSid: carrierAccountId, ...form };
      const signature = sign({ authToken, url: `${config.publicBaseUrl}${path}`, params });
      return request(path, {
        method: 'POST',
        headers: { 'X-Twilio-Signature': signature },
        body: new URLSearchParams({ AccountSid: carrierAccountId, ...form }),
      });
    },

    /** Returns the number of stored call requests. The API stores a request before it starts the request's workflow. */
    countCallRequests(): Promise<number> {
      return database.callRequests.countDocuments({ accountId: { $ne: warmUpAccount } });
    },

    /**
     * Returns how many workflows of this service match a visibility query. A change is visible only after some time.
     */
    countWorkflows(query: string): Promise<number> {
      return withClient(async (client) => {
        const { calls, background } = config.temporal.taskQueues;
        return (await client.workflow.count(`TaskQueue IN ("${calls}", "${background}") AND ${query}`)).count;
      });
    },

    /** Returns the number of signals in a call's history. */
    countSignals(callId: string): Promise<number> {
      return withClient(async (client) => {
        const { events } = await client.workflow.getHandle(callId).fetchHistory();
        return (events ?? []).filter((event) => event.workflowExecutionSignaledEventAttributes).length;
      });
    },

    /** Terminates the running workflow of a call, as an operator does in the Temporal UI. */
    async terminate(callId: string): Promise<void> {
      await withClient((client) => client.workflow.getHandle(callId).terminate('test'));
    },

    async close(given: { databaseIsClosed?: boolean } = {}): Promise<void> {
      await server.close();
      own?.stop.abort();
      await own?.worker;
      await gateway.close();
      if (given.databaseIsClosed) return;
      await database.connection.dropDatabase();
      await database.close();
    },
  };
}

async function responseOf(response: Response): Promise<ServiceResponse> {
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
  return {
    status: response.status,
    headers: response.headers,
    text,
    json: isJson && text !== '' ? (JSON.parse(text) as Record<string, unknown>) : {},
  };
}

/** Calls `look` again and again until it returns something truthy, by default for at most 50 s. */
export async function eventually<T>(look: () => Promise<T | undefined | null | false>, withinMs = 50_000): Promise<T> {
  for (const giveUpAt = Date.now() + withinMs; ;) {
    const found = await look();
    if (found) return found;
    if (Date.now() > giveUpAt) throw new Error(`It did not come to be within ${withinMs / 1_000} s.`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** The text of a response without the request id, by which responses that must be the same differ. */
export function withoutRequestId({ text }: Pick<ServiceResponse, 'text'>): string {
  return text.replace(/"request_id":"[^"]*"/, '');
}

/** Asserts that a response is an error with this status, code and message, and that it has an X-Request-Id header. */
export function expectError(response: ServiceResponse, status: number, code: string, message?: RegExp): void {
  expect({ status: response.status, code: response.json['error_code'] }).toEqual({ status, code });
  expect(response.json['success']).toBe(false);
  expect(response.json['message']).toEqual(message ? expect.stringMatching(message) : expect.any(String));
  expect(response.headers.get('x-request-id')).toMatch(/\S/);
  expect(response.json['request_id']).toBe(response.headers.get('x-request-id'));
  expect(response.json['doc_url']).toMatch(new RegExp(`/docs/errors#${code.toLowerCase()}$`));
  if (status === 400) expect(response.json['errors']).toEqual(expect.arrayContaining([expect.anything()]));
}
