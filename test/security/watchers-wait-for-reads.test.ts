import { randomUUID } from 'node:crypto';
import { EventEmitter } from 'node:events';
import type { PassThrough } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { createCallQueries } from '../../src/calls/call-queries.js';
import { createCallRequests } from '../../src/calls/call-requests.js';
import { createCallReading } from '../../src/calls/views/call-reading.js';
import { createLiveWords } from '../../src/voice/live-words/live-words.js';
import { createWatchCall } from '../../src/calls/views/watch-call.js';
import { createCallResults } from '../../src/calls/wiring.js';
import type { ApiContext } from '../../src/platform/http/context.js';
import { createLargeDocuments } from '../../src/platform/http/routing/large-documents.js';
import { createCarrierEvents } from '../../src/telephony/carrier-events.js';
import { createWebhookAttempts } from '../../src/webhooks/attempts.js';
import { eventually, startService, type Customer, type Service } from '../support/http/harness.js';
import { managementOf } from '../support/http/management-support.js';

const TEXT = 'x'.repeat(100_000);

describe('an event stream of a call with a long transcription', () => {
  let service: Service;
  let customer: Customer;
  let wholeReads = 0;

  beforeAll(async () => {
    const uri = `${process.env['TEST_MONGODB_URI']}/watched_${randomUUID()}?monitorCommands=true`;
    service = await startService({ worker: false, env: { MONGODB_URI: uri } });
    customer = await service.customer();
    service.database.connection.getClient().on('commandStarted', ({ command }) => {
      const isWhole = JSON.stringify(command['projection'] ?? {}) === '{"latencies":0}';
      if (command['find'] === 'calls' && isWhole) wholeReads += 1;
    });
  }, 60_000);
  beforeEach(() => (wholeReads = 0));
  afterAll(() => service.close());

  const endedCall = () => managementOf(service).endedCall(customer, { transcription: TEXT });
  const addAttempt = (callId: string) =>
    service.database.webhookAttempts.create({
      _id: `${callId}:1`,
      callId,
      number: 1,
      startedAt: new Date(),
      finishedAt: new Date(),
      outcome: 'delivered',
      httpStatus: 200,
    });

  async function watch(callId: string): Promise<string> {
    const headers = { Authorization: `Bearer ${customer.liveKey}` };
    return (await fetch(`${service.baseUrl}/calls/${callId}/events`, { headers })).text();
  }
  const callEvents = (text: string) => text.split('event: call\n').length - 1;

  it('reads an ended call once while nothing changes', async () => {
    expect(callEvents(await watch(await endedCall()))).toBe(1);
    expect(wholeReads).toBe(1);
  }, 20_000);

  it('shows a webhook attempt after the end', async () => {
    const callId = await endedCall();
    const watched = watch(callId);
    await eventually(async () => wholeReads === 1);
    await pause(300);
    await addAttempt(callId);
    const text = await watched;
    expect(callEvents(text)).toBe(2);
    expect(text).toContain('"http_status":200');
    expect(wholeReads).toBe(2);
  }, 20_000);

  /** Watches a call in a process whose reads of long documents can be occupied. */
  function busyWatch(callId: string) {
    const { database } = service;
    const largeDocuments = createLargeDocuments();
    const ends: (() => void)[] = [];
    const warnings: unknown[] = [];
    const queries = createCallQueries(database);
    const reading = createCallReading({
      database,
      queries,
      largeDocuments,
      requests: createCallRequests(database),
      results: createCallResults(database),
      carrierEvents: createCarrierEvents(database),
      attempts: createWebhookAttempts(database),
    });
    const handler = createWatchCall({
      config: { publicBaseUrl: 'https://calls.test' },
      queries,
      reading,
      liveWords: createLiveWords(database),
      logger: { warn: (...line: unknown[]) => void warnings.push(line) },
      waitTimeoutMs: 200,
    } as never);
    return {
      warnings,
      occupy: () => {
        for (let n = 0; n < 4; n++) {
          const gate = new Promise<void>((resolve) => ends.push(resolve));
          void largeDocuments.read(
            { account: { _id: 'other' }, mode: 'live' },
            () => new AbortController().signal,
            () => gate,
          );
        }
      },
      free: () => ends.splice(0).forEach((end) => end()),
      open: async () => {
        const res = new EventEmitter();
        const ctx = { res, state: { arrivedAt: Date.now(), minDeadlineMs: 0 } };
        const principal = { account: customer.account, mode: 'live' };
        const request = { ctx: ctx as unknown as ApiContext, principal, params: { call_id: callId } };
        const { body } = (await handler(request as never)) as unknown as { body: PassThrough };
        const received = { text: '', isFailed: false, isOver: false };
        body.on('data', (data: Buffer) => (received.text += String(data)));
        body.on('end', () => (received.isOver = true));
        body.on('close', () => {
          received.isFailed = !received.isOver;
          // As Node.js does. Else the time limit for this response would end it in a later test file.
          res.emit('close');
        });
        return received;
      },
    };
  }

  it('continues while the reads of others take too long, and shows the change later', async () => {
    const callId = await endedCall();
    const { open, occupy, free, warnings } = busyWatch(callId);
    const received = await open();
    await eventually(async () => callEvents(received.text) === 1);
    occupy();
    await addAttempt(callId);
    await pause(1_700);
    expect(received).toMatchObject({ isOver: false, isFailed: false });
    free();
    await eventually(async () => callEvents(received.text) === 2);
    await eventually(async () => received.isOver);
    expect(warnings).toEqual([]);
  }, 20_000);

  it('ends with an error event if its first read has to wait too long', async () => {
    const { open, occupy, free, warnings } = busyWatch(await endedCall());
    occupy();
    const received = await open();
    await eventually(async () => received.isOver || received.isFailed);
    free();
    expect(received).toMatchObject({ isOver: true, isFailed: false });
    expect(received.text).toMatch(/^event: end\ndata: .*SERVICE_UNAVAILABLE/);
    expect(warnings).toEqual([]);
  }, 20_000);
});
