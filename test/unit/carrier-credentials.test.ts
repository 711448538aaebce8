import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseConfig } from '../../src/platform/config/config.js';
import { createTwilioCarrier } from '../../src/telephony/twilio/adapter.js';
import { sign } from '../../src/telephony/twilio/signature.js';

const KEY = { TWILIO_API_KEY_SID: `SK${'a'.repeat(32)}`, TWILIO_API_KEY_SECRET: 'the-secret-of-the-key' };
const TOKEN = 'f'.repeat(32);
const TWILIO = {
  ALLOW_INSECURE_DEVELOPMENT: 'true',
  ALLOW_DEMO_ENGINE_ON_LIVE_CALLS: 'true',
  CARRIER: 'twilio',
  CARRIER_FROM_NUMBER: '+12025550199',
  TWILIO_ACCOUNT_SID: `AC${'0'.repeat(32)}`,
  TWILIO_AUTH_TOKEN: TOKEN,
};

/** Dials with the configured live account, and returns the carrier and its request. */
async function dialWith(env: Record<string, string>) {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    response.writeHead(201, { 'content-type': 'application/json' }).end(JSON.stringify({ sid: `CA${'1'.repeat(32)}` }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const CARRIER_BASE_URL = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { carriers, publicBaseUrl, streamUrl } = parseConfig({ ...TWILIO, CARRIER_BASE_URL, ...env });
  try {
    const carrier = createTwilioCarrier({ account: carriers.live, publicBaseUrl, streamUrl });
    const dial = { callId: 'call_1', to: '+12025550100', from: '+12025550199' };
    const dialed = await carrier.dial({ ...dial, ringTimeoutSeconds: 30, timeLimitSeconds: 60 });
    expect(dialed).toMatchObject({ outcome: 'accepted' });
    return { carrier, publicBaseUrl, request: requests[0] };
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

const basicOf = (request: IncomingMessage | undefined) =>
  Buffer.from(request?.headers.authorization?.replace('Basic ', '') ?? '', 'base64').toString();

describe('requests to Twilio', () => {
  it('are authenticated with the auth token of the account', async () => {
    const { request } = await dialWith({});
    expect(basicOf(request)).toBe(`${TWILIO.TWILIO_ACCOUNT_SID}:${TOKEN}`);
  });

  it('are authenticated with the API key, if there is one, and address the account', async () => {
    const { request } = await dialWith(KEY);
    expect(basicOf(request)).toBe(`${KEY.TWILIO_API_KEY_SID}:${KEY.TWILIO_API_KEY_SECRET}`);
    expect(request?.url).toBe(`/2010-04-01/Accounts/${TWILIO.TWILIO_ACCOUNT_SID}/Calls.json`);
  });
});

it('signatures of Twilio are checked with the auth token, even if there is an API key', async () => {
  const { carrier, publicBaseUrl } = await dialWith(KEY);
  const url = `${publicBaseUrl}/carrier/status`;
  const params = { AccountSid: TWILIO.TWILIO_ACCOUNT_SID, CallSid: `CA${'1'.repeat(32)}` };
  const body = Buffer.from(new URLSearchParams(params).toString());
  const isSignedWith = (authToken: string) =>
    carrier.isSigned({ url, body, headers: { 'x-twilio-signature': sign({ authToken, url, params }) } });
  expect(isSignedWith(TOKEN)).toBe(true);
  expect(isSignedWith(KEY.TWILIO_API_KEY_SECRET)).toBe(false);
});

describe('the configuration rejects', () => {
  it.each([
    [
      'a key without its secret',
      { TWILIO_API_KEY_SID: KEY.TWILIO_API_KEY_SID },
      /TWILIO_API_KEY_SID needs TWILIO_API_KEY_SECRET/,
    ],
    ['a secret without its key', { TWILIO_API_KEY_SECRET: 'x' }, /TWILIO_API_KEY_SECRET needs TWILIO_API_KEY_SID/],
    [
      'another identifier in place of the key',
      { ...KEY, TWILIO_API_KEY_SID: TWILIO.TWILIO_ACCOUNT_SID },
      /TWILIO_API_KEY_SID: must be SK[^.]*\.$/,
    ],
    [
      'a key without the auth token',
      { ...KEY, TWILIO_AUTH_TOKEN: '' },
      /needs TWILIO_ACCOUNT_SID and TWILIO_AUTH_TOKEN.*API key.*signs/s,
    ],
  ])('%s', (_, env, message) => {
    expect(() => parseConfig({ ...TWILIO, ...env })).toThrow(message);
  });

  it('half a key on the simulated carrier, too', () => {
    expect(() => parseConfig({ TWILIO_API_KEY_SID: KEY.TWILIO_API_KEY_SID })).toThrow(/TWILIO_API_KEY_SECRET/);
  });
});
