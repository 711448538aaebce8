import { ulid } from 'ulid';
import type { CountedCap } from '../../../src/kernel/destinations/destinations.js';
import type { Database } from '../../../src/database.js';
import { createDestinationCounts } from '../../../src/telephony/destinations/destination-counts.js';
import { newCallId, openTestDatabase } from '../../support/store/test-database.js';

describe('counts of destinations', () => {
  let database: Database;
  let accountId: string;
  let time: string;
  const now = () => new Date(time);
  beforeAll(async () => {
    database = await openTestDatabase('destination_counts');
  });
  afterAll(() => database.close());
  beforeEach(() => {
    accountId = `acct_${ulid()}`;
    time = '2026-11-21T10:15:00Z';
  });

  const perHour = (limit: number): CountedCap => ({ prefix: '+1900', period: 'hour', limit });
  const perDay = (limit: number): CountedCap => ({ prefix: '+1900', period: 'day', limit });
  const callOf = (caps: CountedCap[], callId = newCallId()) => ({ accountId, mode: 'live' as const, callId, caps });
  const counts = () => createDestinationCounts(database, { now });

  it('accept exactly the limit of concurrent calls', async () => {
    const answers = await Promise.all(Array.from({ length: 40 }, () => counts().count(callOf([perHour(7)]))));
    expect(answers.filter((reached) => reached === undefined)).toHaveLength(7);
    expect(answers.find((reached) => reached !== undefined)).toEqual(perHour(7));
  });

  it('count a call once, however often it is counted', async () => {
    const call = callOf([perHour(2)]);
    for (let i = 0; i < 5; i++) expect(await counts().count(call)).toBeUndefined();
    expect(await counts().count(callOf([perHour(2)]))).toBeUndefined();
    expect(await counts().count(callOf([perHour(2)]))).toEqual(perHour(2));
  });

  it('release a call that was not placed, once', async () => {
    const call = callOf([perHour(1)]);
    await counts().count(call);
    await Promise.all([counts().release(call), counts().release(call)]);
    expect(await counts().count(callOf([perHour(1)]))).toBeUndefined();
    expect(await counts().count(callOf([perHour(1)]))).toEqual(perHour(1));
  });

  it('restart with each hour and day, and count no call in a period that has ended', async () => {
    expect(await counts().count(callOf([perHour(1), perDay(2)]))).toBeUndefined();
    expect(await counts().count(callOf([perHour(1), perDay(2)]))).toEqual(perHour(1));
    time = '2026-11-21T11:00:00Z';
    expect(await counts().count(callOf([perHour(1), perDay(2)]))).toBeUndefined();
    time = '2026-11-21T10:59:59Z';
    expect(await counts().count(callOf([perHour(1)]))).toEqual(perHour(1));
    time = '2026-11-21T12:00:00Z';
    expect(await counts().count(callOf([perHour(1), perDay(2)]))).toEqual(perDay(2));
    time = '2026-11-22T00:00:00Z';
    expect(await counts().count(callOf([perHour(1), perDay(2)]))).toBeUndefined();
  });

  it('change no cap if another cap is reached', async () => {
    expect(await counts().count(callOf([perHour(5), perDay(1)]))).toBeUndefined();
    for (let i = 0; i < 10; i++) expect(await counts().count(callOf([perHour(5), perDay(1)]))).toEqual(perDay(1));
    for (let i = 0; i < 4; i++) expect(await counts().count(callOf([perHour(5)]))).toBeUndefined();
  });

  it('are separate for accounts and modes, and a cap of 0 accepts no call', async () => {
    const call = callOf([perHour(1)]);
    expect(await counts().count(call)).toBeUndefined();
    expect(await counts().count({ ...call, mode: 'test' })).toBeUndefined();
    expect(await counts().count({ ...call, accountId: `acct_${ulid()}` })).toBeUndefined();
    expect(await counts().count(callOf([perDay(0)]))).toEqual(perDay(0));
  });

  it('reject invalid call ids, because ids become field names', async () => {
    await expect(counts().count(callOf([perHour(1)], '$where'))).rejects.toThrow(RangeError);
  });
});
