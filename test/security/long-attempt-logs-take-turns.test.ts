import { mongo } from 'mongoose';
import { createLargeDocuments } from '../../src/platform/http/routing/large-documents.js';
import type { ApiContext } from '../../src/platform/http/context.js';
import { createWebhookAttempts } from '../../src/webhooks/attempts.js';
import { createWebhookDeliveries } from '../../src/webhooks/deliveries.js';
import { createDeliveryHandlers, type DeliveryHandlersDeps } from '../../src/webhooks/deliveries-routes.js';
import { storableHeaders } from '../../src/webhooks/storable-headers.js';
import { startService, type Customer, type Service } from '../support/http/harness.js';
import { MONITORING } from '../support/store/database-commands.js';
import { managementOf } from '../support/http/management-support.js';

const URL = 'https://example.com/done';
/** 50 redeliveries, the limit, of four attempts each, after the first delivery. */
const REDELIVERIES = 50;
const ATTEMPTS = 4 * (REDELIVERIES + 1);

let service: Service;
let customer: Customer;
let callId: string;

beforeAll(async () => {
  service = await startService({ worker: false, uriOptions: MONITORING });
  customer = await service.customer();
  callId = await managementOf(service).endedCall(customer, { webhookUrl: URL });
  await storeDelivery();
}, 60_000);
afterAll(() => service?.close());

/** Stores what a receiver leaves that rejects everything, with the longest headers and bodies that are kept. */
async function storeDelivery(): Promise<void> {
  const { database } = service;
  await createWebhookDeliveries(database).insert({
    _id: callId,
    callId,
    accountId: customer.account._id,
    mode: 'live',
    url: URL,
    endpoint: URL,
    body: '{}',
    createdAt: new Date(),
    state: 'failed',
    redeliveries: REDELIVERIES,
  });
  const long = Array.from({ length: 32 }, (_, n) => [
    `x-${String(n).padStart(2, '0')}${'a'.repeat(28)}`,
    'v'.repeat(32),
  ]);
  const { headers } = storableHeaders(Object.fromEntries(long) as Record<string, string>);
  const rows = Array.from({ length: ATTEMPTS }, (_, index) => ({
    _id: `${callId}:${index + 1}`,
    callId,
    number: index + 1,
    ...(index < 4 ? {} : { redelivery: Math.floor(index / 4) }),
    startedAt: new Date(),
    finishedAt: new Date(),
    outcome: 'failed' as const,
    httpStatus: 500,
    durationMs: 3,
    requestHeaders: headers,
    responseHeaders: headers,
    responseBody: '\u0001'.repeat(1_024),
  }));
  await database.webhookAttempts.insertMany(rows);
}

describe('a delivery with hundreds of attempts and long responses', () => {
  it('is decoded when its turn comes, with all of its attempts', async () => {
    const documents = createLargeDocuments();
    const sizes: number[] = [];
    const { database } = service;
    const deps = {
      deliveries: createWebhookDeliveries(database),
      attempts: createWebhookAttempts(database),
      largeDocuments: {
        ...documents,
        convert: (...args: Parameters<typeof documents.convert>) => {
          sizes.push(args[2].bytes);
          return documents.convert(...args);
        },
      },
    } as unknown as DeliveryHandlersDeps;
    const { readWebhookDelivery } = createDeliveryHandlers(deps);
    const response = { once: () => undefined };
    const state = { arrivedAt: Date.now(), minDeadlineMs: 30_000 };
    const { attempt_log: log } = (await readWebhookDelivery({
      ctx: { state, res: response } as unknown as ApiContext,
      principal: { account: customer.account, mode: 'live' },
      params: { call_id: callId },
    } as Parameters<typeof readWebhookDelivery>[0])) as { attempt_log: unknown[] };
    expect(log).toHaveLength(ATTEMPTS);
    expect(sizes).toEqual([expect.any(Number)]);
    expect(sizes[0]).toBeGreaterThan(ATTEMPTS * 1_024);
  }, 60_000);

  it('is counted in the list of deliveries by the index alone', async () => {
    const finds: unknown[] = [];
    const client = service.database.connection.getClient();
    const listen = ({ command }: mongo.CommandStartedEvent) =>
      void (command['find'] === 'webhook_attempts' && finds.push([command['projection'], command['batchSize']]));
    client.on('commandStarted', listen);
    const { json } = await service.request('/webhook_deliveries', { key: customer.liveKey });
    client.off('commandStarted', listen);
    expect(json['data']).toEqual([expect.objectContaining({ call_id: callId, attempts: ATTEMPTS })]);
    // The index has both fields. The id would have to be read from the documents, which have several kilobytes each.
    expect(finds).toEqual([[{ _id: 0, callId: 1, number: 1 }, 1_000]]);
  }, 60_000);

  it('is not read to reject another redelivery', async () => {
    const bytes: number[] = [];
    const client = service.database.connection.getClient();
    const listen = ({ reply }: { reply: unknown }) => void bytes.push(mongo.BSON.calculateObjectSize(reply as object));
    client.on('commandSucceeded', listen);
    const path = `/webhook_deliveries/${callId}/redeliver`;
    expect((await service.request(path, { method: 'POST', key: customer.liveKey })).status).toBe(409);
    client.off('commandSucceeded', listen);
    expect(bytes).not.toHaveLength(0);
    expect(Math.max(...bytes)).toBeLessThan(ATTEMPTS * 200);
  }, 60_000);
});
