import { createServer, type AddressInfo, type Socket } from 'node:net';
import type { RetentionDays } from '../../../src/platform/config/retention-settings.js';
import { createLogger } from '../../../src/platform/telemetry/logger.js';
import { createCallProjection } from '../../../src/calls/projection.js';
import { createReconciliationChecks } from '../../../src/calls/reconciliation/checks.js';
import { createRecordRetention } from '../../../src/calls/retention/record-retention.js';
import { createCallResults } from '../../../src/calls/wiring.js';
import { createAuditLog } from '../../../src/identity/access/audit-log.js';
import { createRecordings, type Recordings } from '../../../src/voice/recordings/recordings.js';
import { createWebhookAttempts } from '../../../src/webhooks/attempts.js';
import { createWebhookDeliveries } from '../../../src/webhooks/deliveries.js';
import { createAudioStores } from '../../../src/voice/recordings/stores/stores.js';
import { parseConfig } from '../../../src/platform/config/config.js';
import { variablesOf } from '../../support/object-storage/bucket.js';
import { newCallId, openTestDatabase } from '../../support/store/test-database';

const DAY_MS = 24 * 3_600_000;
const FOREVER: RetentionDays = { calls: 0, transcripts: 0, deliveries: 0, carrierEvents: 0, audit: 0 };

let database: Awaited<ReturnType<typeof openTestDatabase>>;
beforeAll(async () => {
  database = await openTestDatabase('record_retention');
});
afterAll(() => database.close());

function retentionWith(days: Partial<RetentionDays>, recordings: Recordings = createRecordings(database)) {
  return createRecordRetention({
    database,
    recordings,
    projection: createCallProjection(database),
    results: createCallResults(database),
    deliveries: createWebhookDeliveries(database),
    attempts: createWebhookAttempts(database),
    checks: createReconciliationChecks(database),
    retention: { ...FOREVER, ...days },
    logger: createLogger({ role: 'test', level: 'silent' }),
  });
}

describe('the retention of the audit log', () => {
  it('deletes every entry of its age, also one that is written only once, and no younger one', async () => {
    const log = createAuditLog(database);
    const entry = {
      accountId: 'acct_1',
      actorKind: 'member',
      actorId: 'user_1',
      actorName: 'ada@example.com',
    } as const;
    const add = async (action: string) => {
      await log.add({ ...entry, action, requestId: 'r' });
      // As many as needed for ids of every beginning.
      for (let n = 0; n < 100; n++) await log.addOnce({ ...entry, action, target: `key_${n}`, requestId: 'r' });
    };
    await add('old');
    await database.auditEntries.updateMany({}, { $set: { createdAt: new Date(Date.now() - 731 * DAY_MS) } });
    await add('young');
    await retentionWith({ audit: 730 }).sweep();
    const count = (action: string) => database.auditEntries.countDocuments({ action });
    expect([await count('old'), await count('young')]).toEqual([0, 101]);
  });
});

/** A server that accepts connections and never answers, or ends each at once. */
async function startSilentServer(connected: (socket: Socket) => void = () => undefined) {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket.on('error', () => undefined));
    connected(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close(): Promise<void> {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

describe('while the store of recordings is down, a sweep', () => {
  const recordingsAt = (url: string) => {
    const { recordings } = parseConfig({ NODE_ENV: 'test', ...variablesOf('recordings', url) });
    return createRecordings(database, { stores: createAudioStores(database, recordings) });
  };

  /** Stores requests of calls that never began, oldest first. */
  async function oldRequests(count: number): Promise<string[]> {
    await database.callRequests.deleteMany({});
    await database.reconciliationChecks.deleteMany({});
    await database.reconciliationCursors.deleteMany({});
    const ids = Array.from({ length: count }, newCallId);
    const since = Date.now() - 800 * DAY_MS;
    const rows = ids.map((_id, n) => ({
      _id,
      accountId: 'acct_1',
      mode: 'live',
      createdAt: new Date(since + n),
      toPhoneNumber: '',
    }));
    await database.callRequests.collection.insertMany(rows as never);
    return ids;
  }

  const left = async () => (await database.callRequests.find({}).sort({ createdAt: 1 }).lean()).map(({ _id }) => _id);
  const checked = async () =>
    (await database.reconciliationChecks.find({}).sort({ addedAt: 1 }).lean()).map(({ callId }) => callId);

  it('ends soon after its time, and the calls it has reached are deleted later', async () => {
    const ids = await oldRequests(5);
    const server = await startSilentServer();
    const began = performance.now();
    await retentionWith({ calls: 730 }, recordingsAt(server.url)).sweep();
    // The class has 8 s, and a request to the store 10 s.
    expect(performance.now() - began).toBeLessThan(18_500);
    await server.close();
    expect(await left()).toEqual(ids);
    expect(await checked()).toEqual(ids.slice(0, 1));

    const records = retentionWith({ calls: 730 });
    await records.sweep();
    expect(await left()).toEqual(ids.slice(0, 1));
    expect(await records.expireAgain(ids[0] ?? '')).toBe(true);
    expect(await left()).toEqual([]);
  });

  it('stops after two failures, and the next one continues after them', async () => {
    const ids = await oldRequests(5);
    const server = await startSilentServer((socket) => socket.destroy());
    const records = retentionWith({ calls: 730 }, recordingsAt(server.url));
    await records.sweep();
    expect(await checked()).toEqual(ids.slice(0, 2));
    await records.sweep();
    expect(await checked()).toEqual(ids.slice(0, 4));
    await server.close();
  });
});
