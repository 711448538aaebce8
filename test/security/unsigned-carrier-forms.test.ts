import { sign } from '../../src/telephony/twilio/signature.js';
import { eventually, startService, type Service } from '../support/http/harness.js';
import { firstResponse, rawRequest } from '../support/hostile-requests.js';
import { newSid } from '../support/sids.js';
import { holdBack, wasEvicted } from './support/held-back-requests.js';

/** How many bodies the service reads at the same time before it has checked their signatures. */
const BODIES = 1_000;
/** The body is short, so that even on a busy machine all bodies arrive before the first one times out. */
const SHORT_BODY = 'x'.repeat(64);
const WRONG_SIGNATURE = `${'A'.repeat(27)}=`;

let service: Service;
beforeAll(async () => {
  service = await startService({ worker: false, env: { TRUST_PROXY: 'true' } });
});
afterAll(() => service.close());

function requestOf(p: { path: string; signature: string; from: string; body: string }): Buffer {
  const headers = {
    'Content-Type': 'application/x-www-form-urlencoded',
    'X-Twilio-Signature': p.signature,
    'X-Forwarded-For': p.from,
  };
  return rawRequest({ method: 'POST', path: p.path, headers, body: p.body });
}

const status = () => service.carrierPost('/carrier/status', { CallSid: newSid('CA'), CallStatus: 'ringing' });

function signedStatus(from: string): Buffer {
  const { carrierAccountId, authToken } = service.config.carriers.live;
  const path = '/carrier/status';
  const params = { AccountSid: carrierAccountId, CallSid: newSid('CA'), CallStatus: 'ringing' };
  const signature = sign({ authToken, url: `${service.config.publicBaseUrl}${path}`, params });
  return requestOf({ path, signature, from, body: new URLSearchParams(params).toString() });
}

describe('carrier forms without a valid signature', () => {
  it.each([
    ['/carrier/status', 403],
    ['/carrier/calls/call_01JD3Q4Z6WX8Y2V7T5R9S1K0MN/twiml', 403],
    ['/inbound_call', 401],
  ])(
    'are not read after a malformed signature: %s',
    async (path, rejectionStatus) => {
      const body = 'x'.repeat(65_536);
      for (const signature of [
        'x',
        'A'.repeat(28),
        `${'A'.repeat(28)}=`,
        `${'A'.repeat(26)}==`,
        `${'-'.repeat(27)}=`,
      ]) {
        const head = requestOf({ path, signature, from: '192.0.2.2', body }).subarray(0, -body.length);
        expect(await firstResponse(service.port, head)).toMatch(`HTTP/1.1 ${rejectionStatus} `);
      }
    },
    20_000,
  );

  it.each(['/carrier/status', '/inbound_call'])(
    'are dropped, oldest first, so that incomplete ones do not block callbacks: %s',
    async (path) => {
      const forged = (index: number) =>
        requestOf({ path, signature: WRONG_SIGNATURE, from: `192.0.2.${index % 64}`, body: SHORT_BODY });
      const held = await holdBack(service.port, BODIES, forged);
      // Tries again, because a busy machine may respond with 503 after a timeout. If the callback were blocked, no
      // attempt would succeed.
      await eventually(async () => {
        if ((await status()).status === 200 && held.some(wasEvicted)) return true;
        held.push(...(await holdBack(service.port, BODIES / 10, forged)));
        return false;
      }, 60_000);
      expect(held.filter(wasEvicted).length).toBeLessThan(held.length - BODIES + BODIES / 10);
      for (const each of held) each.drop();
    },
    120_000,
  );

  it('do not limit signed forms: 300 from one address are accepted at the same time', async () => {
    const held = await holdBack(service.port, 300, () => signedStatus('192.0.2.3'));
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(new Set(await Promise.all(held.map((each) => each.finish())))).toEqual(new Set([200]));
    for (const each of held) each.drop();
  }, 30_000);
});
