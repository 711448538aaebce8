import { createHmac } from 'node:crypto';
import { eventually, expectError, startService, type Service } from '../support/http/harness.js';
import { firstResponse, rawRequest } from '../support/hostile-requests.js';
import { holdBack, wasEvicted } from './support/held-back-requests.js';

const SECRET = 'whsec_of-these-tests';
/** How many bodies the service reads at the same time before it has checked their signatures. */
const BODIES = 1_000;

let service: Service;
beforeAll(async () => {
  service = await startService({ worker: false, env: { PAYMENT_WEBHOOK_SECRET: SECRET, TRUST_PROXY: 'true' } });
});
afterAll(() => service.close());

/** The body is short, so that even on a busy machine all bodies arrive before the first one times out. */
const SHORT_BODY = 'x'.repeat(64);

const seconds = () => Math.floor(Date.now() / 1_000);
const forgedNow = () => `t=${seconds()},v1=${'0'.repeat(64)}`;

function signature(body: string): string {
  const time = seconds();
  return `t=${time},v1=${createHmac('sha256', SECRET).update(`${time}.${body}`).digest('hex')}`;
}

function sendEvent(body: string, header: string, from = '192.0.2.1') {
  const headers = { 'Content-Type': 'application/json', 'Stripe-Signature': header, 'X-Forwarded-For': from };
  return service.request('/webhooks/payments', { method: 'POST', headers, body });
}

/** Returns the headers of a request with an event of 64 KiB, without the event. */
function headOf(header: string, from: string, length = 65_536): Buffer {
  const headers = {
    'Content-Type': 'application/json',
    'Stripe-Signature': header,
    'X-Forwarded-For': from,
    'Content-Length': String(length),
  };
  return rawRequest({ method: 'POST', path: '/webhooks/payments', headers });
}

function requestOf(header: string, from: string, body: string): Buffer {
  const headers = { 'Content-Type': 'application/json', 'Stripe-Signature': header, 'X-Forwarded-For': from };
  return rawRequest({ method: 'POST', path: '/webhooks/payments', headers, body });
}

describe('payment events without a valid signature', () => {
  it('are not read above 64 KiB', async () => {
    const response = await firstResponse(service.port, headOf(forgedNow(), '192.0.2.2', 65_537));
    expect(response).toMatch(/^HTTP\/1\.1 413 /);
    const body = JSON.stringify({ type: 'ping', data: { object: { text: 'x'.repeat(60_000) } } });
    expect((await sendEvent(body, signature(body))).status).toBe(200);
  });

  it.each([
    ['no signature', 'x'],
    ['an old timestamp', `t=1614265330,v1=${'0'.repeat(64)}`],
    ['no v1', `t=${seconds()},v0=${'0'.repeat(64)}`],
    ['a v1 of another length', `t=${seconds()},v1=00`],
  ])('are not read after a header with %s', async (_what, header) => {
    const response = await firstResponse(service.port, headOf(header, '192.0.2.2'));
    expect(response).toMatch(/^HTTP\/1\.1 403 /);
  });

  it('are dropped, oldest first, so that incomplete ones do not block others', async () => {
    const forged = (index: number) => requestOf(forgedNow(), `192.0.2.${10 + (index % 32)}`, SHORT_BODY);
    const held = await holdBack(service.port, BODIES, forged);
    const body = JSON.stringify({ type: 'ping' });
    // Tries again, because a busy machine may respond with 503 after a timeout. If the event were blocked, no attempt
    // would succeed.
    for (const from of ['192.0.2.10', '192.0.2.4']) {
      await eventually(async () => {
        const response = await sendEvent(body, signature(body), from);
        if (response.status === 200 && held.some(wasEvicted)) return true;
        held.push(...(await holdBack(service.port, BODIES / 10, forged)));
        return false;
      }, 60_000);
    }
    expect(held.filter(wasEvicted).length).toBeLessThan(held.length - BODIES + BODIES / 10);
    for (const each of held) each.drop();
  }, 180_000);

  it('do not limit signed events: 300 from one address are accepted at the same time', async () => {
    const body = JSON.stringify({ type: 'ping' });
    const held = await holdBack(service.port, 300, () => requestOf(signature(body), '192.0.2.3', body));
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(new Set(await Promise.all(held.map((each) => each.finish())))).toEqual(new Set([200]));
    for (const each of held) each.drop();
  }, 30_000);

  it('count against their address, unlike signed events', async () => {
    const body = JSON.stringify({ type: 'ping' });
    const from = '192.0.2.5';
    let status = 0;
    for (let i = 0; i < 3_100 && status !== 429; i += 100) {
      const answers = await Promise.all(Array.from({ length: 25 * 4 }, () => sendEvent(body, 't=1,v1=0', from)));
      status = Math.max(...answers.map((response) => response.status));
    }
    expect(status).toBe(429);
    expectError(await sendEvent(body, forgedNow(), from), 429, 'RATE_LIMIT_EXCEEDED');
    expect((await sendEvent(body, signature(body), from)).status).toBe(200);
  }, 240_000);
});
