import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { createCompletionSender } from '../../../src/calls/wiring.js';
import { openDatabase, type Database } from '../../../src/database.js';
import { parseConfig } from '../../../src/platform/config/config.js';
import { createIndexes } from '../../../src/platform/mongo/indexes.js';
import { createLogger } from '../../../src/platform/telemetry/logger.js';
import { createWebhookAttempts } from '../../../src/webhooks/attempts.js';
import { createWebhookDeliveries } from '../../../src/webhooks/deliveries.js';
import type { WebhookAttemptDocument } from '../../../src/webhooks/model.js';
import { createEndedCall } from './support/ended-call.js';
import { startReceiver, type Receiver } from './support/receiver.js';

const config = parseConfig({ PUBLIC_BASE_URL: 'https://calls.example.com', ALLOW_INSECURE_DEVELOPMENT: 'true' });
const logger = createLogger({ role: 'test', level: 'silent' });
const AT_ONCE = { isFirst: true };
let database: Database;
let receiver: Receiver;
let answer: (response: ServerResponse) => void;

beforeAll(async () => {
  database = await openDatabase(`${process.env['TEST_MONGODB_URI']}/first_attempt_${randomUUID()}`);
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

function rowsOf(callId: string): Promise<WebhookAttemptDocument[]> {
  return database.webhookAttempts.find({ callId }).sort({ number: 1 }).lean<WebhookAttemptDocument[]>().exec();
}

/** Makes the first attempt, and resolves when the endpoint has the request. It responds with `status` after `respond`. */
async function beginSlowAttempt(callId: string, status: number) {
  let respond = () => {};
  const slow = new Promise<void>((resolve) => (respond = resolve));
  answer = (response) => void slow.then(() => response.writeHead(status).end('late'));
  const attempt = sender().attempt(callId, 0, AT_ONCE);
  while (receiver.received.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
  return { attempt, respond };
}

/** Does what a worker does that takes the sender of the first attempt for dead. */
function markInterrupted(callId: string): Promise<void> {
  const at = { finished: new Date(), started: new Date() };
  return createWebhookAttempts(database).finish(callId, 1, { outcome: 'interrupted' }, at);
}

describe('a first attempt that the stored delivery claims', () => {
  it('has one row, with the time at which it began', async () => {
    const callId = await createEndedCall(database, receiver.url);
    const began = Date.now();
    await expect(sender().attempt(callId, 0, AT_ONCE)).resolves.toEqual({ result: 'delivered' });
    const [row, ...others] = await rowsOf(callId);
    expect(others).toHaveLength(0);
    expect(row).toMatchObject({ _id: `${callId}:1`, callId, number: 1, outcome: 'delivered', responseBody: 'ok' });
    expect(row?.startedAt.getTime()).toBeGreaterThanOrEqual(began);
    expect(row?.finishedAt?.getTime()).toBeGreaterThanOrEqual(Number(row?.startedAt));
    await expect(sender().attempt(callId)).resolves.toEqual({ result: 'delivered' });
    expect(receiver.received).toHaveLength(1);
  });

  it('is followed by the second one if it fails', async () => {
    const callId = await createEndedCall(database, receiver.url);
    answer = (response) => response.writeHead(500).end();
    await expect(sender().attempt(callId, 0, AT_ONCE)).resolves.toEqual({ result: 'retry', afterMs: 1_000 });
    await expect(sender().attempt(callId)).resolves.toMatchObject({ result: 'tooEarly' });
    expect(await rowsOf(callId)).toMatchObject([{ number: 1, outcome: 'failed', httpStatus: 500 }]);
  });

  it('is made by one of several workers', async () => {
    answer = (response) => void setTimeout(() => response.writeHead(200).end(), 200);
    const callId = await createEndedCall(database, receiver.url);
    const results = await Promise.all(Array.from({ length: 5 }, () => sender().attempt(callId, 0, AT_ONCE)));
    expect(receiver.received).toHaveLength(1);
    expect(results.map(({ result }) => result).toSorted()).toEqual([
      'delivered',
      'tooEarly',
      'tooEarly',
      'tooEarly',
      'tooEarly',
    ]);
  });

  it('leaves no headers and no response if the call is erased meanwhile', async () => {
    const callId = await createEndedCall(database, receiver.url);
    const { attempt, respond } = await beginSlowAttempt(callId, 200);
    await createWebhookDeliveries(database).erase(callId, new Date());
    await createWebhookAttempts(database).erase(callId);
    respond();
    await attempt;
    const [row] = await rowsOf(callId);
    expect(row).toMatchObject({ outcome: 'delivered' });
    expect(row).not.toHaveProperty('requestHeaders');
    expect(row).not.toHaveProperty('responseBody');
  });
});

describe('a worker that dies in a first attempt without a row', () => {
  /** Stores a delivery whose first attempt began `ageMs` ago. */
  async function storeAbandoned(ageMs: number) {
    const callId = await createEndedCall(database, receiver.url);
    answer = (response) => response.writeHead(500).end();
    await sender().attempt(callId, 0, AT_ONCE);
    await database.webhookAttempts.deleteMany({ callId });
    receiver.received.length = 0;
    answer = (response) => response.writeHead(200).end();
    const firstAttemptAt = new Date(Date.now() - ageMs);
    await database.webhookDeliveries.updateOne({ _id: callId }, { $set: { firstAttemptAt } });
    return { callId, firstAttemptAt };
  }

  it('keeps the attempt while it may still be running', async () => {
    const { callId } = await storeAbandoned(2_000);
    const result = await sender().attempt(callId);
    expect(result.result).toBe('tooEarly');
    expect('afterMs' in result && result.afterMs).toBeLessThanOrEqual(4_000);
    expect(receiver.received).toHaveLength(0);
  });

  it('has made one attempt, which failed 5 s after it started', async () => {
    const { callId, firstAttemptAt } = await storeAbandoned(6_050);
    await expect(sender().attempt(callId)).resolves.toEqual({ result: 'delivered' });
    const finishedAt = new Date(firstAttemptAt.getTime() + 5_000);
    expect(await rowsOf(callId)).toMatchObject([
      { number: 1, startedAt: firstAttemptAt, outcome: 'interrupted', finishedAt },
      { number: 2, outcome: 'delivered' },
    ]);
    expect(receiver.received).toHaveLength(1);
  });

  it('is credited with the delivery if it was only slow', async () => {
    const callId = await createEndedCall(database, receiver.url);
    const { attempt, respond } = await beginSlowAttempt(callId, 200);
    await markInterrupted(callId);
    respond();
    await expect(attempt).resolves.toEqual({ result: 'delivered' });
    expect(await rowsOf(callId)).toMatchObject([{ number: 1, outcome: 'delivered', httpStatus: 200 }]);
  });

  it('changes nothing with a late failure', async () => {
    const callId = await createEndedCall(database, receiver.url);
    const { attempt, respond } = await beginSlowAttempt(callId, 500);
    await markInterrupted(callId);
    respond();
    await attempt;
    const [row, ...others] = await rowsOf(callId);
    expect(others).toHaveLength(0);
    expect(row).toMatchObject({ number: 1, outcome: 'interrupted' });
    expect(row).not.toHaveProperty('httpStatus');
  });
});
