import { createCompletionSender } from '../../../src/calls/wiring.js';
import { Webhook } from 'standardwebhooks';
import { createLogger } from '../../../src/platform/telemetry/logger.js';
import { expectError, startService, type Customer, type Service } from '../../support/http/harness.js';
import { managementOf } from '../../support/http/management-support.js';
import { startReceiver, type Receiver } from './support/receiver.js';

let service: Service;
let api: ReturnType<typeof managementOf>;
let customer: Customer;
let receiver: Receiver;

beforeAll(async () => {
  service = await startService({ worker: false });
  api = managementOf(service);
  receiver = await startReceiver((response) => response.writeHead(200).end());
});
afterAll(async () => {
  await receiver.close();
  await service.close();
});
beforeEach(async () => {
  customer = await service.customer(0);
});

async function deliver() {
  const callId = await api.endedCall(customer, { webhookUrl: receiver.url });
  const logger = createLogger({ role: 'test', level: 'silent' });
  const sender = createCompletionSender({ config: service.config, database: service.database, logger });
  await expect(sender.attempt(callId)).resolves.toEqual({ result: 'delivered' });
  const { headers, body } = receiver.received.at(-1) ?? { headers: {}, body: '' };
  return { callId, body, headers: headers as Record<string, string> };
}

async function rotate(body: object = {}): Promise<string> {
  const { status, json } = await api.post('/webhook_signing/rotate', customer.liveKey, body);
  expect(status).toBe(200);
  return String(json['secret']);
}

describe('Standard Webhooks signing', () => {
  it('is off by default', async () => {
    expect((await api.get('/webhook_signing', customer.liveKey)).json).toEqual({ enabled: false, secrets: [] });
    expect((await deliver()).headers).not.toHaveProperty('webhook-signature');
  });

  it('is verified by the public library, which rejects changed bytes, another secret and another id', async () => {
    const secret = await rotate();
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    const { callId, headers, body } = await deliver();
    expect(headers['webhook-id']).toBe(`evt_${callId}_completed`);
    const webhook = new Webhook(secret);
    expect(webhook.verify(body, headers)).toMatchObject({ call_id: callId });
    expect(() => webhook.verify(`${body} `, headers)).toThrow('No matching signature');
    expect(() => webhook.verify(body, { ...headers, 'webhook-id': 'evt_x' })).toThrow('No matching signature');
    const other = `whsec_${Buffer.alloc(32, 1).toString('base64')}`;
    expect(() => new Webhook(other).verify(body, headers)).toThrow('No matching signature');
  });

  it('uses both secrets while one is replaced, and only the new one afterwards', async () => {
    const [first, second] = [await rotate(), await rotate({ overlap_hours: 1 })];
    const { json } = await api.get('/webhook_signing', customer.liveKey);
    expect(json).toMatchObject({ enabled: true, secrets: [{}, { expires_at: expect.any(String) }] });
    const during = await deliver();
    expect(during.headers['webhook-signature']?.split(' ')).toHaveLength(2);
    for (const secret of [first, second]) new Webhook(secret).verify(during.body, during.headers);
    const past = { $set: { 'webhookSecrets.1.expiresAt': new Date(Date.now() - 1) } };
    await service.database.accounts.updateOne({ _id: customer.account._id }, past);
    const after = await deliver();
    new Webhook(second).verify(after.body, after.headers);
    expect(() => new Webhook(first).verify(after.body, after.headers)).toThrow('No matching signature');
  });

  it('ends the old secret at once without overlap', async () => {
    const [first, second] = [await rotate(), await rotate({ overlap_hours: 0 })];
    const { body, headers } = await deliver();
    new Webhook(second).verify(body, headers);
    expect(() => new Webhook(first).verify(body, headers)).toThrow('No matching signature');
  });

  it('keeps the secrets of concurrent rotations', async () => {
    await rotate();
    const secrets = await Promise.all([rotate({ overlap_hours: 1 }), rotate({ overlap_hours: 1 })]);
    const { body, headers } = await deliver();
    for (const secret of secrets) expect(() => new Webhook(secret).verify(body, headers)).not.toThrow();
  });

  it('can be turned off', async () => {
    await rotate();
    const off = await api.delete('/webhook_signing', customer.liveKey);
    expect(off.json).toEqual({ enabled: false, secrets: [] });
    expect((await deliver()).headers).not.toHaveProperty('webhook-signature');
    await rotate();
  });

  it('stores its secrets encrypted and shows them once', async () => {
    const { json } = await api.post('/webhook_signing/rotate', customer.liveKey, {});
    const ofTools = json['tool_secrets'] as Record<string, string>;
    const secrets = [String(json['secret']), ofTools['live'] ?? '', ofTools['test'] ?? ''];
    expect(new Set(secrets).size).toBe(3);
    const stored = JSON.stringify(await service.database.accounts.findById(customer.account._id).lean());
    for (const secret of secrets) {
      expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
      expect(stored).not.toContain(secret.slice('whsec_'.length));
    }
    expect((await api.get('/webhook_signing', customer.liveKey)).text).not.toContain('whsec_');
    expect((await api.get('/audit_log', customer.liveKey)).text).not.toContain('whsec_');
  });

  it('rejects an invalid overlap and test keys', async () => {
    for (const hours of [-1, 169, '24']) {
      const answer = await api.post('/webhook_signing/rotate', customer.liveKey, { overlap_hours: hours });
      expectError(answer, 400, 'MISSING_PARAMS', /overlap_hours/);
    }
    expectError(await api.post('/webhook_signing/rotate', customer.testKey, {}), 403, 'FORBIDDEN');
    expectError(await api.delete('/webhook_signing', customer.testKey), 403, 'FORBIDDEN');
  });
});
