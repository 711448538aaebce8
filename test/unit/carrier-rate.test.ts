import { parseConfig } from '../../src/platform/config/config.js';

const TWILIO = {
  ALLOW_INSECURE_DEVELOPMENT: 'true',
  CARRIER: 'twilio',
  TWILIO_ACCOUNT_SID: `AC${'0'.repeat(32)}`,
  TWILIO_AUTH_TOKEN: 't',
  CARRIER_FROM_NUMBER: '+12025550199',
  ALLOW_DEMO_ENGINE_ON_LIVE_CALLS: 'true',
};

const rates = (env: Record<string, string>) => {
  const { live, test } = parseConfig(env).carriers;
  return [live.callsPerSecond, test.callsPerSecond];
};

describe('the rate of calls that a carrier account takes', () => {
  it.each([
    ['is not limited on the simulated carrier', {}, [undefined, undefined]],
    ['is one per second on Twilio, and stays unlimited for test keys', TWILIO, [1, undefined]],
    ['is what the settings say', { ...TWILIO, CARRIER_CALLS_PER_SECOND: '30' }, [30, undefined]],
    ['may be lifted', { ...TWILIO, CARRIER_CALLS_PER_SECOND: 'unlimited' }, [undefined, undefined]],
    ['is set for each mode', { CARRIER_CALLS_PER_SECOND: '0.5', SIMULATOR_TEST_CALLS_PER_SECOND: '2' }, [0.5, 2]],
  ])('%s', (_name, env, expected) => {
    expect(rates(env)).toEqual(expected);
  });

  it.each(['0', '-1', 'fast', '1000', 'NaN'])('cannot be %s', (rate) => {
    expect(() => rates({ CARRIER_CALLS_PER_SECOND: rate })).toThrow(/CARRIER_CALLS_PER_SECOND/);
  });
});
