import { randomBytes } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { createLedger } from '../../src/billing/ledger/ledger.js';
import { createCallQueries } from '../../src/calls/call-queries.js';
import { createDownloadBudgets } from '../../src/calls/views/download-budget.js';
import { createReadRecording } from '../../src/calls/views/recording.js';
import { encodeCrockford, ledgerAccountId, type Mode } from '../../src/kernel/ids.js';
import type { Config } from '../../src/platform/config/config.js';
import { createRecordings } from '../../src/voice/recordings/recordings.js';
import { eventually, startService, type Customer, type Service } from '../support/http/harness.js';
import { managementOf } from '../support/http/management-support.js';

const MEGABYTE = 1_000_000;
const WAV_BYTES_PER_MS = 32;

let service: Service;
beforeAll(async () => {
  service = await startService({
    worker: false,
    adapt: (config) => ({ ...config, recordings: { ...config.recordings, downloadBytesPerDay: 100 * MEGABYTE } }),
  });
}, 60_000);
afterAll(() => service.close());

/** Stores a recording of a new call. Nearly all of it is silence, for which no data is stored. */
async function recordingOf(customer: Customer, mode: Mode, megabytes: number): Promise<string> {
  const callId = await managementOf(service).endedCall(customer, { mode, hasRecording: true });
  const key = { callId, stream: 0, offsetMs: Math.floor((megabytes * MEGABYTE) / WAV_BYTES_PER_MS) };
  const writer = createRecordings(service.database).open(key, Promise.resolve(true));
  writer.write(Buffer.alloc(3_200));
  await writer.close();
  return `${service.baseUrl}/calls/${callId}/recording`;
}

async function download(url: string, key: string): Promise<{ status: number; bytes: number; retryAfter: number }> {
  const response = await fetch(url, { headers: { Authorization: `Bearer ${key}` } });
  let bytes = 0;
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) bytes += chunk.length;
  return { status: response.status, bytes, retryAfter: Number(response.headers.get('Retry-After')) };
}

/** Begins to read a recording and disconnects, as a browser does that shows the length of a recording. */
async function peek(url: string, key: string): Promise<number | undefined> {
  const client = get(url, { agent: false, headers: { Authorization: `Bearer ${key}` } });
  client.on('error', () => undefined);
  const [response] = (await once(client, 'response')) as [IncomingMessage];
  client.destroy();
  return response.statusCode;
}

describe('the bytes of recordings that an account downloads in a day', () => {
  it('are limited per account and mode, with a 429 that says when the day ends', async () => {
    const [customer, other] = [await service.customer(0), await service.customer(0)];
    const url = await recordingOf(customer, 'test', 25);
    const statuses: number[] = [];
    for (let n = 0; n < 7; n += 1) {
      const { status, bytes, retryAfter } = await download(url, customer.testKey);
      statuses.push(status);
      if (status === 200) expect(bytes).toBeGreaterThan(24 * MEGABYTE);
      else {
        expect(status).toBe(429);
        expect(retryAfter).toBeGreaterThan(0);
        expect(retryAfter).toBeLessThanOrEqual(86_400);
      }
    }
    // The last step may exceed the limit: two of 64 MB are counted, which have room for 5 downloads.
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429, 429]);
    expect((await download(await recordingOf(customer, 'live', 1), customer.liveKey)).status).toBe(200);
    expect((await download(await recordingOf(other, 'test', 1), other.testKey)).status).toBe(200);
  }, 120_000);

  it('do not include bytes that a client did not read before it disconnected', async () => {
    const customer = await service.customer(0);
    const url = await recordingOf(customer, 'test', 90);
    for (let n = 0; n < 6; n += 1) {
      expect(await peek(url, customer.testKey)).toBe(200);
      await eventually(async () => (await service.request('/health/live')).status === 200);
    }
  }, 120_000);
});

