import { parseConfig } from '../../src/platform/config/config.js';
import { ledgerAccountId } from '../../src/kernel/ids.js';
import { createLedger } from '../../src/billing/ledger/ledger.js';
import { newCallId } from '../support/store/test-database.js';
import { PRODUCTION } from '../support/production.js';
import { expectError, startService, type Customer, type Service } from '../support/http/harness.js';
import { REAL_CARRIER } from './support/real-carrier.js';

describe('production', () => {
  it('does not start without a list of allowed countries', () => {
    expect(() => parseConfig({ ...PRODUCTION, ALLOWED_COUNTRY_PREFIXES: '' })).toThrow(
      /ALLOWED_COUNTRY_PREFIXES must .* in production/,
    );
    const callsOf = (list: string) => parseConfig({ ...PRODUCTION, ALLOWED_COUNTRY_PREFIXES: list }).calls;
    expect(callsOf('+1, +44,353').allowedCountryPrefixes).toEqual(['+1', '+44', '353']);
    expect(callsOf('all').allowedCountryPrefixes).toEqual([]);
  });

  it.each(['+', '0044', '+0', '++1', '+1 202', '+1;+44', 'US', '+1,all', 'ALL', '+1234567890123456'])(
    'does not start with the malformed list %s, and neither does development',
    (list) => {
      for (const env of [PRODUCTION, {}]) {
        expect(() => parseConfig({ ...env, ALLOWED_COUNTRY_PREFIXES: list })).toThrow(/ALLOWED_COUNTRY_PREFIXES: must/);
      }
    },
  );
});

describe('live calls of the simulated carrier in production', () => {
  it('have the limits of money and calls if their engine costs money, because no account pays for all of it', () => {
    const { calls } = parseConfig({ ...PRODUCTION, OPENAI_API_KEY: 'sk-test' });
    expect(calls.liveLimits).toEqual({ dailySpendCapMicros: 50_000_000, liveCallsPerDay: 2_000 });
  });
});

describe('the default spending limit of live calls', () => {
  let real: Service;
  let simulated: Service;
  beforeAll(async () => {
    real = await startService({ env: REAL_CARRIER });
    simulated = await startService();
  }, 120_000);
  afterAll(async () => {
    await real.close();
    await simulated.close();
  });

  const order = { to_phone_number: '+12025550123', instruction: 'Hello.' };

  /** Bills this amount to the account today, as the cost of calls. */
  async function spend({ database }: Service, { account }: Customer, micros: number, mode: 'live' | 'test' = 'live') {
    const ledger = createLedger(database);
    const ledgerAccount = ledgerAccountId(account._id, mode);
    for (let left = micros; left > 0; left -= 36_000_000) {
      const seconds = Math.min(left, 36_000_000) / 2_500;
      const callId = newCallId();
      await ledger.hold({
        ledgerAccountId: ledgerAccount,
        callId,
        window: 0,
        maxDurationSeconds: seconds,
        microsPerSecond: 2_500,
        windows: [seconds],
      });
      await ledger.settle({ ledgerAccountId: ledgerAccount, callId, billedSeconds: seconds });
    }
  }

  it('stops an account that has spent 50 USD on a real carrier, until an operator raises the limit', async () => {
    const customer = await real.customer(100_000_000);
    await spend(real, customer, 50_000_000);
    expectError(await real.place(customer.liveKey, order), 403, 'SPEND_LIMIT_EXCEEDED');
    const { json } = await real.request('/account', { key: customer.liveKey });
    expect(json).toMatchObject({ daily_spend_cap: 50 });
    await real.accounts.setLimits(customer.account._id, { dailySpendCapMicros: 'none' });
    await expectPlaced(real, customer.liveKey);
    await real.accounts.setLimits(customer.account._id, { dailySpendCapMicros: null });
    expectError(await real.place(customer.liveKey, order), 403, 'SPEND_LIMIT_EXCEEDED');
    await real.accounts.setLimits(customer.account._id, { dailySpendCapMicros: 80_000_000 });
    await expectPlaced(real, customer.liveKey);
  });

  it('does not apply to test calls and to the simulated carrier', async () => {
    const customer = await real.customer(1);
    await spend(real, customer, 50_000_000, 'test');
    await expectPlaced(real, customer.testKey);
    const other = await simulated.customer(100_000_000);
    await spend(simulated, other, 50_000_000);
    await expectPlaced(simulated, other.liveKey);
  });

  async function expectPlaced(service: Service, key: string): Promise<void> {
    const response = await service.place(key, order);
    expect([response.status, response.json['error_code']]).toEqual([200, undefined]);
  }

  it('is set by the environment', () => {
    expect(parseConfig(REAL_CARRIER).calls.liveLimits).toEqual({
      dailySpendCapMicros: 50_000_000,
      unansweredAttemptsPerHour: 5,
      liveCallsPerDay: 2_000,
    });
    const env = {
      ...REAL_CARRIER,
      DAILY_SPEND_CAP_USD: '12.5',
      UNANSWERED_ATTEMPTS_PER_HOUR: 'none',
      LIVE_CALLS_PER_DAY: 'none',
    };
    expect(parseConfig(env).calls.liveLimits).toEqual({ dailySpendCapMicros: 12_500_000 });
    expect(parseConfig({}).calls.liveLimits).toBeUndefined();
    expect(parseConfig({ OPENAI_API_KEY: 'sk-test' }).calls.liveLimits).toBeUndefined();
    expect(parseConfig(PRODUCTION).calls.liveLimits).toBeUndefined();
    for (const wrong of [
      { DAILY_SPEND_CAP_USD: '-1' },
      { UNANSWERED_ATTEMPTS_PER_HOUR: '2.5' },
      { LIVE_CALLS_PER_DAY: '10001' },
    ]) {
      expect(() => parseConfig(wrong)).toThrow(new RegExp(String(Object.keys(wrong)[0])));
    }
  });
});
