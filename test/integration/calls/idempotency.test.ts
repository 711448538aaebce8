import { createIdempotencyKeys } from '../../../src/calls/placing/idempotency-keys.js';
import type { IdempotencyKeyDocument } from '../../../src/calls/placing/idempotency-key-model.js';
import { expectError, startService, type Customer, type Service } from '../../support/http/harness.js';

let service: Service;
let customer: Customer;

beforeAll(async () => {
  service = await startService();
  customer = await service.customer();
});
afterAll(() => service.close());

const order = (fields: object = {}) => ({ to_phone_number: '+12025550100', agent_id: customer.agent._id, ...fields });
const place = (key: string, idempotencyKey: string, body: object = order()) =>
  service.place(key, body, { 'Idempotency-Key': idempotencyKey });

describe('Idempotency-Key', () => {
  it('gives the first answer again for the same key and request, with Idempotent-Replayed: true', async () => {
    const before = await service.callsAskedFor();
    const first = await place(customer.liveKey, 'order-1');
    const again = await place(customer.liveKey, 'order-1', { unknown: 1, ...order() });
    expect(first.json['status']).toBe('RINGING');
    expect(first.headers.get('idempotent-replayed')).toBeNull();
    expect({ status: again.status, json: again.json }).toEqual({ status: 200, json: first.json });
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(await service.callsAskedFor()).toBe(before + 1);
  });

  it('with another request is 409 IDEMPOTENCY_CONFLICT and dials nobody', async () => {
    await place(customer.liveKey, 'order-2');
    const before = await service.callsAskedFor();
    const answer = await place(customer.liveKey, 'order-2', order({ external_call_id: 'other' }));
    expectError(answer, 409, 'IDEMPOTENCY_CONFLICT');
    expect(await service.callsAskedFor()).toBe(before);
  });

  it('belongs to one account and mode', async () => {
    const other = await service.customer();
    const ids = [
      (await place(customer.liveKey, 'shared')).json['call_id'],
      (await place(customer.testKey, 'shared')).json['call_id'],
      (await place(other.liveKey, 'shared', order({ agent_id: other.agent._id }))).json['call_id'],
    ];
    expect(new Set(ids).size).toBe(3);
    expect(ids).not.toContain(undefined);
  });

  it('asked for many times at once makes one call, and everyone gets its id', async () => {
    const before = await service.callsAskedFor();
    const answers = await Promise.all(Array.from({ length: 10 }, () => place(customer.testKey, 'at-once')));
    const granted = answers.filter((answer) => answer.status === 200);
    expect(granted.length).toBeGreaterThan(0);
    expect(answers.filter((answer) => ![200, 503].includes(answer.status))).toEqual([]);
    expect(new Set(granted.map((answer) => answer.json['call_id'])).size).toBe(1);
    expect(await service.callsAskedFor()).toBe(before + 1);
  });

  it('keeps 402, also after a top-up', async () => {
    const poor = await service.customer(0);
    const body = order({ agent_id: poor.agent._id });
    expectError(await place(poor.liveKey, 'poor', body), 402, 'INSUFFICIENT_BALANCE');
    const again = await place(poor.liveKey, 'poor', body);
    expectError(again, 402, 'INSUFFICIENT_BALANCE');
    expect(again.headers.get('idempotent-replayed')).toBe('true');
  });

  it('keeps neither 400 nor 404: the key is free for the request that is right', async () => {
    expectError(await place(customer.liveKey, 'mended', order({ to_phone_number: 'x' })), 400, 'MISSING_PARAMS');
    expectError(await place(customer.liveKey, 'mended', order({ agent_id: 'nobody' })), 404, 'AGENT_NOT_FOUND');
    expect((await place(customer.liveKey, 'mended')).status).toBe(200);
  });

  it('does not keep 429: asked again when there is room, the call is placed under a new call_id', async () => {
    const busy = await service.customer();
    const body = order({ agent_id: busy.agent._id });
    await service.accounts.setLimits(busy.account._id, { concurrentCalls: 0 });
    expectError(await place(busy.liveKey, 'busy', body), 429, 'CONCURRENCY_LIMIT_EXCEEDED');
    await service.accounts.setLimits(busy.account._id, { concurrentCalls: 5 });
    const answer = await place(busy.liveKey, 'busy', body);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('idempotent-replayed')).toBeNull();
  });

  it('is kept for 24 hours and forgotten then', async () => {
    const first = await place(customer.liveKey, 'yesterday');
    const rows = service.database.idempotencyKeys;
    const row = await rows.findOne({ callId: String(first.json['call_id']) }).lean<IdempotencyKeyDocument>();
    expect(Number(row?.expiresAt) - Number(row?.createdAt)).toBe(24 * 60 * 60 * 1_000);
    await rows.updateOne({ callId: String(first.json['call_id']) }, { $set: { expiresAt: new Date(Date.now() - 1) } });
    const later = await place(customer.liveKey, 'yesterday', order({ external_call_id: 'new day' }));
    expect(later.status).toBe(200);
    expect(later.json['call_id']).not.toBe(first.json['call_id']);
    expect((await rows.findById(row?._id).lean<IdempotencyKeyDocument>())?.callId).toBe(later.json['call_id']);
  });

  it.each([
    ['empty', ''],
    ['over 255 characters', 'k'.repeat(256)],
  ])('%s is 400 MISSING_PARAMS', async (_name, key) => {
    expectError(await place(customer.liveKey, key), 400, 'MISSING_PARAMS', /Idempotency-Key/);
  });

  it('of 255 characters is taken', async () => {
    expect((await place(customer.liveKey, 'k'.repeat(255))).status).toBe(200);
  });

  it('stores no key in clear', async () => {
    await place(customer.liveKey, 'my-secret-order');
    const rows = await service.database.idempotencyKeys.find().lean();
    expect(JSON.stringify(rows)).not.toContain('my-secret-order');
  });
});