describe('a download that is given up before its bytes are counted', () => {
  it('returns them when they are counted later', async () => {
    const customer = await service.customer();
    const { database } = service;
    const ledger = createLedger(database);
    const callId = (await recordingOf(customer, 'live', 60)).split('/').at(-2);
    let counts = 0;
    let goOn = () => {};
    const slow = new Promise<void>((resolve) => (goOn = resolve));
    const read = createReadRecording({
      config: { recordings: { downloadBytesPerDay: 10 * MEGABYTE } } as Config,
      queries: createCallQueries(database),
      recordings: createRecordings(database),
      database,
      // The balance, which decides on more bytes, is read slowly.
      ledger: {
        async balance() {
          counts += 1;
          await slow;
          return { ...(await ledger.balance(ledgerAccountId(customer.account._id, 'live'))), billedMicros: 4_000_000 };
        },
      },
    });
    const download = async () => {
      const res = Object.assign(new EventEmitter(), { socket: { bytesWritten: 0 } });
      const ctx = { res, headers: {}, state: { arrivedAt: Date.now() - 900, minDeadlineMs: 0 } };
      const principal = { account: customer.account, mode: 'live' };
      return read({ ctx, principal, params: { call_id: callId } } as never);
    };
    await download();
    await expect(download()).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
    goOn();
    // The second download counted 64 MB when it was late, and used none of them.
    await eventually(async () => {
      const counted = await database.destinationCounts.findById(`${customer.account._id}~live~downloads~day`);
      return counted?.count === 128 * MEGABYTE;
    });
    await download();
    expect(counts).toBe(1);
  }, 30_000);
});

describe('the budget', () => {
  const now = () => new Date('2026-11-23T22:00:00Z');
  const budgetsOf = (bytesPerDay: number | undefined, clock = now) =>
    createDownloadBudgets({
      database: service.database,
      ledger: createLedger(service.database),
      bytesPerDay,
      now: clock,
    });

  async function megabytesGranted(
    budgets: ReturnType<typeof budgetsOf>,
    accountId: string,
    mode: Mode,
  ): Promise<number> {
    for (let granted = 0; ; granted += 10) {
      if (granted > 2_000) return Infinity;
      try {
        await budgets.take({ accountId, mode, bytes: 10 * MEGABYTE });
      } catch (error) {
        expect(error).toMatchObject({ code: 'RATE_LIMIT_EXCEEDED', retryAfterSeconds: 7_200 });
        return granted;
      }
    }
  }

  it('is shared by all processes and starts again the next day', async () => {
    const [first, second] = [budgetsOf(200 * MEGABYTE), budgetsOf(200 * MEGABYTE)];
    expect(await megabytesGranted(first, 'acct_shared', 'test')).toBe(250);
    expect(await megabytesGranted(second, 'acct_shared', 'test')).toBe(0);
    const tomorrow = budgetsOf(200 * MEGABYTE, () => new Date('2026-11-24T00:00:01Z'));
    await tomorrow.take({ accountId: 'acct_shared', mode: 'test', bytes: MEGABYTE });
  });

  it('grows with the billed amount of a live account, but not with the test balance', async () => {
    const ledger = createLedger(service.database);
    for (const mode of ['live', 'test'] as const) {
      const id = ledgerAccountId('acct_billed', mode);
      const call = { ledgerAccountId: id, callId: `call_${encodeCrockford(randomBytes(16))}` };
      await ledger.open(id);
      await ledger.topUp({ ledgerAccountId: id, paymentId: `paid_${mode}`, amountMicros: 5_000_000 });
      await ledger.hold({ ...call, window: 0, maxDurationSeconds: 60, microsPerSecond: 50_000 });
      await ledger.settle({ ...call, billedSeconds: 60 });
      expect(await ledger.balance(id)).toMatchObject({ billedMicros: 3_000_000 });
    }
    const budgets = budgetsOf(100 * MEGABYTE);
    // 3 USD were billed, which gives 750 MB more.
    const granted = await megabytesGranted(budgets, 'acct_billed', 'live');
    expect(granted).toBeGreaterThanOrEqual(850);
    expect(granted).toBeLessThan(1_000);
    expect(await megabytesGranted(budgets, 'acct_billed', 'test')).toBe(120);
  });

  it('is counted in the database in steps of at least 64 MB', async () => {
    const budgets = budgetsOf(1_000 * MEGABYTE);
    const take = () => budgets.take({ accountId: 'acct_many', mode: 'test', bytes: 2 * MEGABYTE });
    for (let n = 0; n < 32; n += 1) await take();
    const counted = async () =>
      (await service.database.destinationCounts.findById('acct_many~test~downloads~day'))?.count;
    expect(await counted()).toBe(64 * MEGABYTE);
    await take();
    expect(await counted()).toBe(128 * MEGABYTE);
  });

  it('has no limit with RECORDING_DOWNLOAD_GB_PER_DAY=none', async () => {
    expect(await megabytesGranted(budgetsOf(undefined), 'acct_free', 'test')).toBe(Infinity);
  });
});
