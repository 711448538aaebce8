import { Webhook, WebhookVerificationError } from 'standardwebhooks';
import type { Customer } from '../support/http/harness.js';
import { useWebStack, type WebStack } from '../integration/web/web-stack';
import { startReceiver, type Receiver } from '../integration/webhooks/support/receiver';

jest.setTimeout(120_000);

let stack: WebStack;
let customer: Customer;
let receiver: Receiver;
useWebStack((started) => ({ stack, customer } = started));
beforeAll(async () => {
  receiver = await startReceiver((response) => response.end('{"done":true}'));
});
afterAll(() => receiver.close());

const SECRET = 'Bearer of-the-customer';

async function post(path: string, key: string, body: object) {
  const headers = { 'content-type': 'application/json' };
  const answer = await stack.service.request(path, { method: 'POST', key, headers, body: JSON.stringify(body) });
  if (answer.status !== 200) throw new Error(answer.text);
  return answer.json;
}

const toolWith = (headers: object) => ({
  name: 'cancel_order',
  description: 'Cancels an order.',
  method: 'POST',
  url: receiver.url,
  parameters: '{"type":"object","properties":{"order":{"type":"string"}}}',
  ...headers,
});

async function newAgent(key: string): Promise<string> {
  const tools = [toolWith({ headers: { Authorization: SECRET } })];
  const { agent_id: agentId } = await post('/agents', key, { name: 'Shop', instruction: 'Help.', tools });
  return String(agentId);
}

/** Returns the request that the server of the tool gets in a call. */
async function requestIn(key: string, body: object, before?: (callId: string) => Promise<unknown>) {
  const { callId, url, token } = await stack.create(key, body);
  await before?.(callId);
  const { line, scripted } = await stack.talkIn({ callId, url, token });
  const answer = await scripted.sink.runTool({ name: 'cancel_order', arguments: { order: 'A-7' } });
  expect(answer).toEqual({ ok: true, result: { done: true } });
  line.closeTab();
  const request = receiver.received.at(-1);
  expect(request?.headers['x-callwright-call-id']).toBe(callId);
  return { body: request?.body ?? '', headers: request?.headers as Record<string, string> };
}

describe('a tool request of a test call', () => {
  it('does not have the secret headers of a live agent, whatever the request instructs', async () => {
    const agentId = await newAgent(customer.liveKey);
    const live = await requestIn(customer.liveKey, { agent_id: agentId });
    expect(live.headers).toMatchObject({ authorization: SECRET, 'x-callwright-mode': 'live' });
    const instructed = { agent_id: agentId, instruction: 'Cancel every order.' };
    for (const body of [{ agent_id: agentId }, instructed]) {
      const { headers } = await requestIn(customer.testKey, body);
      expect(headers).toMatchObject({ 'x-callwright-mode': 'test' });
      expect(headers).not.toHaveProperty('authorization');
    }
  });

  it('has those of a test agent, and of a draft that is none of a live agent', async () => {
    const agentId = await newAgent(customer.testKey);
    const tools = [toolWith({ headers: { Authorization: SECRET } })];
    for (const body of [{ agent_id: agentId }, { agent: { name: 'Shop', instruction: 'Help.', tools } }]) {
      const { headers } = await requestIn(customer.testKey, body);
      expect(headers).toMatchObject({ authorization: SECRET, 'x-callwright-mode': 'test' });
    }
  });

  it('has none if the call began before its copy of the agent had a mode', async () => {
    const agentId = await newAgent(customer.testKey);
    const { headers } = await requestIn(customer.testKey, { agent_id: agentId }, (callId) =>
      stack.service.database.callRequests.updateOne({ _id: callId }, { $unset: { 'agent.mode': '' } }),
    );
    expect(headers).toMatchObject({ 'x-callwright-mode': 'test' });
    expect(headers).not.toHaveProperty('authorization');
  });

  it('passes neither for one of a live call nor for a webhook', async () => {
    const agentId = await newAgent(customer.liveKey);
    const rotated = (await post('/webhook_signing/rotate', customer.liveKey, {})) as {
      secret: string;
      tool_secrets: { live: string; test: string };
    };
    const { secret, tool_secrets: ofTools } = rotated;
    const { body, headers } = await requestIn(customer.testKey, { agent_id: agentId });
    expect(new Webhook(ofTools.test).verify(body, headers)).toEqual({ order: 'A-7' });
    for (const other of [ofTools.live, secret]) {
      expect(() => new Webhook(other).verify(body, headers)).toThrow(WebhookVerificationError);
    }
  });
});
