import { request as httpRequest } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { createApiServer } from '../../src/api/server.js';
import { openDatabase, type Database } from '../../src/database.js';
import { createLogger } from '../../src/platform/telemetry/logger.js';
import { eventually, startService, type Customer, type Service } from '../support/http/harness.js';
import { startStoreLink, type StoreLink } from '../support/store/store-link.js';

jest.setTimeout(120_000);

let service: Service;
let link: StoreLink;
let database: Database;
let api: ReturnType<typeof createApiServer>;
let port: number;
let customer: Customer;

/** Starts another instance of the API, which reaches the database over a link. */
beforeAll(async () => {
  service = await startService({ worker: false });
  link = await startStoreLink(process.env.TEST_MONGODB_URI ?? '');
  const name = new URL(service.config.mongodbUri).pathname.slice(1);
  database = await openDatabase(link.uri(name, '?monitorCommands=true'), { waitMs: 500 });
  const { config, gateway } = service;
  const logger = createLogger({ role: 'test', level: 'silent' });
  api = createApiServer({ config, database, gateway, logger, minDeadlineMs: 0, mailDelayMs: () => 0 });
  ({ port } = await api.listen());
  customer = await service.customer();
});
afterAll(async () => {
  await api.close();
  await database.close();
  await link.close();
  await service.close();
});

/** Changes the instruction of the customer's agent; the last byte of the request comes later. */
const patch = (instruction: string, lastByteAfterMs = 0): Promise<number> =>
  send('PATCH', `/agents/${customer.agent._id}`, { instruction }, { key: customer.liveKey, lastByteAfterMs });

/** Sends a request whose last byte comes later. Returns the status. */
function send(
  method: string,
  path: string,
  json: object,
  { key, lastByteAfterMs }: { key: string; lastByteAfterMs: number },
): Promise<number> {
  const body = JSON.stringify(json);
  return new Promise((resolve, reject) => {
    const request = httpRequest({
      port,
      method,
      path,
      headers: {
        Authorization: `Bearer ${key}`,
        'Content-Type': 'application/json',
        'Content-Length': Buffer.byteLength(body),
      },
    });
    request.on('response', (response) => resolve(response.resume().statusCode ?? 0));
    request.on('error', reject);
    request.write(body.slice(0, -1));
    setTimeout(() => request.end(body.slice(-1)), lastByteAfterMs);
  });
}

const stored = async () => (await service.database.agents.findById(customer.agent._id).lean())?.instruction;
const entries = () =>
  service.database.auditEntries
    .find({ accountId: customer.account._id, action: 'updateAgent' })
    .sort({ _id: 1 })
    .lean();

describe('a change whose request gets an error', () => {
  it('has an entry in the audit log that says so, if it may have been made, and counts as a change', async () => {
    const hold = ({ commandName, command }: { commandName: string; command: Record<string, unknown> }) => {
      if (commandName !== 'find' && command[commandName] === 'agents') link.hold();
    };
    database.connection.getClient().on('commandStarted', hold);
    expect(await patch('Be short.')).toBe(503);
    database.connection.getClient().off('commandStarted', hold);
    link.repair();
    expect(await stored()).toBe('Be short.');
    await eventually(async () => (await entries()).length === 1, 30_000);
    expect(await entries()).toEqual([
      expect.objectContaining({ unconfirmed: true, target: customer.agent._id, actorKind: 'key' }),
    ]);
    const counts = await service.database.connection
      .collection('rate_limits')
      .find({ key: { $regex: `changes:${customer.account._id}` } })
      .toArray();
    expect(counts.map(({ points }) => points as number)).toEqual([1]);
  });

  it('is not one that came slowly: it has as much time as others when its body has arrived', async () => {
    const before = (await entries()).length;
    for (const [index, afterMs] of [1_700, 1_850, 1_900].entries()) {
      let earlier = await stored();
      let status = await patch(`Be kind ${index}.`, afterMs);
      // On a busy machine a response may be late. Then the request is sent again.
      for (let tries = 0; tries < 5 && status === 503; tries += 1) {
        earlier = await stored();
        status = await patch(`Be kind ${index}.`, afterMs);
      }
      // The body may come too late there; then nothing is changed.
      expect([200, 400, 408]).toContain(status);
      expect(await stored()).toBe(status === 200 ? `Be kind ${index}.` : earlier);
    }
    expect((await entries()).length).toBeGreaterThan(before);
  });

  it('is undone if the key expires meanwhile: webhooks keep the secrets that receivers know', async () => {
    const rotate = (key: string, lastByteAfterMs = 0) =>
      send('POST', '/webhook_signing/rotate', { overlap_hours: 0 }, { key, lastByteAfterMs });
    const secrets = async () =>
      (await service.database.accounts.findById(customer.account._id).lean())?.webhookSecrets?.map(({ id }) => id);
    const rotateLate = async () => {
      const expiresAt = new Date(Date.now() + 1_500);
      const { secret } = await service.apiKeys.create({
        accountId: customer.account._id,
        mode: 'live',
        name: 'late',
        expiresAt,
      });
      await sleep(expiresAt.getTime() - Date.now() - 150);
      return rotate(secret, 350);
    };
    expect(await rotateLate()).toBe(401);
    expect(await secrets()).toBeUndefined();
    expect(await rotate(customer.liveKey)).toBe(200);
    const known = await secrets();
    expect(await rotateLate()).toBe(401);
    expect(await secrets()).toEqual(known);
  });
});
