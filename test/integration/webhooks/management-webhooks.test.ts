import { webhookEndpoint } from '../../../src/kernel/webhook-endpoint.js';
import { startReceiver, type Receiver } from './support/receiver.js';
import { eventually, expectError, startService, type Customer, type Service } from '../../support/http/harness.js';
import { listOf, managementOf } from '../../support/http/management-support.js';

let service: Service;
let api: ReturnType<typeof managementOf>;
let customer: Customer;

beforeAll(async () => {
  service = await startService();
  api = managementOf(service);
  customer = await service.customer();
});
afterAll(() => service.close());

describe('webhook deliveries', () => {
  let receiver: Receiver;
  let statusCode = 500;
  beforeAll(async () => {
    receiver = await startReceiver((response) => response.writeHead(statusCode).end('noted'));
  });
  afterAll(() => receiver.close());

  async function failedDelivery(of: Customer): Promise<string> {
    const callId = await api.endedCall(of, { webhookUrl: receiver.url });
    const at = new Date(Date.now() - 60_000);
    await service.database.webhookDeliveries.create({
      _id: callId,
      callId,
      accountId: of.account._id,
      mode: 'live',
      url: receiver.url,
      endpoint: webhookEndpoint(receiver.url),
      body: JSON.stringify({ call_id: callId }),
      createdAt: at,
      state: 'failed',
      lastAttemptAt: at,
      failedAt: at,
    });
    for (let number = 1; number <= 4; number++) {
      const result = { outcome: 'failed' as const, error: 'status', httpStatus: 500 };
      const row = { callId, number, startedAt: at, finishedAt: at, ...result };
      await service.database.webhookAttempts.create({ _id: `${callId}:${number}`, ...row });
    }
    return callId;
  }

  it('are listed and read with their attempts', async () => {
    const owner = await service.customer(0);
    const callId = await failedDelivery(owner);
    const list = listOf(await api.get('/webhook_deliveries?state=failed', owner.liveKey));
    expect(list.data).toMatchObject([
      { call_id: callId, webhook_id: `evt_${callId}_completed`, state: 'failed', attempts: 4, redeliveries: 0 },
    ]);
    expect(listOf(await api.get('/webhook_deliveries?state=delivered', owner.liveKey)).data).toEqual([]);
    const { json } = await api.get(`/webhook_deliveries/${callId}`, owner.liveKey);
    expect(json).toMatchObject({ body: JSON.stringify({ call_id: callId }), attempt_log: [{}, {}, {}, { number: 4 }] });
    for (const key of [owner.testKey, customer.liveKey]) {
      expectError(await api.get(`/webhook_deliveries/${callId}`, key), 404, 'NOT_FOUND');
      expectError(await api.post(`/webhook_deliveries/${callId}/redeliver`, key), 404, 'NOT_FOUND');
      const { data } = listOf(await api.get('/webhook_deliveries?limit=100', key));
      expect(data.map((delivery) => delivery['call_id'])).not.toContain(callId);
    }
  });

  it('show a first attempt without a row, and may be redelivered five minutes after it', async () => {
    const owner = await service.customer(0);
    const callId = await failedDelivery(owner);
    await service.database.webhookAttempts.deleteMany({ callId });
    const deliveries = service.database.webhookDeliveries;
    // Nothing listens there: the redelivery must not be received among those of other tests.
    await deliveries.updateOne({ _id: callId }, { $set: { url: 'http://127.0.0.1:9/done' } });
    const beganAt = async (firstAttemptAt: Date) =>
      deliveries.updateOne({ _id: callId }, { $set: { firstAttemptAt }, $unset: { state: '' } });
    await beganAt(new Date());
    const list = listOf(await api.get('/webhook_deliveries', owner.liveKey));
    expect(list.data).toMatchObject([{ call_id: callId, state: 'pending', attempts: 1 }]);
    const { json } = await api.get(`/webhook_deliveries/${callId}`, owner.liveKey);
    expect(json).toMatchObject({ attempts: 1, attempt_log: [{ number: 1, redelivery: 0 }] });
    expect((await api.get(`/calls/${callId}`, owner.liveKey)).json).toMatchObject({
      webhook_attempts: [{ number: 1 }],
    });
    expectError(await api.post(`/webhook_deliveries/${callId}/redeliver`, owner.liveKey), 409, 'CONFLICT');
    await beganAt(new Date(Date.now() - 6 * 60_000));
    const redelivered = await api.post(`/webhook_deliveries/${callId}/redeliver`, owner.liveKey);
    expect(redelivered.json).toEqual({ call_id: callId, redelivery: 1 });
  });

  it('are listed with their calls, which only their account and mode see, and without the numbers of erased ones', async () => {
    const owner = await service.customer(0);
    const callId = await failedDelivery(owner);
    const callIn = async (of: Customer, id: string) => {
      const { data } = listOf(await api.get('/webhook_deliveries?limit=100', of.liveKey));
      return data.find((delivery) => delivery['call_id'] === id)?.['call'];
    };
    const call = {
      status: 'COMPLETED',
      call_direction: 'outbound',
      from_phone_number: '+12025550199',
      to_phone_number: '+12025550100',
      agent_name: owner.agent.name,
    };
    expect(await callIn(owner, callId)).toEqual(call);

    // A call of another account or mode is not shown, whatever the delivery says.
    const foreign = await failedDelivery(customer);
    await service.database.webhookDeliveries.updateOne({ _id: foreign }, { $set: { accountId: owner.account._id } });
    const ofTest = await api.endedCall(owner, { mode: 'test' });
    await service.database.webhookDeliveries.create({
      _id: ofTest,
      callId: ofTest,
      accountId: owner.account._id,
      mode: 'live',
      url: receiver.url,
      body: '{}',
      createdAt: new Date(),
    });
    const { data } = listOf(await api.get('/webhook_deliveries', owner.liveKey));
    expect(data.map(({ call_id: id, call: shown }) => [id, shown === undefined])).toEqual(
      expect.arrayContaining([
        [callId, false],
        [foreign, true],
        [ofTest, true],
      ]),
    );

    expect((await api.post(`/calls/${callId}/erase`, owner.liveKey)).status).toBeLessThan(300);
    await eventually(async () => ((await callIn(owner, callId)) as typeof call).to_phone_number === '');
    const { agent_name: _erased, ...kept } = call;
    expect(await callIn(owner, callId)).toEqual({ ...kept, from_phone_number: '', to_phone_number: '' });
  });

  it('take one read of calls by their ids for a page', async () => {
    const owner = await service.customer(0);
    for (let count = 0; count < 3; count++) await failedDelivery(owner);
    const find = jest.spyOn(service.database.calls, 'find');
    listOf(await api.get('/webhook_deliveries', owner.liveKey));
    // Requests of other tests that wait for calls read calls, too, but do not name an account.
    const filters = find.mock.calls.map(([filter]) => Object.keys(filter ?? {}));
    expect(filters.filter((keys) => keys.includes('accountId'))).toEqual([['_id', 'accountId', 'mode']]);
    find.mockRestore();
  });

  it('make an endpoint failing until one succeeds, visible to their account and mode only', async () => {
    const owner = await service.customer(0);
    expect((await api.get('/failing_webhooks', owner.liveKey)).json).toEqual({ data: [] });
    const failed: string[] = [];
    for (let count = 0; count < 20; count++) failed.push(await failedDelivery(owner));
    const [first = ''] = failed;
    const endpoint = receiver.url.replace(/\?.*/, '');
    expect((await api.get('/failing_webhooks', owner.liveKey)).json).toEqual({
      data: [
        {
          url: endpoint,
          since: expect.any(String),
          failed_deliveries: 20,
          last_failed_at: expect.any(String),
          last_call_id: expect.stringMatching(/^call_/),
          last_error: 'status',
          last_http_status: 500,
        },
      ],
    });
    for (const key of [owner.testKey, customer.liveKey]) {
      expect((await api.get('/failing_webhooks', key)).json).toEqual({ data: [] });
    }
    statusCode = 200;
    await api.post(`/webhook_deliveries/${first}/redeliver`, owner.liveKey);
    await eventually(async () => {
      const { json } = await api.get('/failing_webhooks', owner.liveKey);
      return (json['data'] as object[]).length === 0;
    });
  });

  it('are repeated on request: same bytes and id, new attempts, one at a time', async () => {
    const callId = await failedDelivery(customer);
    statusCode = 503;
    const path = `/webhook_deliveries/${callId}`;
    const before = receiver.received.length;
    const answers = await Promise.all([1, 2, 3].map(() => api.post(`${path}/redeliver`, customer.liveKey)));
    for (const { json } of answers) expect(json).toEqual({ call_id: callId, redelivery: 1 });
    await eventually(async () => receiver.received.length > before);
    statusCode = 200;
    const delivered = await eventually(async () => {
      const { json } = await api.get(path, customer.liveKey);
      return json['state'] === 'delivered' && json;
    });
    expect(delivered).toMatchObject({ redeliveries: 1, attempts: 6 });
    expect((delivered['attempt_log'] as object[]).slice(4)).toMatchObject([
      { number: 5, redelivery: 1, outcome: 'failed', http_status: 503 },
      { number: 6, redelivery: 1, outcome: 'delivered' },
    ]);
    const [first, second] = receiver.received.slice(before);
    expect(first?.body).toBe(JSON.stringify({ call_id: callId }));
    expect(second?.body).toBe(first?.body);
    expect(first?.headers['webhook-id']).toBe(`evt_${callId}_completed`);
    expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id']);
    expect((await api.post(`${path}/redeliver`, customer.liveKey)).json).toEqual({ call_id: callId, redelivery: 2 });
  });

  it('cannot be repeated while the first delivery continues', async () => {
    const callId = await failedDelivery(customer);
    await service.database.webhookAttempts.deleteOne({ _id: `${callId}:4` });
    const now = new Date();
    await service.database.webhookAttempts.updateMany({ callId }, { $set: { startedAt: now, finishedAt: now } });
    expectError(await api.post(`/webhook_deliveries/${callId}/redeliver`, customer.liveKey), 409, 'CONFLICT');
  });
});
