import { createCompletionSender } from '../../src/calls/wiring.js';
import { Webhook } from 'standardwebhooks';
import { createLogger } from '../../src/platform/telemetry/logger.js';
import { startService, type Customer, type Service } from '../support/http/harness.js';
import { managementOf } from '../support/http/management-support.js';
import { startReceiver, type Receiver } from '../integration/webhooks/support/receiver.js';

let service: Service;
let ask: ReturnType<typeof managementOf>;
let customer: Customer;
let receiver: Receiver;

beforeAll(async () => {
  service = await startService({ worker: false });
  ask = managementOf(service);
  receiver = await startReceiver((response) => response.writeHead(200).end());
  customer = await service.customer(0);
});
afterAll(async () => {
  await receiver.close();
  await service.close();
});

async function attempt(callId: string, redelivery = 0) {
  const logger = createLogger({ role: 'test', level: 'silent' });
  const sender = createCompletionSender({ config: service.config, database: service.database, logger });
  await expect(sender.attempt(callId, redelivery)).resolves.toEqual({ result: 'delivered' });
  const { headers, body } = receiver.received.at(-1) ?? { headers: {}, body: '' };
  return { body, headers: headers as Record<string, string> };
}

describe('a completion webhook of a test call cannot pass for one of a live call', () => {
  it.each(['live', 'test'] as const)('the %s mode is in a header and in the signed body', async (mode) => {
    const rotated = await ask.post('/webhook_signing/rotate', customer.liveKey, {});
    const callId = await ask.endedCall(customer, { webhookUrl: receiver.url, mode });
    const { headers, body } = await attempt(callId);
    expect(headers['webhook-mode']).toBe(mode);
    expect(JSON.parse(body)).toMatchObject({ call_id: callId, mode });
    const webhook = new Webhook(String(rotated.json['secret']));
    expect(webhook.verify(body, headers)).toMatchObject({ mode });
    const other = body.replace(`"mode":"${mode}"`, `"mode":"${mode === 'live' ? 'test' : 'live'}"`);
    expect(other).not.toBe(body);
    expect(() => webhook.verify(other, headers)).toThrow('No matching signature');
  });

  it('an event that was stored without its mode is sent again with the same bytes', async () => {
    const callId = await ask.endedCall(customer, { webhookUrl: receiver.url });
    await attempt(callId);
    const { collection } = service.database.webhookDeliveries;
    const stored = '{"call_id":"as it was"}';
    await collection.updateOne({ _id: callId as never }, { $set: { body: stored } });
    expect((await attempt(callId, 1)).body).toBe(stored);
  });
});
