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

describe('the calls per second of a carrier account', () => {
  it.each([
    ['are not limited on the simulated carrier', {}, [undefined, undefined]],
    ['are one on Twilio, and unlimited for test keys', TWILIO, [1, undefined]],
    ['follow the setting', { ...TWILIO, CARRIER_CALLS_PER_SECOND: '30' }, [30, undefined]],
    ['can be more than a hundred', { ...TWILIO, CARRIER_CALLS_PER_SECOND: '750' }, [750, undefined]],
    ['can be unlimited', { ...TWILIO, CARRIER_CALLS_PER_SECOND: 'unlimited' }, [undefined, undefined]],
    ['are set for each mode', { CARRIER_CALLS_PER_SECOND: '0.5', SIMULATOR_TEST_CALLS_PER_SECOND: '2' }, [0.5, 2]],
  ])('%s', (_name, env, expected) => {
    expect(rates(env)).toEqual(expected);
  });

  it.each(['0', '-1', 'fast', 'Infinity', 'NaN'])('cannot be %s', (rate) => {
    expect(() => rates({ CARRIER_CALLS_PER_SECOND: rate })).toThrow(/CARRIER_CALLS_PER_SECOND/);
  });
});
