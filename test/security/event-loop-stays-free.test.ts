import { randomUUID } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { ledgerAccountId } from '../../src/kernel/ids.js';
import { createAccounts } from '../../src/identity/accounts/accounts.js';
import { createApiKeys } from '../../src/identity/api-keys/api-keys.js';
import { createIndexes } from '../../src/platform/mongo/indexes.js';
import { openDatabase, type Database } from '../../src/database.js';
import { createCallProjection } from '../../src/calls/projection.js';
import { createLedger } from '../../src/billing/ledger/ledger.js';
import { newCallId } from '../support/store/test-database.js';
import {
  blankCharsetRequest,
  formOfNamesRequest,
  pipelinedRequests,
  rawRequest,
  sendBytes,
  shortestRequests,
  tinyChunksRequest,
} from '../support/hostile-requests.js';
import { LIVE_WITHIN_MS, slowestLivenessResponse } from '../support/liveness.js';
import { freePort, startRole } from '../support/role-process.js';
import { callRequest } from '../support/store/call-request.js';

const PEPPER = 'a-pepper-for-tests-a-pepper-for-tests';
const JSON_TYPE = 'application/json';
/** The requests are built once, because building them during a test would delay the server. */
const SHORT_REQUESTS = shortestRequests(10_000).bytes;
const TINY_CHUNKS = {
  nowhere: tinyChunksRequest({ path: '/nowhere' }).bytes,
  signed: tinyChunksRequest({
    path: '/carrier/status',
    headers: {
      'Content-Type': 'application/x-www-form-urlencoded',
      'X-Twilio-Signature': `${'A'.repeat(27)}=`,
    },
  }).bytes,
};
const BOMB = gzipSync(Buffer.alloc(20_000_000));

let api: Awaited<ReturnType<typeof startRole>>;
let database: Database;
let key: string;
/** One call for each of several accounts. Each account opens as many event streams as it may. */
let watchers: { key: string; callId: string }[];
let port: number;
let baseUrl: string;

beforeAll(async () => {
  const uri = `${process.env.TEST_MONGODB_URI}/loop_${randomUUID().slice(0, 8)}`;
  database = await openDatabase(uri);
  await createIndexes(database);
  const account = await newAccount();
  key = account.key;
  await fillLedger(ledgerAccountId(account.accountId, 'live'));
  watchers = await Promise.all(Array.from({ length: 2 }, newWatcher));
  port = await freePort();
  baseUrl = `http://127.0.0.1:${port}`;
  api = await startRole('api', {
    API_PORT: String(port),
    PUBLIC_BASE_URL: baseUrl,
    MONGODB_URI: uri,
    TEMPORAL_ADDRESS: process.env.TEST_TEMPORAL_ADDRESS,
    API_KEY_PEPPER: PEPPER,
  });
  // Sends some requests first, because the first request of a process has to load code.
  await many(5, () => post('/agents', JSON.stringify(agent())));
});

afterAll(async () => {
  await api.kill();
  await database.connection.dropDatabase();
  await database.close();
});

async function newAccount(): Promise<{ accountId: string; key: string }> {
  const { _id: accountId } = await createAccounts(database).create({ name: 'Test', plan: 'scale' });
  const keys = createApiKeys({ database, pepper: PEPPER });
  return { accountId, key: (await keys.create({ accountId, mode: 'live', name: 'hostile' })).secret };
}

/** Stores thousands of top-ups, as the ledger of a years-old account has them. */
async function fillLedger(id: string): Promise<void> {
  await createLedger(database).topUp({ ledgerAccountId: id, paymentId: 'first', amountMicros: 1_000_000 });
  // The account document contains its latest operations, in the form of journal entries.
  const account = await database.ledgerAccounts.collection.findOne({ _id: id as never });
  const [[operation, marker] = []] = Object.entries((account?.['markers'] ?? {}) as Record<string, object>);
  const entries = Array.from({ length: 3_000 }, (_, n) => ({
    ...marker,
    _id: `${operation}-${n}` as never,
    ledgerAccountId: id,
    at: new Date(Date.now() - (n + 1) * 1_000),
  }));
  await database.ledgerEntries.collection.insertMany(entries);
}

