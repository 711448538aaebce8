import type { Database } from '../../../src/database.js';
import { createWebhookDeliveries } from '../../../src/webhooks/deliveries.js';
import { createWebhookFailures } from '../../../src/webhooks/failures.js';
import { webhookEndpoint } from '../../../src/kernel/webhook-endpoint.js';
import { newCallId, openTestDatabase } from '../../support/store/test-database.js';

let database: Database;
let deliveries: ReturnType<typeof createWebhookDeliveries>;
let failures: ReturnType<typeof createWebhookFailures>;
let accountId: string;
let accounts = 0;

beforeAll(async () => {
  database = await openTestDatabase('webhook_failures');
  deliveries = createWebhookDeliveries(database);
  failures = createWebhookFailures(database);
});
afterAll(async () => {
  await database.connection.dropDatabase();
  await database.close();
});
beforeEach(() => {
  accountId = `acct_${accounts++}`;
});

const HOUR_MS = 3_600_000;
const NOW = Date.parse('2026-11-21T12:00:00Z');
const ago = (ms: number) => new Date(NOW - ms);
const URL = 'https://example.com/hook?call=1';
const ENDPOINT = 'https://example.com/hook';

/** Stores an event whose delivery ended `msAgo`. Its URL has its own query, as the URLs of customers often do. */
async function event(state: 'delivered' | 'failed', msAgo: number, url = 'https://example.com/hook'): Promise<string> {
  const callId = newCallId();
  await deliveries.insert({
    _id: callId,
    callId,
    accountId,
    mode: 'live',
    url: `${url}?call=${callId}`,
    endpoint: webhookEndpoint(`${url}?call=${callId}`),
    body: '{}',
    createdAt: ago(msAgo + 40_000),
  });
  await deliveries.recordState(callId, state, ago(msAgo));
  return callId;
}

async function failedEvents(count: number, msAgo: number, url?: string): Promise<string[]> {
  const ids: string[] = [];
  for (let index = 0; index < count; index++) ids.push(await event('failed', msAgo - index, url));
  return ids;
}

const failing = (mode: 'live' | 'test' = 'live', at = NOW) => failures.failing({ accountId, mode }, at);

describe('an endpoint', () => {
  it('is identified by its URL without the query', () => {
    expect(webhookEndpoint(URL)).toBe(ENDPOINT);
    expect(webhookEndpoint('HTTP://Example.com:80')).toBe('http://example.com/');
  });

  it('fails from the twentieth consecutive event that was given up', async () => {
    await event('delivered', 9 * HOUR_MS);
    const ids = await failedEvents(19, 2 * HOUR_MS);
    expect(await failing()).toEqual([]);
    const last = await event('failed', HOUR_MS);
    expect(await failing()).toEqual([
      {
        endpoint: ENDPOINT,
        since: ago(2 * HOUR_MS),
        lastFailedAt: ago(HOUR_MS),
        lastCallId: last,
        failures: ids.length + 1,
        lastDeliveredAt: ago(9 * HOUR_MS),
      },
    ]);
    expect(await failing('test')).toEqual([]);
    expect(await failures.failing({ accountId: 'acct_other', mode: 'live' }, NOW)).toEqual([]);
  });

  it('fails if every event of a day was given up', async () => {
    await event('failed', 25 * HOUR_MS);
    await event('failed', 2 * HOUR_MS);
    expect(await failing()).toEqual([]);
    await event('failed', HOUR_MS);
    expect(await failing()).toMatchObject([{ since: ago(25 * HOUR_MS), failures: 3 }]);
  });

  it('is no longer failing after a success, including the redelivery of an old event', async () => {
    const [first = ''] = await failedEvents(30, 2 * HOUR_MS);
    expect(await failing()).toHaveLength(1);
    // A redelivery that is in progress does not change the list yet.
    await deliveries.beginRedelivery(first, 0);
    await deliveries.recordState(first, undefined, ago(HOUR_MS));
    expect(await failing()).toMatchObject([{ failures: 30, since: ago(2 * HOUR_MS) }]);
    await deliveries.recordState(first, 'delivered', ago(HOUR_MS));
    expect(await failing()).toEqual([]);
    await failedEvents(3, HOUR_MS / 2);
    expect(await failing()).toEqual([]);
  });

  it('keeps the time of a success even if redelivering that event fails', async () => {
    await failedEvents(15, 3 * HOUR_MS);
    const success = await event('delivered', 2 * HOUR_MS);
    await failedEvents(5, HOUR_MS);
    await deliveries.beginRedelivery(success, 0);
    await deliveries.recordState(success, 'failed', ago(HOUR_MS / 2));
    // Only the six failures since the success count, not all twenty-one. Six are too few for the list.
    expect(await failing()).toEqual([]);
  });

  it('is separate from other endpoints of the account', async () => {
    await failedEvents(20, 2 * HOUR_MS, 'https://example.com/a');
    await event('delivered', HOUR_MS, 'https://example.com/b');
    await failedEvents(20, HOUR_MS / 2, 'https://example.com/c');
    await failedEvents(19, HOUR_MS / 3, 'https://example.com/d');
    expect((await failing()).map(({ endpoint }) => endpoint)).toEqual([
      'https://example.com/c',
      'https://example.com/a',
    ]);
  });

  it('is not listed a week after its last event, nor for erased events', async () => {
    const ids = await failedEvents(20, HOUR_MS);
    expect(await failing('live', NOW + 6 * 24 * HOUR_MS)).toHaveLength(1);
    expect(await failing('live', NOW + 7 * 24 * HOUR_MS)).toEqual([]);
    for (const id of ids) await deliveries.erase(id, ago(0));
    expect(await failing()).toEqual([]);
  });
});
