import { createHmac } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { createBodiesInFlight } from '../../src/platform/http/bodies-in-flight.js';
import { expectError, startService, type Service } from '../http/harness.js';
import { rawRequest, sendBytes } from '../support/hostile-requests.js';

const SECRET = 'whsec_of-these-tests';
/** Bodies of one address that are read at the same time. */
const PER_ADDRESS = 32;

let service: Service;
beforeAll(async () => {
  service = await startService({ worker: false, env: { PAYMENT_WEBHOOK_SECRET: SECRET, TRUST_PROXY: 'true' } });
});
afterAll(() => service.close());

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

function hold(from: string): Promise<Socket> {
  return new Promise((resolve) => {
    const socket = connect(service.port, '127.0.0.1', () =>
      socket.write(headOf(forgedNow(), from), () => resolve(socket)),
    );
    socket.on('error', () => undefined);
  });
}

async function eventually(isTrue: () => Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await new Promise((resolve) => setTimeout(resolve, 50));
}

describe('bodies of payment events without a signature hold little memory', () => {
  it('since nothing of more than 64 KiB is read', async () => {
    const answer = await sendBytes(service.port, headOf(forgedNow(), '192.0.2.2', 65_537), { forMs: 1_000 });
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
    const answer = await sendBytes(service.port, headOf(header, '192.0.2.2'), { forMs: 1_000 });
    expect(answer).toMatch(/^HTTP\/1\.1 403 /);
  });

  it(`since ${PER_ADDRESS} of one address are read at the same time, and other addresses are served`, async () => {
    const held = await Promise.all(Array.from({ length: PER_ADDRESS }, () => hold('192.0.2.3')));
    const body = JSON.stringify({ type: 'ping' });
    await eventually(async () => (await tell(body, signature(body), '192.0.2.3')).status === 503);
    expect((await tell(body, signature(body), '192.0.2.4')).status).toBe(200);
    for (const socket of held) socket.destroy();
    await eventually(async () => (await tell(body, signature(body), '192.0.2.3')).status === 200);
  }, 20_000);

  it('since all addresses together have a bound, too', async () => {
    const { read } = createBodiesInFlight({ perAddress: 2, total: 3 });
    const ends: (() => void)[] = [];
    const slow = () => new Promise<void>((resolve) => void ends.push(resolve));
    const quick = async () => 'read';
    const reading = [read('a', slow), read('a', slow)];
    await expect(read('a', quick)).rejects.toThrow(/cannot answer right now/);
    reading.push(read('b', slow));
    await expect(read('c', quick)).rejects.toThrow(/cannot answer right now/);
    for (const end of ends) end();
    await Promise.all(reading);
    await expect(read('a', () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    expect(await read('a', quick)).toBe('read');
  });

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
  }, 60_000);
});
