import { createCompletionSender } from '../../../src/calls/wiring.js';
import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { version } from '../../../package.json';
import { parseConfig } from '../../../src/platform/config/config.js';
import { createIndexes } from '../../../src/platform/mongo/indexes.js';
import { openDatabase, type Database } from '../../../src/database.js';
import type { CallDocument } from '../../../src/calls/call-model.js';
import { createWebhookAttempts } from '../../../src/webhooks/attempts.js';
import { createWebhookDeliveries } from '../../../src/webhooks/deliveries.js';
import type { WebhookAttemptDocument } from '../../../src/webhooks/model.js';
import { createLogger } from '../../../src/platform/telemetry/logger.js';
import { createEndedCall } from './support/ended-call.js';
import { startReceiver, startTcpListener, type Receiver } from './support/receiver.js';

const config = parseConfig({ PUBLIC_BASE_URL: 'https://calls.example.com', ALLOW_INSECURE_DEVELOPMENT: 'true' });
const logger = createLogger({ role: 'test', level: 'silent' });
let database: Database;
let receiver: Receiver;
let answer: (response: ServerResponse) => void;

beforeAll(async () => {
  database = await openDatabase(`${process.env['TEST_MONGODB_URI']}/webhooks_${randomUUID()}`);
  await createIndexes(database);
});
afterAll(async () => {
  await database.connection.dropDatabase();
  await database.close();
});
beforeEach(async () => {
  answer = (response) => response.writeHead(200).end('ok');
  receiver = await startReceiver((response) => answer(response));
});
afterEach(() => receiver.close());

const sender = (of = logger) => createCompletionSender({ config, database, logger: of });
const respondWithError = (response: ServerResponse) => response.writeHead(500).end('down for maintenance');

const endedCall = (change: Partial<CallDocument> = {}, webhookUrl = receiver.url) =>
  createEndedCall(database, webhookUrl, change);

function rowsOf(callId: string): Promise<WebhookAttemptDocument[]> {
  return database.webhookAttempts.find({ callId }).sort({ number: 1 }).lean<WebhookAttemptDocument[]>().exec();
}

/** Simulates that time passes by moving the rows of a delivery into the past. */
async function simulateTime(callId: string, ms: number): Promise<void> {
  for (const row of await rowsOf(callId)) {
    const startedAt = new Date(row.startedAt.getTime() - ms);
    const finishedAt = row.finishedAt && { finishedAt: new Date(row.finishedAt.getTime() - ms) };
    await database.webhookAttempts.updateOne({ _id: row._id }, { $set: { startedAt, ...finishedAt } });
  }
}

