import { EventEmitter } from 'node:events';
import { setImmediate as nextEventLoopPass, setTimeout as pause } from 'node:timers/promises';
import { createCallQueries } from '../../src/calls/call-queries.js';
import { createCallRequests } from '../../src/calls/call-requests.js';
import { createCallReading } from '../../src/calls/views/call-reading.js';
import { createCallReadHandlers } from '../../src/calls/views/calls.js';
import { createCallResults } from '../../src/calls/wiring.js';
import type { ApiContext } from '../../src/platform/http/context.js';
import { createLargeDocuments } from '../../src/platform/http/routing/large-documents.js';
import { createCarrierEvents } from '../../src/telephony/carrier-events.js';
import type { StoredTurn } from '../../src/voice/results/model.js';
import { createWebhookAttempts } from '../../src/webhooks/attempts.js';
import { createWebhookDeliveries } from '../../src/webhooks/deliveries.js';
import { createDeliveryHandlers } from '../../src/webhooks/deliveries-routes.js';
import { startService, type Customer, type Service } from '../support/http/harness.js';
import { managementOf } from '../support/http/management-support.js';

/** A new signal for each request, as in the service: Node warns about more than ten listeners. */
const never = () => new AbortController().signal;
const ownerOf = (id: string) => ({ account: { _id: id }, mode: 'live' as const });

/** A long document, or a short one, whose decoding is logged. */
function documentOf(name: string, log: string[], bytes = 1_500_000) {
  return { bytes, decode: () => void log.push(name) };
}

describe('long documents', () => {
  it('are decoded one at a time, and other requests are served after each', async () => {
    const documents = createLargeDocuments();
    const log: string[] = [];
    let isOver = false;
    let passes = 0;
    const passing = (async () => {
      for (; !isOver; passes++) await nextEventLoopPass();
    })();
    const all = Array.from({ length: 30 }, (_, n) =>
      documents.convert(ownerOf(`account ${n % 5}`), never, documentOf(`${n}`, log), () => undefined),
    );
    expect(log).toHaveLength(1);
    await Promise.all(all);
    isOver = true;
    await passing;
    expect(log).toHaveLength(30);
    expect(passes).toBeGreaterThanOrEqual(30);
  });

  it('of an account that read few go before those of accounts that read many', async () => {
    const documents = createLargeDocuments();
    const log: string[] = [];
    const busy = ['a', 'b', 'c', 'd', 'e'].flatMap((id) => [id, id, id, id, id, id]);
    const convert = (id: string) => documents.convert(ownerOf(id), never, documentOf(id, log), () => pause(2));
    const all = busy.map(convert);
    // Each of the five has read one.
    await Promise.all(all.filter((_, n) => n % 6 === 0));
    const before = log.length;
    all.push(convert('sixth'));
    await Promise.all(all);
    expect(log.indexOf('sixth') - before).toBeLessThanOrEqual(1);
  });
});

describe('a long transcript that waits for those of others', () => {
  let service: Service;
  let customer: Customer;
  const callIds: Record<'long' | 'short', string> = { long: '', short: '' };
  const COUNTS = { long: 15_000, short: 400 };

  beforeAll(async () => {
    service = await startService({ worker: false });
    customer = await service.customer();
    for (const length of ['long', 'short'] as const) {
      const turns = Array.from({ length: COUNTS[length] }, (_, n): StoredTurn => ({
        speaker: n % 2 === 0 ? 'caller' : 'agent',
        text: '(keys: 1 2 3 4 5 6 7 8 9 0 1 2 #)',
        startMs: n * 1_000,
        endMs: n * 1_000 + 900,
      }));
      const transcription = turns.map(({ speaker, text }) => `${speaker}: ${text}`).join('\n');
      const callId = await managementOf(service).endedCall(customer, { transcription });
      callIds[length] = callId;
      const { conversationResults, webhookDeliveries } = service.database;
      await conversationResults.collection.insertOne({
        _id: callId,
        engine: 'pipeline',
        startedAt: new Date(),
        turns,
      } as never);
      await webhookDeliveries.create({
        _id: callId,
        callId,
        accountId: customer.account._id,
        mode: 'live',
        url: 'https://example.com/done',
        body: transcription,
        createdAt: new Date(),
      });
    }
  }, 60_000);
  afterAll(() => service.close());

  const responses: EventEmitter[] = [];
  // Ends the timers of the requests.
  afterEach(() => responses.splice(0).forEach((res) => res.emit('close')));

  /** Handlers whose slot for long documents is in use until `free` is called. */
  function busyHandlers() {
    const { database } = service;
    const largeDocuments = createLargeDocuments();
    let free = () => {};
    const busy = largeDocuments.convert(
      ownerOf('other'),
      never,
      documentOf('', []),
      () => new Promise<void>((resolve) => (free = resolve)),
    );
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
    const { readCall, readTranscript } = createCallReadHandlers({
      ...shared,
      reading: createCallReading(shared),
    } as never);
    const { readWebhookDelivery } = createDeliveryHandlers(shared as never);
    return {
      handlers: { readCall, readTranscript, readWebhookDelivery },
      async free() {
        free();
        await busy;
      },
    };
  }
  function requestOf(length: 'long' | 'short'): never {
    const state = { arrivedAt: Date.now(), minDeadlineMs: 10_000 };
    const res = new EventEmitter();
    responses.push(res);
    const ctx = { res, state } as unknown as ApiContext;
    const principal = { account: customer.account, mode: 'live' };
    return { ctx, principal, params: { call_id: callIds[length] } } as never;
  }

  it.each(['readCall', 'readTranscript', 'readWebhookDelivery'] as const)(
    'does not delay short ones: %s',
    async (name) => {
      const busy = busyHandlers();
      const { handlers } = busy;
      let isDone = false;
      const long = Promise.resolve(handlers[name](requestOf('long'))).finally(() => (isDone = true));
      const short = JSON.stringify(await handlers[name](requestOf('short')));
      await pause(300);
      expect(isDone).toBe(false);
      await busy.free();
      const whole = JSON.stringify(await long);
      const turns = (text: string) => text.split('(keys: ').length - 1;
      // The response for a transcript has each text twice.
      const times = name === 'readTranscript' ? 2 : 1;
      expect([turns(short), turns(whole)]).toEqual([COUNTS.short * times, COUNTS.long * times]);
    },
  );
});
