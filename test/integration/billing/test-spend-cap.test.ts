import { createDialGate } from '../../../src/telephony/destinations/dial-gate.js';
import { expectError, startService, type Service, type ServiceResponse } from '../../support/http/harness.js';

let service: Service;

/** One minute costs 0.15 USD. */
const CAP = '0.16';

beforeAll(async () => {
  service = await startService({ env: { OPENAI_API_KEY: 'k', TEST_DAILY_SPEND_CAP_USD: CAP } });
});
afterAll(() => service.close());

function place(key: string): Promise<ServiceResponse> {
  return service.place(key, { to_phone_number: '+12025550100', instruction: 'Hello.' });
}

describe('the daily limit of test calls with an engine that costs money', () => {
  it('is shown, and applies to test mode only', async () => {
    const { testKey, liveKey } = await service.customer();
    expect((await service.request('/account', { key: testKey })).json['daily_spend_cap']).toBe(0.16);
    expect((await service.request('/account', { key: liveKey })).json).not.toHaveProperty('daily_spend_cap');
    expect((await place(testKey)).status).toBe(200);
  });

  it('rejects a test call that could exceed it', async () => {
    const { account, testKey, liveKey } = await service.customer();
    await service.accounts.setLimits(account._id, { dailySpendCapMicros: 140_000 });
    expectError(await place(testKey), 403, 'SPEND_LIMIT_EXCEEDED', /next day, or ask the operator for a higher limit/);
    await service.accounts.setLimits(account._id, { dailySpendCapMicros: 'none' });
    expect((await place(testKey)).status).toBe(200);
    expect((await place(liveKey)).status).toBe(200);
  });

  it('counts the cost of the engines once per stream', async () => {
    const { account, testKey, liveKey } = await service.customer();
    const { config, database } = service;
    const gate = createDialGate({ config, database, requests: { find: async () => null } });
    const cost = {
      accountId: account._id,
      mode: 'test' as const,
      callId: 'call_00000000000000000000000001',
      stream: 1,
    };
    for (let count = 0; count < 3; count += 1) await gate.addEngineCost({ ...cost, micros: 100_000 });
    expect((await place(testKey)).status).toBe(200);
    await gate.addEngineCost({ ...cost, micros: 160_000, countedMicros: 100_000 });
    expectError(await place(testKey), 403, 'SPEND_LIMIT_EXCEEDED', /engines of the test calls.*operator/);
    expect((await place(liveKey)).status).toBe(200);
  });
});

describe('an agent', () => {
  it('is checked against the engine of the mode in which it was created', async () => {
    const { liveKey, testKey } = await service.customer();
    const create = (key: string) => {
      const body = JSON.stringify({ name: 'A', instruction: 'B', speech_speed: 1.2, language: 'de-DE' });
      return service.request('/agents', { method: 'POST', key, headers: { 'Content-Type': 'application/json' }, body });
    };
    expectError(await create(liveKey), 400, 'MISSING_PARAMS', /de-DE on the engine offline-demo.*speech_speed/);
    const created = await create(testKey);
    expect(created.status).toBe(200);
    const voices = async (key: string) => (await service.request('/voices', { key })).json['default_engine'];
    expect([await voices(liveKey), await voices(testKey)]).toEqual(['offline-demo', 'openai-realtime']);
  });
});
