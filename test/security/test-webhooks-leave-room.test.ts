import type { ServerResponse } from 'node:http';
import { createCompletionSender } from '../../src/calls/wiring.js';
import type { Database } from '../../src/database.js';
import type { Mode } from '../../src/kernel/ids.js';
import { parseConfig } from '../../src/platform/config/config.js';
import { createLogger } from '../../src/platform/telemetry/logger.js';
import type { WebhookAttemptResult } from '../../src/webhooks/attempt-results.js';
import { createEndedCall } from '../integration/webhooks/support/ended-call.js';
import { startReceiver, type Receiver } from '../integration/webhooks/support/receiver.js';
import { eventually } from '../support/http/harness.js';
import { openTestDatabase } from '../support/store/test-database.js';

const ACCOUNTS = 40;
const OF_EACH = 4;

let database: Database;
let slow: Receiver;
let quick: Receiver;
const waiting: ServerResponse[] = [];

beforeAll(async () => {
  database = await openTestDatabase('test_webhooks');
  slow = await startReceiver((response) => waiting.push(response));
  quick = await startReceiver((response) => response.writeHead(200).end());
});
afterAll(async () => {
  await Promise.all([slow.close(), quick.close()]);
  await database.connection.dropDatabase();
  await database.close();
});

it('hanging webhooks of test calls, of any number of accounts, leave half of the slots to live calls', async () => {
  const config = parseConfig({ PUBLIC_BASE_URL: 'https://calls.example.com', ALLOW_INSECURE_DEVELOPMENT: 'true' });
  const logger = createLogger({ role: 'test', level: 'silent' });
  const sender = createCompletionSender({ config, database, logger });
  const callOf = (accountId: string, mode: Mode, url: string) => createEndedCall(database, url, { accountId, mode });
  const hanging = [];
  for (let n = 0; n < ACCOUNTS * OF_EACH; n++) hanging.push(await callOf(`acct_${n % ACCOUNTS}`, 'test', slow.url));
  const results: WebhookAttemptResult[] = [];
  const attempts = hanging.map(async (callId) => results.push(await sender.attempt(callId)));
  await eventually(async () => results.length + slow.received.length >= hanging.length);
  expect(slow.received.length).toBeGreaterThan(16);
  expect(slow.received.length).toBeLessThanOrEqual(32);

  const live = await Promise.all(Array.from({ length: 8 }, (_, n) => callOf(`acct_${n}`, 'live', quick.url)));
  const liveResults = await Promise.all(live.map((callId) => sender.attempt(callId)));
  expect(liveResults).toEqual(live.map(() => ({ result: 'delivered' })));
  for (const response of waiting) response.writeHead(200).end();
  await Promise.all(attempts);
}, 60_000);