describe('a completion webhook', () => {
  it('is delivered once, however often it is attempted', async () => {
    const callId = await endedCall();
    await expect(sender().attempt(callId)).resolves.toEqual({ result: 'delivered' });
    await expect(sender().attempt(callId)).resolves.toEqual({ result: 'delivered' });
    expect(receiver.received).toHaveLength(1);
    expect(JSON.parse(receiver.received[0]?.body ?? '')).toMatchObject({
      call_id: callId,
      status: 'COMPLETED',
      external_call_id: 'order-7',
      cost: 0.025,
    });
    const [row, ...others] = await rowsOf(callId);
    expect(others).toHaveLength(0);
    expect(row).toMatchObject({ number: 1, outcome: 'delivered', httpStatus: 200, responseBody: 'ok' });
    expect(row?.durationMs).toBeGreaterThanOrEqual(0);
    expect(row?.error).toBeUndefined();
  });

  it('keeps no headers and no response if the call is erased while the attempt is in progress', async () => {
    const callId = await endedCall();
    answer = (response) => {
      void (async () => {
        await createWebhookDeliveries(database).erase(callId, new Date());
        await createWebhookAttempts(database).erase(callId);
        response.writeHead(200, { server: 'acme' }).end('They spoke.');
      })();
    };
    await expect(sender().attempt(callId)).resolves.toEqual({ result: 'delivered' });
    const [row] = await rowsOf(callId);
    expect(row).toMatchObject({ outcome: 'delivered', httpStatus: 200 });
    expect(row).not.toHaveProperty('responseBody');
    expect(row).not.toHaveProperty('requestHeaders');
    expect(row).not.toHaveProperty('responseHeaders');
  });

  it('is stored with the headers of request and response, without what may be a secret', async () => {
    answer = (response) =>
      response.writeHead(200, { server: 'acme', 'set-cookie': ['a=1', 'b=2'], 'x-long': 'x'.repeat(400) }).end('ok');
    const callId = await endedCall();
    await sender().attempt(callId);
    const [row] = await rowsOf(callId);
    const sent = Object.fromEntries((row?.requestHeaders ?? []).map(({ name, value }) => [name, value]));
    expect(sent).toMatchObject({ 'content-type': 'application/json', 'webhook-id': `evt_${callId}_completed` });
    expect(receiver.received[0]?.headers).toMatchObject(sent);
    expect(row).not.toHaveProperty('responseHeadersLeftOut');
    expect(row?.responseHeaders).toEqual(
      expect.arrayContaining([
        { name: 'server', value: 'acme' },
        { name: 'set-cookie', value: '[not stored]' },
        { name: 'x-long', value: 'x'.repeat(256) },
      ]),
    );
    expect(JSON.stringify(row)).not.toMatch(/a=1|b=2/);
  });

  it('has its event, time and sender in headers', async () => {
    const callId = await endedCall();
    await sender().attempt(callId);
    const headers = receiver.received[0]?.headers;
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'webhook-id': `evt_${callId}_completed`,
      'user-agent': `callwright/${version}`,
      'accept-encoding': 'identity',
    });
    expect(Math.abs(Number(headers?.['webhook-timestamp']) - Date.now() / 1_000)).toBeLessThan(30);
  });

  it('is tried four times, 1, 5 and 30 s after each failure, then given up', async () => {
    answer = respondWithError;
    const callId = await endedCall();
    const waits = [1_000, 5_000, 30_000];
    for (const [index, wait] of waits.entries()) {
      await expect(sender().attempt(callId)).resolves.toEqual({ result: 'retry', afterMs: wait });
      const early = await sender().attempt(callId);
      expect(early.result).toBe('tooEarly');
      expect('afterMs' in early && early.afterMs).toBeGreaterThan(wait - 1_000);
      expect('afterMs' in early && early.afterMs).toBeLessThanOrEqual(wait);
      // The sender sent nothing before the wait was over.
      expect(receiver.received).toHaveLength(index + 1);
      // Waits in real time for the first attempt only. The other waits are simulated.
      if (index === 0) await new Promise((resolve) => setTimeout(resolve, wait));
      else await simulateTime(callId, wait);
    }
    await expect(sender().attempt(callId)).resolves.toEqual({ result: 'exhausted' });
    await simulateTime(callId, 3_600_000);
    await expect(sender().attempt(callId)).resolves.toEqual({ result: 'exhausted' });
    expect(receiver.received).toHaveLength(4);
    expect(receiver.received[1]!.at - receiver.received[0]!.at).toBeGreaterThanOrEqual(1_000);
    expect((await rowsOf(callId)).map(({ number, outcome, httpStatus }) => [number, outcome, httpStatus])).toEqual(
      [1, 2, 3, 4].map((number) => [number, 'failed', 500]),
    );
  });

  it('that always fails is one line in the log', async () => {
    answer = respondWithError;
    const lines: string[] = [];
    const destination = { write: (line: string) => void lines.push(line) };
    const failing = sender(createLogger({ role: 'test', level: 'info', destination }));
    const callId = await endedCall();
    for (let attempt = 1; attempt <= 4; attempt += 1) {
      await failing.attempt(callId);
      await simulateTime(callId, 60_000);
    }
    expect(receiver.received).toHaveLength(4);
    expect(lines.map((line) => JSON.parse(line) as object)).toEqual([
      expect.objectContaining({
        callId,
        attempt: 4,
        httpStatus: 500,
        msg: 'webhook not delivered: all attempts failed',
      }),
    ]);
  });

  it('has the same bytes and event id in each attempt, even if the call changes meanwhile', async () => {
    answer = respondWithError;
    const callId = await endedCall();
    await sender().attempt(callId);
    await database.calls.updateOne({ _id: callId }, { $set: { summary: 'Another summary.', sequence: 4 } });
    await simulateTime(callId, 1_000);
    answer = (response) => response.writeHead(204).end();
    await expect(sender().attempt(callId)).resolves.toEqual({ result: 'delivered' });
    const [first, second] = receiver.received;
    expect(second?.body).toBe(first?.body);
    expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id']);
    expect(second?.body).toContain('They talked.');
  });

  it("stores the receiver's response to a failed attempt", async () => {
    answer = respondWithError;
    const callId = await endedCall();
    await sender().attempt(callId);
    expect((await rowsOf(callId))[0]).toMatchObject({
      outcome: 'failed',
      error: 'status',
      httpStatus: 500,
      responseBody: 'down for maintenance',
    });
  });

  it('is sent again after any error status, including 410 Gone', async () => {
    answer = (response) => response.writeHead(410).end();
    const callId = await endedCall();
    await expect(sender().attempt(callId)).resolves.toEqual({ result: 'retry', afterMs: 1_000 });
    await simulateTime(callId, 1_000);
    answer = (response) => response.writeHead(200).end();
    await expect(sender().attempt(callId)).resolves.toEqual({ result: 'delivered' });
    expect((await rowsOf(callId))[0]).toMatchObject({ outcome: 'failed', error: 'status', httpStatus: 410 });
  });

  it('fails with connection_refused if the receiver rejects connections', async () => {
    const listener = await startTcpListener();
    await listener.close();
    const callId = await endedCall({}, `http://127.0.0.1:${listener.port}/`);
    await expect(sender().attempt(callId)).resolves.toEqual({ result: 'retry', afterMs: 1_000 });
    expect((await rowsOf(callId))[0]).toMatchObject({ outcome: 'failed', error: 'connection_refused' });
  });

  it('is blocked for a private address in production, in each attempt, without a connection', async () => {
    const canary = await startTcpListener();
    const callId = await endedCall({}, `http://2130706433:${canary.port}/`);
    const guarded = createCompletionSender({
      config: { ...config, webhooks: { ...config.webhooks, guarded: true } },
      database,
      logger,
    });
    await expect(guarded.attempt(callId)).resolves.toEqual({ result: 'retry', afterMs: 1_000 });
    expect((await rowsOf(callId))[0]).toMatchObject({ outcome: 'failed', error: 'blocked' });
    expect(canary.connections()).toBe(0);
    await canary.close();
  });

  it('is not sent before the call has ended', async () => {
    const callId = await endedCall({ status: 'IN_PROGRESS' });
    await expect(sender().attempt(callId)).rejects.toThrow(/IN_PROGRESS/);
    expect(receiver.received).toHaveLength(0);
    await expect(rowsOf(callId)).resolves.toHaveLength(0);
  });

  it('is neither sent nor given up while the database is unavailable', async () => {
    const callId = await endedCall();
    const closedDatabase = await openDatabase(`${process.env['TEST_MONGODB_URI']}/webhooks_away`);
    await closedDatabase.close();
    await expect(createCompletionSender({ config, database: closedDatabase, logger }).attempt(callId)).rejects.toThrow(
      /connect/i,
    );
    expect(receiver.received).toHaveLength(0);
  });

  it('is given up without a call or a webhook_url', async () => {
    await expect(sender().attempt(`call_${randomUUID()}`)).resolves.toEqual({ result: 'exhausted' });
    const callId = await endedCall();
    await database.callRequests.updateOne({ _id: callId }, { $unset: { webhookUrl: 1 } });
    await expect(sender().attempt(callId)).resolves.toEqual({ result: 'exhausted' });
    expect(receiver.received).toHaveLength(0);
  });
});

