import { createCallGate } from '../../src/calls/wiring.js';
import { createLedger } from '../../src/billing/ledger/ledger.js';
import { createAccounts } from '../../src/identity/accounts/accounts.js';
import { ledgerAccountId } from '../../src/kernel/ids.js';
import { parseConfig } from '../../src/platform/config/config.js';
import { driverCollection } from '../../src/platform/mongo/driver-collection.js';
import { createPeriodCounts, type PeriodCountDocument } from '../../src/platform/mongo/period-counts.js';
import { openMediaFixture, type MediaFixture } from '../integration/voice/support/media-fixture';
import { createScriptedEngine, type ScriptedCall } from '../integration/voice/support/scripted-engine';
import { eventually, expectError, startService, type Customer, type Service } from '../support/http/harness.js';
import { newCallId } from '../support/store/test-database.js';
import { REAL_CARRIER } from './support/real-carrier.js';

const USD = 1_000_000;
const TOO_DEAR = /have cost far more than the account was billed\. .* ask the operator/;

describe('engines that cost more than the calls of their account are billed', () => {
  let service: Service;
  let customer: Customer;
  beforeAll(async () => {
    service = await startService({ env: REAL_CARRIER });
  }, 120_000);
  afterAll(() => service.close());
  beforeEach(async () => {
    customer = await service.customer();
  });

  function addCost(micros: number, stream = 0, callId = newCallId()): Promise<void> {
    const cost = { accountId: customer.account._id, mode: 'live' as const, callId, stream, micros };
    return createCallGate(service).addEngineCost(cost);
  }

  function admit() {
    const call = { account: customer.account, mode: 'live' as const, callId: newCallId() };
    return createCallGate(service).admit({ ...call, leg: 'call', to: '+12025550140' });
  }

  const place = (key: string) =>
    eventually(async () => {
      const order = { to_phone_number: '+12025550140', instruction: 'Say hello.' };
      const answer = await service.place(key, order, { 'Idempotency-Key': `call ${newCallId()}` });
      return answer.status !== 503 && answer;
    });

  it('end further live calls of the day at 8 USD, placed and received, of this account only', async () => {
    await addCost(8 * USD - 1);
    expect((await place(customer.liveKey)).status).toBe(200);
    await addCost(USD);
    const before = await service.countCallRequests();
    const rejection = await place(customer.liveKey);
    expectError(rejection, 429, 'RATE_LIMIT_EXCEEDED', TOO_DEAR);
    expect(Number(rejection.headers.get('Retry-After'))).toBeGreaterThan(0);
    expect(await service.countCallRequests()).toBe(before);
    const received = { account: customer.account, mode: 'live' as const, callId: newCallId() };
    expect(await createCallGate(service).admitReceived(received)).toMatchObject({ code: 'RATE_LIMIT_EXCEEDED' });
    expect((await place(customer.testKey)).status).toBe(200);
    expect((await place((await service.customer()).liveKey)).status).toBe(200);
  }, 120_000);

  it('may cost as much more as the account has spent in the day', async () => {
    await addCost(8 * USD);
    expect(await admit()).toMatchObject({ code: 'RATE_LIMIT_EXCEEDED' });
    const id = ledgerAccountId(customer.account._id, 'live');
    const call = { ledgerAccountId: id, callId: newCallId() };
    const ledger = createLedger(service.database);
    await ledger.hold({ ...call, window: 0, microsPerSecond: 2_500, maxDurationSeconds: 400, windows: [400] });
    expect(await admit()).toBeUndefined();
    await addCost(USD / 4);
    expect(await admit()).toMatchObject({ code: 'RATE_LIMIT_EXCEEDED' });
    await ledger.settle({ ...call, billedSeconds: 400 });
    expect(await admit()).toBeUndefined();
    await addCost((3 * USD) / 4);
    expect(await admit()).toMatchObject({ code: 'RATE_LIMIT_EXCEEDED' });
  });

  it('count once per stream of a call', async () => {
    const callId = newCallId();
    for (let repeat = 0; repeat < 3; repeat += 1) await addCost(4 * USD - 1, 0, callId);
    expect(await admit()).toBeUndefined();
    await addCost(4 * USD + 1, 1, callId);
    expect(await admit()).toMatchObject({ code: 'RATE_LIMIT_EXCEEDED' });
  });

  it('are not limited for an account without a daily limit of calls', async () => {
    await service.accounts.setLimits(customer.account._id, { liveCallsPerDay: 'none' });
    customer = { ...customer, account: (await service.accounts.find(customer.account._id)) as Customer['account'] };
    await addCost(100 * USD);
    expect(await admit()).toBeUndefined();
  });
});

