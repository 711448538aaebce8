import { randomUUID } from 'node:crypto';
import { EventEmitter } from 'node:events';
import { createCallQueries } from '../../src/calls/call-queries.js';
import { createCallRequests } from '../../src/calls/call-requests.js';
import { createCallReading } from '../../src/calls/views/call-reading.js';
import { createCallReadHandlers } from '../../src/calls/views/calls.js';
import { createCallResults } from '../../src/calls/wiring.js';
import type { ApiContext } from '../../src/platform/http/context.js';
import { createLargeDocuments } from '../../src/platform/http/routing/large-documents.js';
import { createCarrierEvents } from '../../src/telephony/carrier-events.js';
import { createWebhookAttempts } from '../../src/webhooks/attempts.js';
import { createWebhookDeliveries } from '../../src/webhooks/deliveries.js';
import { createDeliveryHandlers } from '../../src/webhooks/deliveries-routes.js';
import { startService, type Customer, type Service } from '../support/http/harness.js';
import { managementOf } from '../support/http/management-support.js';

const MAX_READS = 4;
const TEXT = 'x'.repeat(400_000);
const never = new AbortController().signal;
const ownerOf = (id: string, mode: 'live' | 'test' = 'live') => ({ account: { _id: id }, mode });
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Reads of documents that take until `end` is called. */
function slowReads() {
  const documents = createLargeDocuments();
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  return {
    documents,
    started,
    read: (account: string, name: string, signal = never, mode: 'live' | 'test' = 'live') =>
      documents.read(
        ownerOf(account, mode),
        () => signal,
        () => {
          started.push(name);
          return new Promise<void>((resolve) => ends.set(name, resolve));
        },
      ),
    end: async (name: string) => {
      ends.get(name)?.();
      await turn();
    },
  };
}

describe('reads of documents that may be long', () => {
  it('run four at a time, and the account that read least is next', async () => {
    const { read, end, started } = slowReads();
    const all = ['a1', 'a2', 'a3', 'a4', 'a5', 'a6'].map((name) => read('busy', name));
    expect(started).toEqual(['a1', 'a2', 'a3', 'a4']);
    all.push(read('other', 'b1'));
    await turn();
    expect(started).toHaveLength(MAX_READS);
    await end('a1');
    expect(started.at(-1)).toBe('b1');
    for (const name of ['a2', 'a3', 'a4', 'a5', 'a6', 'b1']) await end(name);
    await Promise.all(all);
    expect(started).toHaveLength(7);
  });

  it('of test mode never wait for those of live mode', async () => {
    const { read, end, started } = slowReads();
    const all = ['1', '2', '3', '4'].map((name) => read('busy', name));
    const ofTest = read('busy', 'test', never, 'test');
    expect(started).toContain('test');
    for (const name of ['1', '2', '3', '4', 'test']) await end(name);
    await Promise.all([...all, ofTest]);
  });

  it('that wait end with their request and never start', async () => {
    const { read, end, started } = slowReads();
    const all = ['1', '2', '3', '4'].map((name) => read('busy', name));
    const request = new AbortController();
    const waiting = read('other', 'waiting', request.signal);
    request.abort(new Error('closed'));
    await expect(waiting).rejects.toThrow('closed');
    for (const name of ['1', '2', '3', '4']) await end(name);
    await Promise.all(all);
    expect(started).not.toContain('waiting');
  });
});

