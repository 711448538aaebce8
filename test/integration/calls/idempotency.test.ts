import { createIdempotencyKeys } from '../../../src/calls/placing/idempotency-keys.js';
import type { IdempotencyKeyDocument } from '../../../src/calls/placing/idempotency-key-model.js';
import {
  expectError,
  startService,
  type Customer,
  type Service,
  type ServiceResponse,
} from '../../support/http/harness.js';

let service: Service;
let customer: Customer;

beforeAll(async () => {
  service = await startService();
  customer = await service.customer();
});
afterAll(() => service.close());

const callRequest = (fields: object = {}) => ({
  to_phone_number: '+12025550100',
  agent_id: customer.agent._id,
  ...fields,
});
const place = (key: string, idempotencyKey: string, body: object = callRequest()) =>
  service.place(key, body, { 'Idempotency-Key': idempotencyKey });

/** Places a call, and repeats the request if the call could not be decided in time on a busy machine, as clients do. */
async function placeDecided(...request: Parameters<typeof place>): Promise<ServiceResponse> {
  let answer = await place(...request);
  for (let n = 0; n < 2 && answer.status === 503; n++) answer = await place(...request);
  return answer;
}

/** The same JSON with 200 kB of white space. */
const withSpaces = (json: string) => json.replace('{', `{${' '.repeat(200_000)}`);

describe('Idempotency-Key', () => {
  it('returns the first response again for the same key and request, with Idempotent-Replayed: true', async () => {
    const before = await service.countCallRequests();
    const first = await place(customer.liveKey, 'order-1');
    const again = await place(customer.liveKey, 'order-1', { unknown: 1, ...callRequest() });
    expect(first.json['status']).toBe('RINGING');
    expect(first.headers.get('idempotent-replayed')).toBeNull();
    expect({ status: again.status, json: again.json }).toEqual({ status: 200, json: first.json });
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(await service.countCallRequests()).toBe(before + 1);
  });

  it('is rejected with 409 IDEMPOTENCY_CONFLICT for another request, without a dial', async () => {
    await place(customer.liveKey, 'order-2');
    const before = await service.countCallRequests();
    const answer = await place(customer.liveKey, 'order-2', callRequest({ external_call_id: 'other' }));
    expectError(answer, 409, 'IDEMPOTENCY_CONFLICT');
    expect(await service.countCallRequests()).toBe(before);
  });

  it.each(['/outbound_call', '/calls'])(
    'lets large repeats to %s run into a limit, as they change nothing',
    async (path) => {
      const { agent, liveKey } = await service.customer();
      const body = JSON.stringify({ to_phone_number: '+12025550100', agent_id: agent._id });
      const headers = { 'Content-Type': 'application/json', 'Idempotency-Key': 'large' };
      const statuses: number[] = [];
      while (statuses.length < 40 && statuses.at(-1) !== 429) {
        statuses.push(
          (await service.request(path, { method: 'POST', key: liveKey, headers, body: withSpaces(body) })).status,
        );
      }
      expect(statuses.slice(0, 3)).toEqual([200, 200, 200]);
      expect(statuses.at(-1)).toBe(429);
    },
  );

  it('belongs to one account and mode', async () => {
    const other = await service.customer();
    const answers = [
      await placeDecided(customer.liveKey, 'shared'),
      await placeDecided(customer.testKey, 'shared'),
      await placeDecided(other.liveKey, 'shared', callRequest({ agent_id: other.agent._id })),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(new Set(answers.map(({ json }) => json['call_id'])).size).toBe(3);
  });

  it('places one call for concurrent requests and returns its id to all of them', async () => {
    const before = await service.countCallRequests();
    const answers = await Promise.all(Array.from({ length: 10 }, () => place(customer.testKey, 'at-once')));
    const granted = answers.filter((answer) => answer.status === 200);
    expect(granted.length).toBeGreaterThan(0);
    expect(answers.filter((answer) => ![200, 503].includes(answer.status))).toEqual([]);
    expect(new Set(granted.map((answer) => answer.json['call_id'])).size).toBe(1);
    expect(await service.countCallRequests()).toBe(before + 1);
  });

  it('keeps a 402, even after a top-up', async () => {
    const poor = await service.customer(0);
    const body = callRequest({ agent_id: poor.agent._id });
    expectError(await place(poor.liveKey, 'poor', body), 402, 'INSUFFICIENT_BALANCE');
    const again = await place(poor.liveKey, 'poor', body);
    expectError(again, 402, 'INSUFFICIENT_BALANCE');
    expect(again.headers.get('idempotent-replayed')).toBe('true');
  });

  it('keeps neither 400 nor 404: the key can be used for the corrected request', async () => {
    expectError(await place(customer.liveKey, 'mended', callRequest({ to_phone_number: 'x' })), 400, 'MISSING_PARAMS');
    expectError(await place(customer.liveKey, 'mended', callRequest({ agent_id: 'nobody' })), 404, 'AGENT_NOT_FOUND');
    expect((await place(customer.liveKey, 'mended')).status).toBe(200);
  });

  it('does not keep a 429: when a slot is free, the call is placed with a new call_id', async () => {
    const busy = await service.customer();
    const body = callRequest({ agent_id: busy.agent._id });
    await service.accounts.setLimits(busy.account._id, { concurrentCalls: 0 });
    expectError(await place(busy.liveKey, 'busy', body), 429, 'CONCURRENCY_LIMIT_EXCEEDED');
    await service.accounts.setLimits(busy.account._id, { concurrentCalls: 5 });
    const answer = await place(busy.liveKey, 'busy', body);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('idempotent-replayed')).toBeNull();
  });

  it('is kept for 24 hours and then removed', async () => {
    const first = await place(customer.liveKey, 'yesterday');
    const rows = service.database.idempotencyKeys;
    const row = await rows.findOne({ callId: String(first.json['call_id']) }).lean<IdempotencyKeyDocument>();
    // Counts from the response, a moment after the row.
    const keptMs = Number(row?.expiresAt) - Number(row?.createdAt);
    expect(keptMs).toBeGreaterThanOrEqual(24 * 60 * 60 * 1_000);
    expect(keptMs).toBeLessThan(24 * 60 * 60 * 1_000 + 60_000);
    await rows.updateOne({ callId: String(first.json['call_id']) }, { $set: { expiresAt: new Date(Date.now() - 1) } });
    const later = await place(customer.liveKey, 'yesterday', callRequest({ external_call_id: 'new day' }));
    expect(later.status).toBe(200);
    expect(later.json['call_id']).not.toBe(first.json['call_id']);
    expect((await rows.findById(row?._id).lean<IdempotencyKeyDocument>())?.callId).toBe(later.json['call_id']);
  });

  it.each([
    ['empty', ''],
    ['over 255 characters', 'k'.repeat(256)],
  ])('is rejected with 400 MISSING_PARAMS if it is %s', async (_name, key) => {
    expectError(await place(customer.liveKey, key), 400, 'MISSING_PARAMS', /Idempotency-Key/);
  });

  it('may have 255 characters', async () => {
    expect((await place(customer.liveKey, 'k'.repeat(255))).status).toBe(200);
  });

  it('is not stored in plain text', async () => {
    await place(customer.liveKey, 'my-secret-order');
    const rows = await service.database.idempotencyKeys.find().lean();
    expect(JSON.stringify(rows)).not.toContain('my-secret-order');
  });
});