async function newWatcher(): Promise<{ key: string; callId: string }> {
  const { accountId, key: own } = await newAccount();
  const callId = newCallId();
  const request = callRequest({ _id: callId, accountId });
  await database.callRequests.create(request);
  await createCallProjection(database).begin(request, { callId, sequence: 1, at: Date.now() });
  return { key: own, callId };
}

const many = (count: number, work: (n: number) => Promise<unknown>) =>
  Promise.all(Array.from({ length: count }, (_, n) => work(n).catch(() => undefined)));

async function ask(path: string, init: RequestInit = {}): Promise<void> {
  const response = await fetch(`${baseUrl}${path}`, { ...init, signal: AbortSignal.timeout(20_000) });
  await response.arrayBuffer();
}

function post(path: string, body: string | Buffer, headers: Record<string, string> = {}): Promise<void> {
  const own = { Authorization: `Bearer ${key}`, 'Content-Type': JSON_TYPE, ...headers };
  return ask(path, { method: 'POST', headers: own, body: body as NonNullable<RequestInit['body']> });
}

const agent = (fields: object = {}) => ({ name: 'A', instruction: 'Be polite.', ...fields });
const asPage = { 'Sec-Fetch-Site': 'same-origin', 'Content-Type': JSON_TYPE };
const manyKeys = (count: number) =>
  JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, 1])));

/** Builds a JSON Schema of nearly 8 kB in which alternatives contain alternatives. */
function wideSchema(): string {
  const leaf = { type: 'object', properties: { a: { type: 'string' } } };
  const some = { anyOf: Array.from({ length: 12 }, () => leaf) };
  const properties = Object.fromEntries(Array.from({ length: 8 }, (_, n) => [`p${n}`, some]));
  return JSON.stringify({ type: 'object', properties });
}

const tool = (parameters: string) => ({
  name: 'look_up',
  description: 'd',
  method: 'GET',
  url: 'https://example.com',
  parameters,
});

/** Watches a call for some seconds. If the test database is too busy, some of these requests are rejected. */
async function watch(path: string, of: string): Promise<void> {
  const headers = { Authorization: `Bearer ${of}` };
  try {
    const response = await fetch(`${baseUrl}${path}`, { headers, signal: AbortSignal.timeout(8_000) });
    expect([200, 503]).toContain(response.status);
    for await (const _piece of response.body as unknown as AsyncIterable<Uint8Array>);
  } catch (error) {
    // The request reached its time limit, which is expected.
    if (!(error instanceof DOMException)) throw error;
  }
}

async function statement(path: string): Promise<void> {
  const response = await fetch(`${baseUrl}${path}`, { headers: { Authorization: `Bearer ${key}` } });
  expect(response.status).toBe(200);
  const rows = (await response.text()).split('\n').length;
  expect(rows).toBeGreaterThan(3_000);
}

