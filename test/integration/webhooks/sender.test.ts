import { createCompletionSender } from '../../../src/calls/wiring.js';
import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { version } from '../../../package.json';
import { parseConfig } from '../../../src/platform/config/config.js';
import { createIndexes } from '../../../src/platform/mongo/connection.js';
import { openDatabase, type Database } from '../../../src/database.js';
import type { CallDocument } from '../../../src/calls/call-model.js';
import type { WebhookAttemptDocument } from '../../../src/webhooks/model.js';
import { createLogger } from '../../../src/platform/telemetry/logger.js';
import { callToTellOf } from './support/call-to-tell-of.js';
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

const sender = () => createCompletionSender({ config, database, logger });
const refuse = (response: ServerResponse) => response.writeHead(500).end('down for maintenance');

const endedCall = (change: Partial<CallDocument> = {}, webhookUrl = receiver.url) =>
  callToTellOf(database, webhookUrl, change);

function rowsOf(callId: string): Promise<WebhookAttemptDocument[]> {
  return database.webhookAttempts.find({ callId }).sort({ number: 1 }).lean<WebhookAttemptDocument[]>().exec();
}

/** Lets time pass for a delivery by moving its rows into the past. */
async function pass(callId: string, ms: number): Promise<void> {
  for (const row of await rowsOf(callId)) {
    const startedAt = new Date(row.startedAt.getTime() - ms);
    const finishedAt = row.finishedAt && { finishedAt: new Date(row.finishedAt.getTime() - ms) };
    await database.webhookAttempts.updateOne({ _id: row._id }, { $set: { startedAt, ...finishedAt } });
  }
}