describe('after a 503', () => {
  it("the key's call is asked again; if that run expired the key gets a new call_id", async () => {
    // No worker: whatever is started cannot be answered in time.
    const idle = await startService({ leastTimeMs: 0, worker: false });
    const owner = await idle.customer();
    const body = { to_phone_number: '+12025550100', agent_id: owner.agent._id };
    const headers = { 'Idempotency-Key': 'again' };
    expectError(await idle.place(owner.liveKey, body, headers), 503, 'SERVICE_UNAVAILABLE');
    const [row] = await idle.database.idempotencyKeys.find().lean();
    expectError(await idle.place(owner.liveKey, body, headers), 503, 'SERVICE_UNAVAILABLE');
    expect(await idle.callsAskedFor()).toBe(1);
    // A worker comes: the first run is too late and says so, and the key goes on with another.
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

  it("the key stays at 503 when an operator terminated the key's call: nobody can tell whether it dialed", async () => {
    const idle = await startService({ leastTimeMs: 0, worker: false });
    const owner = await idle.customer();
    const body = { to_phone_number: '+12025550100', agent_id: owner.agent._id };
    const headers = { 'Idempotency-Key': 'terminated' };
    try {
      expectError(await idle.place(owner.liveKey, body, headers), 503, 'SERVICE_UNAVAILABLE');
      const [row] = await idle.database.idempotencyKeys.find().lean();
      await idle.terminate(String(row?.callId));
      expectError(await idle.place(owner.liveKey, body, headers), 503, 'SERVICE_UNAVAILABLE');
      expect(await idle.callsAskedFor()).toBe(1);
    } finally {
      await idle.close();
    }
  });
});

describe('the store of keys', () => {
  it('lets one of several that renew a key at once succeed, and tells all of them the same call', async () => {
    const keys = createIdempotencyKeys(service.database);
    const owner = { accountId: 'acct_1', mode: 'test' as const, key: 'k' };
    const { row, created } = await keys.claim(owner, { bodyHash: 'h', callId: 'call_1' });
    expect(created).toBe(true);
    const told = await Promise.all(['call_2', 'call_3', 'call_4'].map((callId) => keys.renew(row, callId)));
    expect(new Set(told).size).toBe(1);
    expect(told[0]).not.toBe('call_1');
    expect(await keys.claim(owner, { bodyHash: 'h', callId: 'call_5' })).toMatchObject({
      created: false,
      row: { callId: told[0] },
    });
  });

  it('does not let a renewed key keep the answer of its old call', async () => {
    const keys = createIdempotencyKeys(service.database);
    const owner = { accountId: 'acct_1', mode: 'test' as const, key: 'late' };
    const { row } = await keys.claim(owner, { bodyHash: 'h', callId: 'call_1' });
    await keys.renew(row, 'call_2');
    await keys.keep(row, { status: 200, body: {} });
    expect((await keys.find(owner))?.answerStatus).toBeUndefined();
  });
});