describe('a worker that dies in an attempt', () => {
  /** Inserts the row of an attempt whose worker died. The attempt began `ageMs` ago. */
  async function insertAbandonedAttempt(callId: string, number: number, ageMs: number): Promise<void> {
    const startedAt = new Date(Date.now() - ageMs);
    await database.webhookAttempts.create({ _id: `${callId}:${number}`, callId, number, startedAt });
  }

  it('keeps the attempt while it may still be running', async () => {
    const callId = await endedCall();
    await insertAbandonedAttempt(callId, 1, 2_000);
    const result = await sender().attempt(callId);
    expect(result).toEqual({ result: 'tooEarly', afterMs: expect.any(Number) as number });
    expect('afterMs' in result && result.afterMs).toBeLessThanOrEqual(4_000);
    expect(receiver.received).toHaveLength(0);
  });

  it('has made one attempt, which failed 5 s after it started', async () => {
    const callId = await endedCall();
    await insertAbandonedAttempt(callId, 1, 6_050);
    const startedAt = (await rowsOf(callId))[0]?.startedAt.getTime() ?? 0;
    await expect(sender().attempt(callId)).resolves.toEqual({ result: 'delivered' });
    const [first, second] = await rowsOf(callId);
    expect(first).toMatchObject({ outcome: 'interrupted', finishedAt: new Date(startedAt + 5_000) });
    expect(second).toMatchObject({ number: 2, outcome: 'delivered' });
  });

  it('does not change the wait after its attempt', async () => {
    const callId = await endedCall();
    await insertAbandonedAttempt(callId, 2, 7_000);
    const result = await sender().attempt(callId);
    expect(result.result).toBe('tooEarly');
    // Attempt 2 counts as failed 2 s ago, and the sender waits 5 s after a failed attempt 2. So 2 s to 3 s are left.
    expect('afterMs' in result && result.afterMs).toBeGreaterThan(2_000);
    expect('afterMs' in result && result.afterMs).toBeLessThanOrEqual(3_000);
  });

  it('has used up the last attempt if it died in that', async () => {
    const callId = await endedCall();
    await insertAbandonedAttempt(callId, 4, 7_000);
    await expect(sender().attempt(callId)).resolves.toEqual({ result: 'exhausted' });
    expect((await rowsOf(callId))[0]).toMatchObject({ number: 4, outcome: 'interrupted' });
    expect(receiver.received).toHaveLength(0);
  });

  it('is credited with the delivery if it was only slow', async () => {
    let respond = () => {};
    const slow = new Promise<void>((resolve) => (respond = resolve));
    answer = (response) => void slow.then(() => response.writeHead(200).end());
    const callId = await endedCall();
    const attempt = sender().attempt(callId);
    while (receiver.received.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    // Marks the attempt as interrupted, as another worker does if it assumes that the attempt's worker died.
    await database.webhookAttempts.updateOne(
      { _id: `${callId}:1` },
      { $set: { outcome: 'interrupted', finishedAt: new Date() } },
    );
    respond();
    await expect(attempt).resolves.toEqual({ result: 'delivered' });
    await expect(sender().attempt(callId)).resolves.toEqual({ result: 'delivered' });
    expect(receiver.received).toHaveLength(1);
  });
});

describe('concurrent workers', () => {
  it('make one attempt in total', async () => {
    answer = (response) => void setTimeout(() => response.writeHead(200).end(), 200);
    const callId = await endedCall();
    const results = await Promise.all(Array.from({ length: 5 }, () => sender().attempt(callId)));
    expect(receiver.received).toHaveLength(1);
    expect(results.filter(({ result }) => result === 'delivered')).toHaveLength(1);
    expect(results.filter(({ result }) => result === 'tooEarly')).toHaveLength(4);
  });
});