const CASES: { name: string; run: () => Promise<unknown> }[] = [
  { name: 'a Content-Type of blanks', run: () => sendBytes(port, blankCharsetRequest().bytes, { forMs: 3_000 }) },
  {
    name: 'forms with thousands of names',
    run: () => many(10, () => sendBytes(port, formOfNamesRequest().bytes, { forMs: 3_000 })),
  },
  { name: 'deeply nested JSON', run: () => many(10, () => post('/outbound_call', '['.repeat(250_000))) },
  {
    name: 'tools with 18,000 headers',
    run: () =>
      many(10, () => post('/agents', JSON.stringify(agent({ tools: [{ headers: JSON.parse(manyKeys(18_000)) }] })))),
  },
  {
    name: 'lists of 85,000 tools',
    run: () => many(10, () => post('/agents', JSON.stringify(agent({ tools: Array(85_000).fill(1) })))),
  },
  { name: 'JSON with 18,000 keys', run: () => many(10, () => post('/outbound_call', manyKeys(18_000))) },
  {
    name: 'a JSON key repeated 20,000 times',
    run: () => many(10, () => post('/agents', `{${'"name":"a",'.repeat(20_000)}"name":"a"}`)),
  },
  {
    name: 'arrays with 60,000 items',
    run: () =>
      many(10, () =>
        post(
          '/agents',
          JSON.stringify(agent({ tools: Array(60_000).fill(1), transfer_numbers: Array(20_000).fill('+1') })),
        ),
      ),
  },
  {
    name: 'compressed bodies that inflate',
    run: () => many(10, () => post('/outbound_call', BOMB, { 'Content-Encoding': 'gzip' })),
  },
  {
    name: 'pipelined requests whose responses the client does not read',
    run: () =>
      many(5, () => sendBytes(port, pipelinedRequests('/openapi.json', 300).bytes, { read: false, forMs: 3_000 })),
  },
  {
    name: 'thousands of short requests in a row',
    run: () => many(20, () => sendBytes(port, SHORT_REQUESTS, { read: false, forMs: 3_000 })),
  },
  {
    name: 'unread bodies in chunks of one byte',
    run: () => many(150, () => sendBytes(port, TINY_CHUNKS.nowhere, { forMs: 3_000 })),
  },
  {
    name: 'forms in chunks of one byte',
    run: () => many(150, () => sendBytes(port, TINY_CHUNKS.signed, { forMs: 3_000 })),
  },
  {
    name: 'a flood of log-ins',
    run: () =>
      many(40, (n) =>
        ask('/portal/log-in', {
          method: 'POST',
          headers: asPage,
          body: JSON.stringify({ email: `a${n}@example.com`, password: 'wrong horse battery' }),
        }),
      ),
  },
  {
    name: 'long queries',
    run: () =>
      many(20, () =>
        sendBytes(
          port,
          rawRequest({
            path: `/calls?${'a=1&'.repeat(1_800)}`,
            headers: { Authorization: `Bearer ${key}`, Connection: 'close' },
          }),
        ),
      ),
  },
  {
    name: 'long Authorization and Cookie headers',
    run: () =>
      many(20, (n) =>
        sendBytes(
          port,
          rawRequest({
            path: '/agents',
            headers: {
              [n % 2 ? 'Authorization' : 'Cookie']: n % 2 ? `Bearer ${' '.repeat(7_000)}x` : '; '.repeat(3_500),
              Connection: 'close',
            },
          }),
        ),
      ),
  },
  { name: '30 simultaneous requests for the OpenAPI document', run: () => many(30, () => ask('/openapi.json')) },
  {
    name: 'the maximum number of open event streams',
    run: () =>
      Promise.all(
        watchers.flatMap((each) => Array.from({ length: 20 }, () => watch(`/calls/${each.callId}/events`, each.key))),
      ),
  },
  {
    name: 'long statements',
    run: () => Promise.all(Array.from({ length: 3 }, () => statement('/ledger?format=csv'))),
  },
  {
    name: 'wide tool schemas',
    run: () => many(20, () => post('/agents', JSON.stringify(agent({ tools: Array(8).fill(tool(wideSchema())) })))),
  },
  {
    name: 'long lists of transfer numbers',
    run: () =>
      many(10, () =>
        post(
          '/agents',
          JSON.stringify(agent({ transfer_numbers: Array.from({ length: 15_000 }, (_, n) => `+1202555${n}`) })),
        ),
      ),
  },
];

describe('GET /health/live responds soon during', () => {
  it.each(CASES)('$name', async ({ run }) => {
    const slowest = await slowestLivenessResponse(baseUrl, run, { pid: api.pid });
    expect(slowest).toBeLessThan(LIVE_WITHIN_MS);
    expect(api.isRunning()).toBe(true);
  });
});
