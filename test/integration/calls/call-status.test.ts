import { eventually, expectError, startService, type Customer, type Service } from '../../support/http/harness.js';

let service: Service;
let customer: Customer;

beforeAll(async () => {
  service = await startService();
  customer = await service.customer();
});
afterAll(() => service.close());

const TO = '+12025550100';

describe('the status of a call', () => {
  let callId: string;
  beforeAll(async () => {
    const answer = await service.place(customer.liveKey, { to_phone_number: TO, agent_id: customer.agent._id });
    callId = String(answer.json['call_id']);
  });

  it('is read by POST and GET with call_id, and every other field is ignored, valid or not', async () => {
    const before = await service.countCallRequests();
    const wrong = { call_id: callId, to_phone_number: 5, webhook_url: {}, instruction: null, constructor: 1 };
    const byPost = await service.place(customer.liveKey, wrong, { 'Idempotency-Key': 'x'.repeat(300) });
    const byGet = await service.request(`/outbound_call?call_id=${callId}&to_phone_number=x&agent_id=&agent_id=`, {
      key: customer.liveKey,
    });
    for (const answer of [byPost, byGet]) {
      expect(answer.status).toBe(200);
      expect(Object.keys(answer.json).toSorted()).toEqual(['call_id', 'message', 'status', 'success']);
      expect(answer.json['call_id']).toBe(callId);
    }
    expect(await service.countCallRequests()).toBe(before);
  });

  it.each([
    ['empty', ''],
    ['of another form', 'nonsense'],
    ['unknown', 'call_01JD3Q4Z6WX8Y2V7T5R9S1K0MN'],
    ['a number', 5],
    ['false', false],
    ['an array', ['call_01JD3Q4Z6WX8Y2V7T5R9S1K0MN']],
    ['an object', { $ne: '' }],
  ])('responds with 404 CALL_NOT_FOUND and does not dial when call_id is %s', async (_name, value) => {
    const before = await service.countCallRequests();
    const body = { call_id: value, to_phone_number: TO, agent_id: customer.agent._id };
    expectError(await service.place(customer.liveKey, body), 404, 'CALL_NOT_FOUND');
    expect(await service.countCallRequests()).toBe(before);
  });

  it('treats a call_id of null as absent', async () => {
    const body = { call_id: null, to_phone_number: TO, agent_id: customer.agent._id };
    expect((await service.place(customer.liveKey, body)).json['status']).toBe('RINGING');
  });

  it('responds with 404 to a repeated call_id, in a query and in JSON', async () => {
    const byGet = await service.request(`/outbound_call?call_id=${callId}&call_id=${callId}`, {
      key: customer.liveKey,
    });
    expectError(byGet, 404, 'CALL_NOT_FOUND');
    const byPost = await service.request('/outbound_call', {
      method: 'POST',
      key: customer.liveKey,
      headers: { 'Content-Type': 'application/json' },
      body: `{"call_id":"${callId}","c\\u0061ll_id":null,"to_phone_number":"${TO}","agent_id":"${customer.agent._id}"}`,
    });
    expectError(byPost, 404, 'CALL_NOT_FOUND');
  });

  it('responds with 404 CALL_NOT_FOUND to a key of another account or the other mode', async () => {
    const other = await service.customer();
    for (const key of [other.liveKey, customer.testKey]) {
      expectError(await service.place(key, { call_id: callId }), 404, 'CALL_NOT_FOUND');
    }
  });

  it.each([
    ['IDLE', 'IDLE'],
    ['RINGING', 'RINGING'],
    ['IN_PROGRESS', 'IN_PROGRESS'],
    ['COMPLETED', 'COMPLETED'],
    ['FAILED', 'FAILED'],
    ['CANCELLED', 'FAILED'],
  ] as const)('reads %s as %s', async (status, expected) => {
    const _id = `call_${status.replaceAll(/[^A-HJKMNP-TV-Z]/g, '0').padEnd(26, '0')}`;
    const when = new Date(Date.now() - 1_000 * _id.charCodeAt(6));
    await service.database.calls.create({
      _id,
      sequence: 1,
      accountId: customer.account._id,
      mode: 'live',
      direction: 'outbound',
      status,
      fromPhoneNumber: '+12025550199',
      toPhoneNumber: TO,
      agentId: customer.agent._id,
      inputParameters: '{}',
      externalCallId: '',
      createdAt: when,
      updatedAt: when,
    });
    expect((await service.place(customer.liveKey, { call_id: _id })).json['status']).toBe(expected);
  });

  it('reads FAILED after no carrier accepted the call', async () => {
    const status = await eventually(async () => {
      const answer = await service.place(customer.liveKey, { call_id: callId });
      return answer.json['status'] === 'FAILED' && answer.json['status'];
    });
    expect(status).toBe('FAILED');
  });
});
