import { randomBytes } from 'node:crypto';
import { Agent, request as httpRequest } from 'node:http';
import { sign } from '../../src/telephony/twilio/signature.js';
import { ServiceError, type ErrorCode } from '../../src/kernel/errors.js';
import type { ApiContext } from '../../src/platform/http/context.js';
import { createSignedRequests } from '../../src/platform/http/signed-requests.js';
import { expectError, startService, type Service } from '../support/http/harness.js';
import { formOfNames, formOfNamesRequest, sendBytes } from '../support/hostile-requests.js';
import { LIVE_WITHIN_MS, slowestLivenessResponse } from '../support/liveness.js';

const CALLS = 500;
/** The callbacks of one call: initiated, ringing, answered, completed, and some that the carrier sends twice. */
const CALLBACKS_OF_A_CALL = 7;
/** More failed requests than one address may send in a minute. */
const FLOOD = 3_100;
const AT_ONCE = 50;
/** A signature in the right format that does not belong to any request. */
const WRONG_SIGNATURE = `${'A'.repeat(27)}=`;
const FORM = { 'Content-Type': 'application/x-www-form-urlencoded' };

let service: Service;
const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });

beforeAll(async () => {
  service = await startService({
    worker: false,
    env: { TRUST_PROXY: 'true', PAYMENT_WEBHOOK_SECRET: 'whsec_of-these-tests' },
  });
});
afterAll(async () => {
  agent.destroy();
  await service.close();
});

/** Sends a POST and returns the status. Uses less CPU time than fetch, because the tests send thousands of requests. */
function post(path: string, headers: Record<string, string>, body: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      { port: service.port, host: '127.0.0.1', path, method: 'POST', agent, headers: { ...FORM, ...headers } },
      (response) => {
        response.resume();
        response.on('end', () => resolve(response.statusCode ?? 0));
      },
    );
    request.on('error', reject);
    request.end(body);
  });
}

