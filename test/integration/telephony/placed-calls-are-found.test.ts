import { startReceiver } from '../webhooks/support/receiver.js';
import { createTwilioCarrier } from '../../../src/telephony/twilio/adapter.js';

const SID = `CA${'1'.repeat(32)}`;

/** Starts a carrier with one call. The call leaves the carrier's queue right after the first list request. */
async function startCarrier() {
  let isQueued = true;
  return startReceiver((response, { path }) => {
    const { searchParams } = new URL(path, 'http://carrier.test');
    const isListed = searchParams.get('Status') === 'queued' ? isQueued : !isQueued;
    isQueued = false;
    const calls = isListed ? [{ sid: SID, status: 'in-progress', date_created: new Date().toUTCString() }] : [];
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ calls, page_size: 100 }));
  });
}

describe('a call that may have been placed', () => {
  it('is found even if it leaves the queue while the lists are read', async () => {
    const rest = await startCarrier();
    try {
      const carrier = createTwilioCarrier({
        account: {
          kind: 'simulator',
          carrierAccountId: `AC${'0'.repeat(32)}`,
          authToken: '1'.repeat(32),
          baseUrl: new URL(rest.url).origin,
          fromNumber: '+12025550199',
        },
        publicBaseUrl: 'https://calls.test',
        streamUrl: 'wss://stream.test/audio',
      });
      const since = Date.now() - 1_000;
      const found = await carrier.findPlaced({ to: '+12025550100', from: '+12025550199', since });
      expect(found.map(({ carrierSid }) => carrierSid)).toEqual([SID]);
    } finally {
      await rest.close();
    }
  });
});
