import { createTwilioCarrier } from '../../../../src/telephony/twilio/adapter.js';

/** Creates the adapter that sends its requests to a server which takes the carrier's place. @param url any of its URLs */
export function createTestAdapter(url: string) {
  return createTwilioCarrier({
    account: {
      name: 'default',
      kind: 'simulator',
      isSimulated: true,
      carrierAccountId: `AC${'0'.repeat(32)}`,
      authToken: '1'.repeat(32),
      baseUrl: new URL(url).origin,
      fromNumber: '+12025550199',
    },
    publicBaseUrl: 'https://calls.test',
    streamUrl: 'wss://stream.test/audio',
  });
}
