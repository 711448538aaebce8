import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { sign } from '../../src/telephony/twilio/signature.js';
import { expectError, startService, type Customer, type Service } from '../support/http/harness.js';

let service: Service;
let customer: Customer;
beforeAll(async () => {
  service = await startService({ worker: false, env: { PAYMENT_WEBHOOK_SECRET: 'whsec_of-these-tests' } });
  customer = await service.customer();
});
afterAll(() => service.close());

const JSON_TYPE = { 'Content-Type': 'application/json' };
const FORM_TYPE = { 'Content-Type': 'application/x-www-form-urlencoded' };
const OWN_PAGE = { ...JSON_TYPE, 'Sec-Fetch-Site': 'same-origin' };
const ENCODED = [
  ['gzip', gzipSync],
  ['x-gzip', gzipSync],
  ['deflate', deflateSync],
  ['br', brotliCompressSync],
] as const;

describe.each(ENCODED)('a body compressed with %s', (encoding, compress) => {
  const encoded = { 'Content-Encoding': encoding };
  const post = (path: string, headers: Record<string, string>, body: string, key?: string) =>
    service.request(path, {
      method: 'POST',
      headers: { ...headers, ...encoded },
      body: compress(Buffer.from(body)),
      ...(key === undefined ? {} : { key }),
    });

  it.each(['/portal/log-in', '/portal/sign-up', '/portal/accept-invitation'])(
    'is rejected without authentication on %s',
    async (path) => {
      expectError(await post(path, OWN_PAGE, '{}'), 415, 'UNSUPPORTED_MEDIA_TYPE', /must not be compressed/);
    },
  );

  it('is rejected by the payment webhook', async () => {
    const headers = { ...JSON_TYPE, 'Stripe-Signature': `t=${Math.floor(Date.now() / 1_000)},v1=${'0'.repeat(64)}` };
    expectError(await post('/webhooks/payments', headers, '{}'), 415, 'UNSUPPORTED_MEDIA_TYPE');
  });

  it('is rejected in a form of the carrier, even if it is signed', async () => {
    const { carrierAccountId, authToken } = service.config.carriers.live;
    const params = { AccountSid: carrierAccountId, CallSid: `CA${'0'.repeat(32)}`, CallStatus: 'ringing' };
    for (const path of ['/carrier/status', '/inbound_call']) {
      const signature = sign({ authToken, url: `${service.config.publicBaseUrl}${path}`, params });
      const headers = { ...FORM_TYPE, 'X-Twilio-Signature': signature };
      const response = await post(path, headers, new URLSearchParams(params).toString());
      // After an error response, the carrier would answer and bill the call. So the response is TwiML that rejects the
      // call.
      if (path === '/inbound_call')
        expect(response).toMatchObject({ status: 200, text: expect.stringMatching('<Reject ') });
      else expectError(response, 415, 'UNSUPPORTED_MEDIA_TYPE');
    }
  });

  it('is rejected in a form forwarded with an API key', async () => {
    const response = await post('/inbound_call', FORM_TYPE, 'CallSid=x', customer.liveKey);
    expectError(response, 415, 'UNSUPPORTED_MEDIA_TYPE');
  });

  it('is not decompressed before the API key is checked', async () => {
    expectError(await post('/outbound_call', JSON_TYPE, '{}'), 401, 'UNAUTHORIZED');
  });

  it('is decompressed with an API key, except br', async () => {
    const response = await post('/outbound_call', JSON_TYPE, '{}', customer.liveKey);
    if (encoding === 'br') expectError(response, 415, 'UNSUPPORTED_MEDIA_TYPE', /gzip, deflate or absent/);
    else expectError(response, 400, 'MISSING_PARAMS', /to_phone_number/);
  });
});

it('a body without authentication may have 16 KiB at most', async () => {
  const body = JSON.stringify({ email: 'a@example.com', password: 'x'.repeat(17_000) });
  const response = await service.request('/portal/log-in', { method: 'POST', headers: OWN_PAGE, body });
  expectError(response, 413, 'PAYLOAD_TOO_LARGE', /16 KiB/);
});