/** Sends `count` requests and counts the responses by status. */
async function statusesOf(count: number, send: (index: number) => Promise<number>): Promise<Record<number, number>> {
  const counts: Record<number, number> = {};
  let next = 0;
  const sender = async () => {
    while (next < count) {
      const status = await send(next++);
      counts[status] = (counts[status] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, sender));
  return counts;
}

function signed(path: string, from: string, fields: Record<string, string>): Promise<number> {
  const { carrierAccountId, authToken } = service.config.carriers.live;
  const params = { AccountSid: carrierAccountId, ...fields };
  const signature = sign({ authToken, url: `${service.config.publicBaseUrl}${path}`, params });
  const headers = { 'X-Twilio-Signature': signature, 'X-Forwarded-For': from };
  return post(path, headers, new URLSearchParams(params).toString());
}

const newSid = () => `CA${randomBytes(16).toString('hex')}`;
const ringing = (from: string) => signed('/carrier/status', from, { CallSid: newSid(), CallStatus: 'ringing' });

describe('callbacks from one address', () => {
  it('are all admitted for 500 calls when the carrier signed them, and do not count as failures', async () => {
    const from = '192.0.2.10';
    const sids = Array.from({ length: CALLS }, newSid);
    const counts = await statusesOf(CALLS * CALLBACKS_OF_A_CALL, (i) =>
      signed('/carrier/status', from, {
        CallSid: sids[i % CALLS] ?? '',
        CallStatus: 'ringing',
        SequenceNumber: String(Math.floor(i / CALLS)),
      }),
    );
    expect(counts).toEqual({ 200: CALLS * CALLBACKS_OF_A_CALL });
    expect(await post('/carrier/status', { 'X-Forwarded-For': from }, 'CallSid=x')).toBe(403);
  }, 240_000);

  it.each([
    ['the status callback', '/carrier/status', 403, {}, '198.51.100.1'],
    [
      'TwiML',
      '/carrier/calls/call_01JD3Q4Z6WX8Y2V7T5R9S1K0MN/twiml',
      403,
      { 'X-Twilio-Signature': WRONG_SIGNATURE },
      '198.51.100.2',
    ],
    ['the inbound call', '/inbound_call', 401, { 'X-Twilio-Signature': WRONG_SIGNATURE }, '198.51.100.3'],
    ['payments', '/webhooks/payments', 403, { 'Stripe-Signature': 't=1,v1=00' }, '198.51.100.4'],
  ])(
    'that flood %s without a valid signature get 429, while signed ones are admitted',
    async (_name, path, status, headers: Record<string, string>, from) => {
      const forged = () => post(path, { ...headers, 'X-Forwarded-For': from }, 'CallSid=CA1');
      const counts = await statusesOf(FLOOD, forged);
      expect(counts).toEqual({ [status]: 3_000, 429: FLOOD - 3_000 });
      expect(await ringing(from)).toBe(200);
      // A limit of one address does not apply to other addresses.
      expect(await post(path, { ...headers, 'X-Forwarded-For': `${from}9` }, 'CallSid=CA1')).toBe(status);
    },
    240_000,
  );

  it('of one IPv6 network count together, however the address is written', async () => {
    const forms = (i: number) =>
      [`2001:db8:7::${i.toString(16)}`, `[2001:db8:7:0::${i.toString(16)}]:443`, `2001:0DB8:0007:0000:1:2:3:4`][i % 3];
    const counts = await statusesOf(FLOOD, (i) => post('/carrier/status', { 'X-Forwarded-For': forms(i) ?? '' }, ''));
    expect(counts).toEqual({ 403: 3_000, 429: FLOOD - 3_000 });
  }, 240_000);
});

describe('signed requests in flight', () => {
  it('are limited over all addresses: 503 above the limit, admitted again when others finish', async () => {
    const counted: unknown[] = [];
    const failureLimiter = { isOver: async () => false, count: async (ctx: unknown) => void counted.push(ctx) };
    const signedRequests = createSignedRequests({ failureLimiter, maxInFlight: 2 });
    const start = () => {
      const ctx = { state: {} } as ApiContext;
      let finish = () => undefined as void;
      const handled = new Promise<void>((resolve) => (finish = resolve));
      const answered = signedRequests.middleware(ctx, async () => {
        await signedRequests.admit(ctx, async () => 'verified');
        await handled;
      });
      return { answered, finish };
    };
    const [first, second] = [start(), start()];
    await expect(start().answered).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
    await expect(start().answered).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
    first.finish();
    await first.answered;
    const third = start();
    await expect(start().answered).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
    second.finish();
    third.finish();
    await Promise.all([second.answered, third.answered]);
    expect(counted).toEqual([]);
  });

  it('count against their address when their signature is wrong, not when they could not be read', async () => {
    const counted: unknown[] = [];
    const failureLimiter = { isOver: async () => false, count: async (ctx: unknown) => void counted.push(ctx) };
    const signedRequests = createSignedRequests({ failureLimiter });
    const ctx = { state: {} } as ApiContext;
    const reject = (code: ErrorCode) =>
      signedRequests.admit(ctx, () => Promise.reject(new ServiceError(code, 'Refused.')));
    await expect(reject('SERVICE_UNAVAILABLE')).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
    expect(counted).toEqual([]);
    await expect(reject('FORBIDDEN')).rejects.toMatchObject({ code: 'FORBIDDEN' });
    await expect(reject('UNAUTHORIZED')).rejects.toMatchObject({ code: 'UNAUTHORIZED' });
    expect(counted).toEqual([ctx, ctx]);
  });
});

describe('forms and queries with many fields', () => {
  it('do not delay health checks', async () => {
    const { bytes } = formOfNamesRequest();
    const slowest = await slowestLivenessResponse(service.baseUrl, () =>
      Promise.all(Array.from({ length: 4 }, () => sendBytes(service.port, bytes, { forMs: 6_000 }))),
    );
    expect(slowest).toBeLessThan(LIVE_WITHIN_MS);
  }, 120_000);

  it('are rejected above 200 fields before the signature of a form is checked', async () => {
    const headers = { ...FORM, 'X-Twilio-Signature': WRONG_SIGNATURE };
    for (const path of ['/carrier/status', '/inbound_call']) {
      for (const body of [formOfNames(201), 'a=1&'.repeat(201)]) {
        const answer = await service.request(path, { method: 'POST', headers, body });
        // The carrier may have sent this request. After an error response, it would answer and bill the call.
        if (path === '/inbound_call')
          expect(answer).toMatchObject({ status: 200, text: expect.stringMatching('<Reject ') });
        else expectError(answer, 400, 'MISSING_PARAMS', /at most 200 fields/);
      }
      const answer = await service.request(path, { method: 'POST', headers, body: formOfNames(200) });
      expect([401, 403]).toContain(answer.status);
    }
  });

  it('are accepted up to 200 fields in a signed form', async () => {
    const fields = Object.fromEntries(Array.from({ length: 197 }, (_, i) => [`Extra${i}`, String(i)]));
    const sent = await signed('/carrier/status', '192.0.2.20', { ...fields, CallSid: newSid(), CallStatus: 'ringing' });
    expect(sent).toBe(200);
  });

  it('are rejected above 200 fields in a query', async () => {
    const { liveKey } = await service.customer();
    const answer = await service.request(`/calls?${formOfNames(201)}`, { key: liveKey });
    expectError(answer, 400, 'MISSING_PARAMS', /at most 200 fields/);
  });
});