describe('a completion webhook', () => {
  it('is delivered once, however often it is asked for', async () => {
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

  it('names its event, its time and its sender in headers', async () => {
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

  it('is tried four times with waits of 1, 5 and 30 s from each failure, then given up', async () => {
    answer = refuse;
    const callId = await endedCall();
    const waits = [1_000, 5_000, 30_000];
    for (const [index, wait] of waits.entries()) {
      await expect(sender().attempt(callId)).resolves.toEqual({ result: 'retry', afterMs: wait });
      const early = await sender().attempt(callId);
      expect(early.result).toBe('tooEarly');
      expect('afterMs' in early && early.afterMs).toBeGreaterThan(wait - 1_000);
      expect('afterMs' in early && early.afterMs).toBeLessThanOrEqual(wait);
      // Nothing was sent too early.
      expect(receiver.received).toHaveLength(index + 1);
      // The first wait for real, the others by moving the rows.
      if (index === 0) await new Promise((resolve) => setTimeout(resolve, wait));
      else await pass(callId, wait);
    }
    await expect(sender().attempt(callId)).resolves.toEqual({ result: 'exhausted' });
    await pass(callId, 3_600_000);
    await expect(sender().attempt(callId)).resolves.toEqual({ result: 'exhausted' });
    expect(receiver.received).toHaveLength(4);
    expect(receiver.received[1]!.at - receiver.received[0]!.at).toBeGreaterThanOrEqual(1_000);
    expect((await rowsOf(callId)).map(({ number, outcome, httpStatus }) => [number, outcome, httpStatus])).toEqual(
      [1, 2, 3, 4].map((number) => [number, 'failed', 500]),
    );
  });

  it('sends the same bytes and event id on each attempt, whatever becomes of the call meanwhile', async () => {
    answer = refuse;
    const callId = await endedCall();
    await sender().attempt(callId);
    await database.calls.updateOne({ _id: callId }, { $set: { summary: 'Another summary.', sequence: 4 } });
    await pass(callId, 1_000);
    answer = (response) => response.writeHead(204).end();
    await expect(sender().attempt(callId)).resolves.toEqual({ result: 'delivered' });
    const [first, second] = receiver.received;
    expect(second?.body).toBe(first?.body);
    expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id']);
    expect(second?.body).toContain('They talked.');
  });

  it('keeps what the receiver said to a failed attempt', async () => {
    answer = refuse;
    const callId = await endedCall();
    await sender().attempt(callId);
    expect((await rowsOf(callId))[0]).toMatchObject({
      outcome: 'failed',
      error: 'status',
      httpStatus: 500,
      responseBody: 'down for maintenance',
    });
  });

  it('is sent again after any refusal, 410 Gone included', async () => {
    answer = (response) => response.writeHead(410).end();
    const callId = await endedCall();
    await expect(sender().attempt(callId)).resolves.toEqual({ result: 'retry', afterMs: 1_000 });
    await pass(callId, 1_000);
    answer = (response) => response.writeHead(200).end();
    await expect(sender().attempt(callId)).resolves.toEqual({ result: 'delivered' });
    expect((await rowsOf(callId))[0]).toMatchObject({ outcome: 'failed', error: 'status', httpStatus: 410 });
  });

  it('to a receiver that refuses connections fails with its reason', async () => {
    const listener = await startTcpListener();
    await listener.close();
    const callId = await endedCall({}, `http://127.0.0.1:${listener.port}/`);
    await expect(sender().attempt(callId)).resolves.toEqual({ result: 'retry', afterMs: 1_000 });
    expect((await rowsOf(callId))[0]).toMatchObject({ outcome: 'failed', error: 'connection_refused' });
  });

  it('to a private address is blocked in production, attempt by attempt, with no connection', async () => {
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

  it('waits for the end of the call', async () => {
    const callId = await endedCall({ status: 'IN_PROGRESS' });
    await expect(sender().attempt(callId)).rejects.toThrow(/IN_PROGRESS/);
    expect(receiver.received).toHaveLength(0);
    await expect(rowsOf(callId)).resolves.toHaveLength(0);
  });

  it('is neither sent nor given up while the database is away', async () => {
    const callId = await endedCall();
    const away = await openDatabase(`${process.env['TEST_MONGODB_URI']}/webhooks_away`);
    await away.close();
    await expect(createCompletionSender({ config, database: away, logger }).attempt(callId)).rejects.toThrow(
      /connect/i,
    );
    expect(receiver.received).toHaveLength(0);
  });

  it('is given up when there is no call, or nobody to tell', async () => {
    await expect(sender().attempt(`call_${randomUUID()}`)).resolves.toEqual({ result: 'exhausted' });
    const callId = await endedCall();
    await database.callRequests.updateOne({ _id: callId }, { $unset: { webhookUrl: 1 } });
    await expect(sender().attempt(callId)).resolves.toEqual({ result: 'exhausted' });
    expect(receiver.received).toHaveLength(0);
  });
});

describe('a worker that dies in an attempt', () => {
  /** The row such a worker leaves behind, begun `ageMs` ago. */
  async function abandon(callId: string, number: number, ageMs: number): Promise<void> {
    const startedAt = new Date(Date.now() - ageMs);
    await database.webhookAttempts.create({ _id: `${callId}:${number}`, callId, number, startedAt });
  }

  it('keeps its attempt while it may still be at it', async () => {
    const callId = await endedCall();
    await abandon(callId, 1, 2_000);
    const result = await sender().attempt(callId);
    expect(result).toEqual({ result: 'tooEarly', afterMs: expect.any(Number) as number });
    expect('afterMs' in result && result.afterMs).toBeLessThanOrEqual(4_000);
    expect(receiver.received).toHaveLength(0);
  });

  it('has made one attempt, which failed 5 s after it began', async () => {
    const callId = await endedCall();
    await abandon(callId, 1, 6_050);
    const startedAt = (await rowsOf(callId))[0]?.startedAt.getTime() ?? 0;
    await expect(sender().attempt(callId)).resolves.toEqual({ result: 'delivered' });
    const [first, second] = await rowsOf(callId);
    expect(first).toMatchObject({ outcome: 'interrupted', finishedAt: new Date(startedAt + 5_000) });
    expect(second).toMatchObject({ number: 2, outcome: 'delivered' });
  });

  it('does not shorten or lengthen the wait after its attempt', async () => {
    const callId = await endedCall();
    await abandon(callId, 2, 7_000);
    const result = await sender().attempt(callId);
    expect(result.result).toBe('tooEarly');
    // Attempt 2 counts as failed 2 s ago; the wait after it is 5 s.
    expect('afterMs' in result && result.afterMs).toBeGreaterThan(2_000);
    expect('afterMs' in result && result.afterMs).toBeLessThanOrEqual(3_000);
  });

  it('in the last attempt has used it up', async () => {
    const callId = await endedCall();
    await abandon(callId, 4, 7_000);
    await expect(sender().attempt(callId)).resolves.toEqual({ result: 'exhausted' });
    expect((await rowsOf(callId))[0]).toMatchObject({ number: 4, outcome: 'interrupted' });
    expect(receiver.received).toHaveLength(0);
  });

  it('and was only slow: its delivery still counts', async () => {
    let release = () => {};
    const slow = new Promise<void>((resolve) => (release = resolve));
    answer = (response) => void slow.then(() => response.writeHead(200).end());
    const callId = await endedCall();
    const attempt = sender().attempt(callId);
    while (receiver.received.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    // Another worker takes it for dead.
    await database.webhookAttempts.updateOne(
      { _id: `${callId}:1` },
      { $set: { outcome: 'interrupted', finishedAt: new Date() } },
    );
    release();
    await expect(attempt).resolves.toEqual({ result: 'delivered' });
    await expect(sender().attempt(callId)).resolves.toEqual({ result: 'delivered' });
    expect(receiver.received).toHaveLength(1);
  });
});

describe('several workers at once', () => {
  it('make one attempt between them', async () => {
    answer = (response) => void setTimeout(() => response.writeHead(200).end(), 200);
    const callId = await endedCall();
    const results = await Promise.all(Array.from({ length: 5 }, () => sender().attempt(callId)));
    expect(receiver.received).toHaveLength(1);
    expect(results.filter(({ result }) => result === 'delivered')).toHaveLength(1);
    expect(results.filter(({ result }) => result === 'tooEarly')).toHaveLength(4);
  });
});
