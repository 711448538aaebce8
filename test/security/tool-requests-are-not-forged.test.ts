import { createHash, createHmac } from 'node:crypto';
import { Webhook, WebhookVerificationError } from 'standardwebhooks';
import { parseConfig } from '../../src/platform/config/config.js';
import { createAccounts } from '../../src/identity/accounts/accounts.js';
import { createWebhookSecrets } from '../../src/webhooks/signing/secrets.js';
import { eventually, openMediaFixture, type MediaFixture } from '../integration/voice/support/media-fixture';
import { createScriptedEngine, type ScriptedCall } from '../integration/voice/support/scripted-engine';
import { startReceiver, type Receiver } from '../integration/webhooks/support/receiver';

const engine = createScriptedEngine();
let media: MediaFixture;
let receiver: Receiver;
let base = '';

beforeAll(async () => {
  media = await openMediaFixture({ engine: engine.factory });
  receiver = await startReceiver((response) => response.end('{}'));
  base = new URL(receiver.url).origin;
});
afterAll(async () => {
  await receiver.close();
  await media.close();
});

/** Returns the request that the customer's server gets when a tool is used in a call of the account. */
async function requestOf(accountId: string, method: 'GET' | 'POST', given: Record<string, unknown>) {
  const tool = {
    name: 'look_up',
    description: 'Looks up an order.',
    method,
    url: `${base}/orders?shop=7#part`,
    parameters: '{"type":"object","properties":{"order":{"type":"string"}}}',
  };
  const placed = await media.placeCall({ accountId, agent: { tools: [tool] } });
  const line = await media.openLine(placed);
  await eventually(() => engine.calls.has(placed.callId));
  const { sink } = engine.calls.get(placed.callId) as ScriptedCall;
  expect(await sink.runTool({ name: 'look_up', arguments: given })).toMatchObject({ ok: true });
  line.hangUp();
  await line.closed;
  const request = receiver.received.at(-1);
  if (request === undefined) throw new Error('Nothing was received.');
  return { callId: placed.callId, ...request, headers: request.headers as Record<string, string> };
}

const newAccount = async () => (await createAccounts(media.database).create({ name: 'Acme' }))._id;
const secretsOf = async (accountId: string) => {
  const secrets = createWebhookSecrets({ database: media.database, config: parseConfig({}) });
  const { secret, toolSecrets } = await secrets.rotate(accountId, 0);
  const verifierOf = (text: string) => new Webhook(text);
  return {
    secret,
    toolSecrets,
    completion: verifierOf(secret),
    live: verifierOf(toolSecrets.live),
    test: verifierOf(toolSecrets.test),
  };
};

/**
 * Returns the pattern of the id in a tool's request. The id depends on the URL, so no other server of the account
 * accepts it.
 */
function idOf(callId: string, path: string): RegExp {
  const digest = createHash('sha256').update(`${base}${path}`).digest('base64url');
  return new RegExp(`^tool_${callId}_[0-9A-Z]{26}_${digest}$`);
}

describe('a tool request', () => {
  it('is signed with its body and with its URL', async () => {
    const accountId = await newAccount();
    const { live } = await secretsOf(accountId);
    const { body, headers, path, callId } = await requestOf(accountId, 'POST', { order: 'A-7' });
    expect(live.verify(body, headers)).toEqual({ order: 'A-7' });
    expect(headers['webhook-id']).toMatch(idOf(callId, path));
    expect(() => live.verify('{"order":"A-8"}', headers)).toThrow(WebhookVerificationError);
  });

  it('is signed with its URL if it has no body', async () => {
    const accountId = await newAccount();
    const { live } = await secretsOf(accountId);
    const { body, headers, path, callId } = await requestOf(accountId, 'GET', { order: 'A/7' });
    expect(body).toBe('');
    live.verify(body, headers);
    expect(headers['webhook-id']).toMatch(idOf(callId, path));
    expect(() => live.verify(body, { ...headers, 'webhook-id': 'tool_other' })).toThrow(WebhookVerificationError);
  });

  it('cannot pass for a webhook, nor for a request of a test call', async () => {
    const accountId = await newAccount();
    const { completion, live, test } = await secretsOf(accountId);
    const { body, headers } = await requestOf(accountId, 'POST', { order: 'A-7' });
    expect(headers['x-callwright-mode']).toBe('live');
    expect(() => live.verify(body, headers)).not.toThrow();
    for (const other of [completion, test]) {
      expect(() => other.verify(body, headers)).toThrow(WebhookVerificationError);
    }
  });

  it('is signed with keys that the owner of an earlier secret can derive as documented', async () => {
    const { secret, toolSecrets } = await secretsOf(await newAccount());
    const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
    for (const mode of ['live', 'test'] as const) {
      const derived = createHmac('sha256', key).update(`callwright tools ${mode}`).digest('base64');
      expect(toolSecrets[mode]).toBe(`whsec_${derived}`);
    }
  });

  it('has no signature while signing is off for the account', async () => {
    const { headers } = await requestOf(await newAccount(), 'POST', { order: 'A-7' });
    expect(headers).not.toHaveProperty('webhook-signature');
  });
});
