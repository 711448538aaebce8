import { setTimeout as sleep } from 'node:timers/promises';
import { ulid } from 'ulid';
import type { Database } from '../../../src/database.js';
import { createLeases, type Leases } from '../../../src/billing/leases.js';
import { newCallId, openTestDatabase } from '../../support/store/test-database.js';

describe('concurrency slots', () => {
  let database: Database;
  let leases: Leases;
  let accountId: string;
  beforeAll(async () => {
    database = await openTestDatabase('leases');
    leases = createLeases(database);
  });
  afterAll(() => database.close());
  beforeEach(() => {
    accountId = `acct_${ulid()}`;
  });

  const acquire = (callId: string, limit = 10, on = leases) => on.acquire({ accountId, mode: 'live', callId, limit });
  const release = (callId: string, on = leases) => on.release({ accountId, mode: 'live', callId });
  const stored = () => database.leases.findOne({ _id: `${accountId}~live` }).lean();

  it('are granted up to exactly the limit to concurrent requests', async () => {
    const answers = await Promise.all(Array.from({ length: 50 }, () => acquire(newCallId())));
    expect(answers.filter(({ granted }) => granted)).toHaveLength(10);
    expect(answers.find(({ granted }) => !granted)).toEqual({ granted: false, limit: 10, current: 10 });
  });

  it('count a call once, however often it acquires a slot', async () => {
    const callId = newCallId();
    const answers = await Promise.all(Array.from({ length: 10 }, () => acquire(callId, 1)));
    expect(answers).toEqual(Array(10).fill({ granted: true }));
    expect(await acquire(newCallId(), 1)).toEqual({ granted: false, limit: 1, current: 1 });
  });

  it('are released once, however often a call releases its slot', async () => {
    const [first, second] = [newCallId(), newCallId()];
    await acquire(first);
    await acquire(second);
    await Promise.all(Array.from({ length: 10 }, () => release(first)));
    expect((await stored())?.count).toBe(1);
    expect(await acquire(newCallId(), 2)).toEqual({ granted: true });
    expect(await acquire(newCallId(), 2)).toEqual({ granted: false, limit: 2, current: 2 });
  });

  it('are not granted to a call after its release, even if it had no slot before', async () => {
    const [held, never] = [newCallId(), newCallId()];
    await acquire(held);
    await release(held);
    await release(never);
    expect(await acquire(held)).toMatchObject({ granted: false });
    expect(await acquire(never)).toMatchObject({ granted: false });
    expect((await stored())?.count).toBe(0);
  });

  it('are counted exactly when calls acquire and release concurrently', async () => {
    const calls = Array.from({ length: 30 }, newCallId);
    await Promise.all(calls.flatMap((callId) => [acquire(callId, 100), release(callId), release(callId)]));
    expect((await stored())?.count).toBe(0);
  });

  it('are separate for modes and accounts, and a limit of 0 grants none', async () => {
    const callId = newCallId();
    expect(await acquire(callId, 1)).toEqual({ granted: true });
    expect(await leases.acquire({ accountId, mode: 'test', callId: newCallId(), limit: 1 })).toEqual({ granted: true });
    expect(await leases.acquire({ accountId: `acct_${ulid()}`, mode: 'live', callId: newCallId(), limit: 0 })).toEqual({
      granted: false,
      limit: 0,
      current: 0,
    });
  });

  it('lose old tombstones and keep active leases when pruned', async () => {
    const short = createLeases(database, { tombstoneMs: 0, pruneEveryMs: 0 });
    const [live, gone] = [newCallId(), newCallId()];
    await acquire(live, 10, short);
    await acquire(gone, 10, short);
    await release(gone, short);
    await sleep(5);
    await release(newCallId(), short);
    const document = await stored();
    expect(Object.keys(document?.leases ?? {})).toContain(live);
    expect(Object.keys(document?.leases ?? {})).not.toContain(gone);
    expect(document?.count).toBe(1);
  });

  it('are recounted by adding the difference, so that calls that start or end meanwhile count once', async () => {
    const before = Array.from({ length: 10 }, newCallId);
    for (const callId of before) await acquire(callId, 100);
    await database.leases.updateOne({ _id: `${accountId}~live` }, { $inc: { count: -4 } });
    const accountMode = { accountId, mode: 'live' } as const;
    expect(await leases.slotsOf(accountMode)).toMatchObject({ count: 6 });
    const after = Array.from({ length: 10 }, newCallId);
    const [added] = await Promise.all([
      Promise.all([leases.recount(accountMode), leases.recount(accountMode), leases.recount(accountMode)]),
      ...after.map((callId) => acquire(callId, 100)),
      ...before.slice(0, 5).map((callId) => release(callId)),
    ]);
    expect(added.toSorted((a, b) => a - b)).toEqual([0, 0, 4]);
    const places = await leases.slotsOf(accountMode);
    expect(places).toMatchObject({ count: 15 });
    expect(places?.taken).toHaveLength(15);
    expect(await leases.recount({ accountId: 'acct_none', mode: 'live' })).toBe(0);
  });

  it('reject invalid call ids, because ids become field names', async () => {
    await expect(acquire('$where')).rejects.toThrow(RangeError);
    await expect(release('a.b')).rejects.toThrow(RangeError);
  });
});
