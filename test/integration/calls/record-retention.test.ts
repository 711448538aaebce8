import { createServer, type AddressInfo, type Socket } from 'node:net';
import type { RetentionDays } from '../../../src/platform/config/retention-settings.js';
import { createLogger } from '../../../src/platform/telemetry/logger.js';
import { createCallProjection } from '../../../src/calls/projection.js';
import { createReconciliationChecks } from '../../../src/calls/reconciliation/checks.js';
import { createRetentionBacklog, KEPT_FOREVER } from '../../../src/calls/retention/backlog.js';
import { createRecordRetention } from '../../../src/calls/retention/record-retention.js';
import { createCallResults } from '../../../src/calls/wiring.js';
import { createAuditLog } from '../../../src/identity/access/audit-log.js';
import { newFile } from '../../../src/voice/recordings/model.js';
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

describe('while the store of recordings is down, a sweep', () => {
  const recordingsAt = (url: string) => {
    const { recordings } = parseConfig({ NODE_ENV: 'test', ...variablesOf('recordings', url) });
    return createRecordings(database, { stores: createAudioStores(database, recordings) });
  };

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

describe('a sweep of old calls', () => {
  it('deletes some at once, and leaves no document of a recording', async () => {
    const ids = await oldRequests(40);
    const recordings = createRecordings(database);
    let [running, most] = [0, 0];
    const counted: Recordings = {
      ...recordings,
      async delete(...args) {
        running += 1;
        most = Math.max(most, running);
        await recordings.delete(...args);
        running -= 1;
      },
    };
    const records = retentionWith({ calls: 730 }, counted);
    // On a busy machine, the time of one sweep may be too short for all of them.
    for (let sweeps = 0; sweeps < 5 && (await left()).length > 0; sweeps++) await records.sweep();
    expect(await left()).toEqual([]);
    expect(most).toBe(8);
    expect(await database.recordingFiles.countDocuments({ _id: { $in: ids } })).toBe(0);
  });

  it('is late by the age of the oldest call that it has not come to', async () => {
    await oldRequests(3);
    const backlog = createRetentionBacklog(database, { ...KEPT_FOREVER, calls: 730, transcripts: 900 });
    const before = await backlog.overdue();
    expect(before.calls / DAY_MS).toBeCloseTo(70, 1);
    expect(before).toEqual({ ...KEPT_FOREVER, calls: before.calls });
    await retentionWith({ calls: 730 }).sweep();
    expect(await backlog.overdue()).toEqual(KEPT_FOREVER);
  });

  it('is late by the age of the oldest recording that may be deleted, and of the oldest entry', async () => {
    const { recordingFiles, auditEntries, calls } = database;
    const [kept, due, segmented] = [newCallId(), newCallId(), newCallId()];
    const at = (days: number) => new Date(Date.now() - days * DAY_MS);
    const file = (id: string, days: number) => ({
      ...newFile({ id, chunkSize: 1, offsetMs: 0 }),
      uploadDate: at(days),
      length: 0,
    });
    // The call of the first one is not reconciled.
    await calls.collection.insertOne({
      _id: kept as never,
      accountId: 'acct_1',
      mode: 'live',
      status: 'COMPLETED',
      updatedAt: new Date(),
    });
    const joinAfter = new Date(Date.now() + 60_000);
    await recordingFiles.insertMany([file(kept, 100), file(due, 40), { ...file(segmented, 2), joinAfter }]);
    const member = { actorKind: 'member', actorId: 'user_1', actorName: 'ada@example.com', requestId: 'r' } as const;
    await createAuditLog(database).add({ ...member, accountId: 'acct_1', action: 'old' });
    await auditEntries.updateMany({}, { $set: { createdAt: at(400) } });
    const backlog = createRetentionBacklog(database, {
      ...KEPT_FOREVER,
      recordings: 30,
      testRecordings: 7,
      audit: 399,
    });
    const late = await backlog.overdue();
    expect([late.recordings, late.testRecordings, late.audit].map((ms) => Math.round(ms / DAY_MS))).toEqual([10, 0, 1]);
    expect(Math.round((await backlog.unjoined()) / DAY_MS)).toBe(2);
  });
});