describe('after a 503', () => {
  it('repeats the call of the key, and gives the key a new call_id if that run expired', async () => {
    // Without a worker, no workflow responds before the deadline.
    const idle = await startService({ minDeadlineMs: 0, worker: false });
    const owner = await idle.customer();
    const body = { to_phone_number: '+12025550100', agent_id: owner.agent._id };
    const headers = { 'Idempotency-Key': 'again' };
    expectError(await idle.place(owner.liveKey, body, headers), 503, 'SERVICE_UNAVAILABLE');
    const [row] = await idle.database.idempotencyKeys.find().lean();
    expectError(await idle.place(owner.liveKey, body, headers), 503, 'SERVICE_UNAVAILABLE');
    expect(await idle.countCallRequests()).toBe(1);
    // Once a worker runs, the first workflow reports that its deadline has passed. Then the same idempotency key gets a
    // new call.
    const { stop, worker } = idle.startWorker();
    try {
      let answer = await idle.place(owner.liveKey, body, headers);
      for (let tries = 0; answer.status === 503 && tries < 10; tries++) {
        answer = await idle.place(owner.liveKey, body, headers);
      }
      expect(answer.status).toBe(200);
      expect(answer.json['call_id']).not.toBe(row?.callId);
      expect(await idle.database.calls.countDocuments({ accountId: owner.account._id })).toBe(1);
      const replayed = await idle.place(owner.liveKey, body, headers);
      expect(replayed.json).toEqual(answer.json);
    } finally {
      stop.abort();
      await worker;
      await idle.close();
    }
  });

  it("stays at 503 after an operator terminated the key's call, because that call may have dialed", async () => {
    const idle = await startService({ minDeadlineMs: 0, worker: false });
    const owner = await idle.customer();
    const body = { to_phone_number: '+12025550100', agent_id: owner.agent._id };
    const headers = { 'Idempotency-Key': 'terminated' };
    try {
      expectError(await idle.place(owner.liveKey, body, headers), 503, 'SERVICE_UNAVAILABLE');
      const [row] = await idle.database.idempotencyKeys.find().lean();
      await idle.terminate(String(row?.callId));
      expectError(await idle.place(owner.liveKey, body, headers), 503, 'SERVICE_UNAVAILABLE');
      expect(await idle.countCallRequests()).toBe(1);
    } finally {
      await idle.close();
    }
  });
});

describe('the store of idempotency keys', () => {
  it('lets one of several concurrent renewals of a key succeed, and returns its call to all', async () => {
    const keys = createIdempotencyKeys(service.database);
    const owner = { accountId: 'acct_1', mode: 'test' as const, key: 'k' };
    const { row, created } = await keys.claim(owner, { bodyHash: 'h', callId: 'call_1' });
    expect(created).toBe(true);
    const callIds = await Promise.all(['call_2', 'call_3', 'call_4'].map((callId) => keys.assignNewCall(row, callId)));
    expect(new Set(callIds).size).toBe(1);
    expect(callIds[0]).not.toBe('call_1');
    expect(await keys.claim(owner, { bodyHash: 'h', callId: 'call_5' })).toMatchObject({
      created: false,
      row: { callId: callIds[0] },
    });
  });

  it('does not store the response of the old call for a renewed key', async () => {
    const keys = createIdempotencyKeys(service.database);
    const owner = { accountId: 'acct_1', mode: 'test' as const, key: 'late' };
    const { row } = await keys.claim(owner, { bodyHash: 'h', callId: 'call_1' });
    await keys.assignNewCall(row, 'call_2');
    await keys.storeResponse(row, { status: 200, body: {} });
    expect((await keys.find(owner))?.answerStatus).toBeUndefined();
  });
});