describe('long calls that five accounts read', () => {
  let service: Service;
  let customers: Customer[];
  const callIds = new Map<Customer, string>();
  /** Reads of whole documents in progress in the database, and the most at once. */
  let running = 0;
  let most = 0;

  beforeAll(async () => {
    const uri = `${process.env['TEST_MONGODB_URI']}/long_${randomUUID()}?monitorCommands=true`;
    service = await startService({ worker: false, env: { MONGODB_URI: uri } });
    customers = await Promise.all(Array.from({ length: 5 }, () => service.customer()));
    for (const customer of customers) {
      const callId = await managementOf(service).endedCall(customer, { transcription: TEXT });
      callIds.set(customer, callId);
      const turns = [{ speaker: 'agent', text: TEXT, startMs: 0, endMs: 1 }];
      const result = { _id: callId, engine: 'test', startedAt: new Date(), turns };
      await service.database.conversationResults.collection.insertOne(result as never);
      await service.database.webhookDeliveries.create({
        _id: callId,
        callId,
        accountId: customer.account._id,
        mode: 'live',
        url: 'https://example.com/done',
        body: TEXT,
        createdAt: new Date(),
      });
    }
    const whole = new Set<number>();
    const finish = ({ requestId }: { requestId: number }) => void (whole.delete(requestId) && (running -= 1));
    const client = service.database.connection.getClient();
    client.on('commandStarted', ({ requestId, command }) => {
      const collection = String(command['find'] ?? '');
      const fields = JSON.stringify(command['projection'] ?? {});
      const isWhole =
        (collection === 'calls' && fields === '{"latencies":0}') ||
        (collection === 'conversation_results' && fields === '{"turns":1}') ||
        (collection === 'webhook_deliveries' && fields === '{}');
      if (!isWhole) return;
      whole.add(requestId);
      running += 1;
      most = Math.max(most, running);
    });
    client.on('commandSucceeded', finish);
    client.on('commandFailed', finish);
  }, 60_000);
  beforeEach(() => (most = 0));
  afterAll(() => service.close());

  it.each([
    ['calls', ''],
    ['calls', '/transcript'],
    ['webhook_deliveries', ''],
  ])(
    'take four database connections: /%s/{call_id}%s',
    async (resource, rest) => {
      const { get } = managementOf(service);
      const responses = await Promise.all(
        customers.flatMap((customer) =>
          Array.from({ length: 3 }, () => get(`/${resource}/${callIds.get(customer)}${rest}`, customer.liveKey)),
        ),
      );
      expect(responses.map(({ status }) => status)).toEqual(responses.map(() => 200));
      expect(most).toBeGreaterThan(0);
      expect(most).toBeLessThanOrEqual(MAX_READS);
    },
    30_000,
  );

  it.each(['readCall', 'readTranscript', 'readWebhookDelivery'] as const)(
    'wait until a read of others ends: %s',
    async (name) => {
      const { database } = service;
      const { read, end, documents: largeDocuments } = slowReads();
      const others = ['1', '2', '3', '4'].map((one) => read('other', one));
      const shared = {
        database,
        largeDocuments,
        config: { publicBaseUrl: 'https://calls.test' },
        queries: createCallQueries(database),
        requests: createCallRequests(database),
        results: createCallResults(database),
        carrierEvents: createCarrierEvents(database),
        attempts: createWebhookAttempts(database),
        deliveries: createWebhookDeliveries(database),
      };
      const handlers = {
        ...createCallReadHandlers({ ...shared, reading: createCallReading(shared) } as never),
        ...createDeliveryHandlers(shared as never),
      };
      const begin = (res: EventEmitter) => {
        // Without the wait, little of the request's time would be left.
        const ctx = { res, state: { arrivedAt: Date.now() - 1_500, minDeadlineMs: 0 } } as unknown as ApiContext;
        const principal = { account: customers[0]?.account, mode: 'live' };
        const params = { call_id: callIds.get(customers[0] as Customer) };
        return Promise.resolve(handlers[name]({ ctx, principal, params } as never));
      };
      const [patient, leaving] = [new EventEmitter(), new EventEmitter()];
      const [stays, leaves] = [begin(patient), begin(leaving)];
      const error = leaves.catch((reason: unknown) => reason);
      await new Promise((resolve) => setTimeout(resolve, 600));
      expect(most).toBe(0);
      leaving.emit('close');
      expect(await error).toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
      await end('1');
      expect(JSON.stringify(await stays)).toContain(TEXT);
      expect(most).toBe(1);
      patient.emit('close');
      for (const one of ['2', '3', '4']) await end(one);
      await Promise.all(others);
    },
  );
});