describe('the cost of a stream that continues', () => {
  const engine = createScriptedEngine();
  let media: MediaFixture;
  beforeAll(async () => {
    media = await openMediaFixture({ engine: engine.factory, env: REAL_CARRIER, timings: { costsEveryMs: 100 } });
  }, 60_000);
  afterAll(() => media.close());

  const config = parseConfig({ NODE_ENV: 'test', ...REAL_CARRIER });
  const countOf = async (accountId: string) =>
    (await media.database.destinationCounts.findById(`${accountId}~live~engines~day`).lean())?.count ?? 0;

  async function openStream() {
    const account = await createAccounts(media.database).create({ name: 'Acme' });
    const { callId, ...placed } = await media.placeCall({ accountId: account._id });
    const line = await media.openLine({ callId, ...placed });
    await eventually(async () => engine.calls.has(callId));
    return { account, line, scripted: engine.calls.get(callId) as ScriptedCall };
  }

  it('is counted while it grows, so that little is lost if the process is killed, and once in all', async () => {
    const { account, line, scripted } = await openStream();
    const gate = createCallGate({ config, database: media.database });
    const admit = () => gate.admitReceived({ account, mode: 'live', callId: newCallId() });
    scripted.usage = { units: {}, costMicros: 3 * USD };
    await eventually(async () => (await countOf(account._id)) === 3 * USD);
    expect(await admit()).toBeUndefined();
    scripted.usage = { units: {}, costMicros: 8 * USD };
    await eventually(async () => (await admit()) !== undefined);
    expect(await admit()).toMatchObject({ code: 'RATE_LIMIT_EXCEEDED' });
    scripted.result = { usage: { units: {}, costMicros: 9 * USD } };
    scripted.sink.end('agent_hangup');
    await line.closed;
    await eventually(async () => (await countOf(account._id)) === 9 * USD);
  }, 60_000);

  it('is counted when another stream has taken over the call', async () => {
    const { account, line, scripted } = await openStream();
    scripted.result = { usage: { units: {}, costMicros: 2 * USD } };
    const { callId } = scripted.call;
    await media.database.conversationResults.updateOne({ _id: callId }, { $set: { streamSid: 'another' } });
    scripted.sink.storeAnsweredBy('human');
    await line.closed;
    await eventually(async () => (await countOf(account._id)) > 0);
    expect(await countOf(account._id)).toBe(2 * USD);
  }, 60_000);

  it('counts in the day in which it arises, even if reports arrive repeatedly or late', async () => {
    let now = new Date('2026-11-22T23:59:00Z');
    const { destinationCounts } = media.database;
    const documents = driverCollection<PeriodCountDocument>(media.database, destinationCounts);
    const counts = createPeriodCounts(documents, () => now);
    const _id = 'midnight~live~engines~day';
    const report = (member: string, total: number, counted: number) =>
      counts.raise({ _id, period: 'day', member, total, counted });
    const count = async () => (await destinationCounts.findById(_id).lean())?.count;
    for (const [total, counted] of [
      [5, 0],
      [5, 0],
      [7, 5],
      [5, 0],
      [9, 5],
    ] as const)
      await report('a', total, counted);
    await report('b', 4, 0);
    expect(await count()).toBe(13);
    now = new Date('2026-11-23T00:01:00Z');
    await report('a', 12, 9);
    await report('b', 5, 4);
    expect(await count()).toBe(4);
    await Promise.all([1, 2, 3, 4, 5].map((n) => report(`c${n}`, n, 0)));
    expect(await count()).toBe(19);
  });
});

describe('the end of a stream', () => {
  const engine = createScriptedEngine();
  let media: MediaFixture;
  beforeAll(async () => {
    media = await openMediaFixture({ engine: engine.factory, env: REAL_CARRIER });
  }, 60_000);
  afterAll(() => media.close());

  it.each([
    ['known', { units: { voice_characters: 9 }, costMicros: 8_000_000 }],
    ['estimated', { units: { voice_characters: 100_000, chat_input_tokens: 5_000_000, other: 7 }, costMicros: null }],
  ])(
    'counts the cost of its engine, %s, against its account',
    async (_how, usage) => {
      const account = await createAccounts(media.database).create({ name: 'Acme' });
      const { callId, ...placed } = await media.placeCall({ accountId: account._id });
      const line = await media.openLine({ callId, ...placed });
      await eventually(async () => engine.calls.has(callId));
      const scripted = engine.calls.get(callId) as ScriptedCall;
      scripted.result = { usage };
      scripted.sink.end('agent_hangup');
      await line.closed;
      const config = parseConfig({ NODE_ENV: 'test', ...REAL_CARRIER });
      const gate = createCallGate({ config, database: media.database });
      const admit = () => gate.admitReceived({ account, mode: 'live', callId: newCallId() });
      await eventually(async () => (await admit()) !== undefined);
      expect(await admit()).toMatchObject({ code: 'RATE_LIMIT_EXCEEDED' });
    },
    60_000,
  );
});
