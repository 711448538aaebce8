import { createHmac } from 'node:crypto';
import { eventually, expectError, startService, type Service } from '../support/http/harness.js';
import { firstAnswer, rawRequest } from '../support/hostile-requests.js';
import { holdBack, madeRoom } from './support/held-back-requests.js';

const SECRET = 'whsec_of-these-tests';
/** Bodies that are read at the same time before their signature is known. */
const BODIES = 1_000;

let service: Service;
beforeAll(async () => {
  service = await startService({ worker: false, env: { PAYMENT_WEBHOOK_SECRET: SECRET, TRUST_PROXY: 'true' } });
});
afterAll(() => service.close());

/** All arrive before the first is given up as incomplete, also on a busy machine. */
const SHORT_BODY = 'x'.repeat(64);

const seconds = () => Math.floor(Date.now() / 1_000);
const forgedNow = () => `t=${seconds()},v1=${'0'.repeat(64)}`;

function signature(body: string): string {
  const time = seconds();
  return `t=${time},v1=${createHmac('sha256', SECRET).update(`${time}.${body}`).digest('hex')}`;
}

function tell(body: string, header: string, from = '192.0.2.1') {
  const headers = { 'Content-Type': 'application/json', 'Stripe-Signature': header, 'X-Forwarded-For': from };
  return service.request('/webhooks/payments', { method: 'POST', headers, body });
}

/** The head of an event, and nothing of its 64 KiB. */
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

describe('bodies of payment events without a signature hold little memory', () => {
  it('since nothing of more than 64 KiB is read', async () => {
    const answer = await firstAnswer(service.port, headOf(forgedNow(), '192.0.2.2', 65_537));
    expect(answer).toMatch(/^HTTP\/1\.1 413 /);
    const body = JSON.stringify({ type: 'ping', data: { object: { text: 'x'.repeat(60_000) } } });
    expect((await tell(body, signature(body))).status).toBe(200);
  });

  it.each([
    ['no signature', 'x'],
    ['a time long ago', `t=1614265330,v1=${'0'.repeat(64)}`],
    ['no v1', `t=${seconds()},v0=${'0'.repeat(64)}`],
    ['a v1 of another length', `t=${seconds()},v1=00`],
  ])('since nothing at all is read behind a header with %s', async (_what, header) => {
    const answer = await firstAnswer(service.port, headOf(header, '192.0.2.2'));
    expect(answer).toMatch(/^HTTP\/1\.1 403 /);
  });

  it('since the oldest of them makes room, so that whoever holds as many as are read keeps no event out', async () => {
    const forged = (index: number) => requestOf(forgedNow(), `192.0.2.${10 + (index % 32)}`, SHORT_BODY);
    const held = await holdBack(service.port, BODIES, forged);
    const body = JSON.stringify({ type: 'ping' });
    // A machine that is busy enough answers 503 for want of time; being kept out would last.
    for (const from of ['192.0.2.10', '192.0.2.4']) {
      await eventually(async () => {
        const told = await tell(body, signature(body), from);
        if (told.status === 200 && held.some(madeRoom)) return true;
        held.push(...(await holdBack(service.port, BODIES / 10, forged)));
        return false;
      }, 60_000);
    }
    expect(held.filter(madeRoom).length).toBeLessThan(held.length - BODIES + BODIES / 10);
    for (const each of held) each.drop();
  }, 180_000);

  it('and any number of one address that are signed arrive at the same time', async () => {
    const body = JSON.stringify({ type: 'ping' });
    const held = await holdBack(service.port, 300, () => requestOf(signature(body), '192.0.2.3', body));
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(new Set(await Promise.all(held.map((each) => each.finish())))).toEqual(new Set([200]));
    for (const each of held) each.drop();
  }, 30_000);

  it('and forged ones count against their address, real ones never', async () => {
    const body = JSON.stringify({ type: 'ping' });
    const from = '192.0.2.5';
    let status = 0;
    for (let i = 0; i < 3_100 && status !== 429; i += 100) {
      const answers = await Promise.all(Array.from({ length: 25 * 4 }, () => tell(body, 't=1,v1=0', from)));
      status = Math.max(...answers.map((answer) => answer.status));
    }
    expect(status).toBe(429);
    expectError(await tell(body, forgedNow(), from), 429, 'RATE_LIMIT_EXCEEDED');
    expect((await tell(body, signature(body), from)).status).toBe(200);
  }, 240_000);
});
