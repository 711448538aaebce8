/** The credentials of the simulated carrier's live account. */
export const CARRIER_SID = 'AC00000000000000000000000000000001';
export const CARRIER_TOKEN = '11111111111111111111111111111111';

/** Settings that make the service treat a process on loopback as a real carrier. The process need not exist. */
export const REAL_CARRIER = {
  ALLOW_INSECURE_DEVELOPMENT: 'true',
  CARRIER: 'twilio',
  CARRIER_BASE_URL: 'http://127.0.0.1:9',
  CARRIER_FROM_NUMBER: '+12025550199',
  CARRIER_CALLS_PER_SECOND: 'unlimited',
  TWILIO_ACCOUNT_SID: CARRIER_SID,
  TWILIO_AUTH_TOKEN: CARRIER_TOKEN,
  ALLOW_DEMO_ENGINE_ON_LIVE_CALLS: 'true',
};
