import { createCompletionSender } from '../../../src/calls/wiring.js';
import type { ServerResponse } from 'node:http';
import { parseConfig } from '../../../src/platform/config/config.js';
import type { Database } from '../../../src/database.js';
import { createLogger } from '../../../src/platform/telemetry/logger.js';
import type { WebhookAttemptResult } from '../../../src/webhooks/attempt-results.js';
import { openTestDatabase } from '../../support/store/test-database.js';
import { createEndedCall } from './support/ended-call.js';
import { startReceiver, type Receiver } from './support/receiver.js';

let database: Database;
let slow: Receiver;
let quick: Receiver;
let waiting: ServerResponse[] = [];

beforeAll(async () => {
  database = await openTestDatabase('slow_receivers');
  [slow, quick] = await Promise.all([
    startReceiver((response) => waiting.push(response)),
    startReceiver((response) => response.writeHead(200).end()),
  ]);
});
afterAll(async () => {
  await Promise.all([slow.close(), quick.close()]);
  await database.connection.dropDatabase();
  await database.close();
});

const config = parseConfig({ PUBLIC_BASE_URL: 'https://calls.example.com', ALLOW_INSECURE_DEVELOPMENT: 'true' });
const calls = (count: number, url: string, accountId: string) =>
  Promise.all(Array.from({ length: count }, () => createEndedCall(database, url, { accountId })));
const isTooEarly = ({ result }: WebhookAttemptResult) => result === 'tooEarly';

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 10));
}

describe('a slow receiver', () => {
  it('gets eight webhooks at once; the others use no attempt, and no other receiver waits', async () => {
    const sender = createCompletionSender({
      config,
      database,
      logger: createLogger({ role: 'test', level: 'silent' }),
    });
    const slowCalls = await calls(20, slow.url, 'acct_slow');
    const results = new Map<string, WebhookAttemptResult>();
    const attempts = slowCalls.map(async (callId) => results.set(callId, await sender.attempt(callId)));
    await until(() => slow.received.length === 8 && results.size === 12);
    const rejectedCalls = [...results.keys()];
    for (const result of results.values()) {
      expect(result).toEqual({ result: 'tooEarly', afterMs: expect.any(Number) as number });
    }
    expect(await database.webhookAttempts.countDocuments({ callId: { $in: rejectedCalls } })).toBe(0);

    // The first call is of another customer, but has the same slow receiver. The others are of the same customer or of
    // another one, and have a quick receiver.
    const [sameHost] = await calls(1, slow.url, 'acct_other');
    const others = [...(await calls(10, quick.url, 'acct_slow')), ...(await calls(10, quick.url, 'acct_quick'))];
    const sameHostAttempt = sender.attempt(sameHost ?? '');
    for (const callId of others) await expect(sender.attempt(callId)).resolves.toEqual({ result: 'delivered' });
    await until(() => slow.received.length === 9);
    expect(waiting).toHaveLength(9);

    for (const response of waiting) response.writeHead(200).end();
    waiting = [];
    await Promise.all(attempts);
    await expect(sameHostAttempt).resolves.toEqual({ result: 'delivered' });
    expect([...results.values()].filter(isTooEarly)).toHaveLength(12);
    // Slots are free now, so the webhooks that were rejected can be sent.
    const again = rejectedCalls.slice(0, 8).map((callId) => sender.attempt(callId));
    await until(() => waiting.length === 8);
    for (const response of waiting) response.writeHead(200).end();
    for (const result of await Promise.all(again)) expect(result).toEqual({ result: 'delivered' });
  });
});
