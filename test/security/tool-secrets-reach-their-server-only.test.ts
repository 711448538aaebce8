import { parseConfig } from '../../src/platform/config/config.js';
import { createAccounts } from '../../src/identity/accounts/accounts.js';
import { createSecretBox } from '../../src/platform/secrets/secret-box.js';
import { storedTools } from '../../src/agents/tool-headers.js';
import { eventually, openMediaFixture, type MediaFixture } from '../integration/voice/support/media-fixture';
import { createScriptedEngine, type ScriptedCall } from '../integration/voice/support/scripted-engine';
import { startReceiver, type Receiver } from '../integration/webhooks/support/receiver';

const SECRET = 'Bearer s3cret"of\\the-customer';
const engine = createScriptedEngine();
/** If set, the server sends these responses in place of its usual one. */
const replies: string[] = [];
let media: MediaFixture;
let receiver: Receiver;

beforeAll(async () => {
  media = await openMediaFixture({ engine: engine.factory });
  // The response contains the request, because some servers return what they received.
  receiver = await startReceiver((response, { headers }) =>
    response.end(replies.shift() ?? JSON.stringify({ headers, plain: SECRET })),
  );
});
afterAll(async () => {
  await receiver.close();
  await media.close();
});

async function useTool() {
  const accountId = (await createAccounts(media.database).create({ name: 'Acme' }))._id;
  const tool = {
    name: 'look_up',
    description: 'Looks up an order.',
    method: 'POST' as const,
    url: receiver.url,
    parameters: '{"type":"object","properties":{}}',
    headers: { Authorization: SECRET },
  };
  const box = createSecretBox(parseConfig({}).encryptionKeys);
  const tools = storedTools({ tools: [tool], present: [], accountId, box });
  const placed = await media.placeCall({ accountId, agent: { tools } });
  const line = await media.openLine(placed);
  await eventually(() => engine.calls.has(placed.callId));
  const { sink, call } = engine.calls.get(placed.callId) as ScriptedCall;
  const answer = await sink.runTool({ name: 'look_up', arguments: {} });
  line.hangUp();
  await line.closed;
  return { answer, call };
}

describe('a secret header of a tool', () => {
  it('reaches the server of the tool, but neither the engine nor the model', async () => {
    const { answer, call } = await useTool();
    expect(receiver.received.at(-1)?.headers.authorization).toBe(SECRET);
    expect(answer).toMatchObject({
      ok: true,
      result: { plain: '[redacted]', headers: { authorization: '[redacted]' } },
    });
    const seen = JSON.stringify([answer, call]);
    expect(seen).not.toContain('s3cret');
    expect(seen).not.toContain('sealed');
  });

  it('is removed from a response that writes its characters as other escapes', async () => {
    const escaped = Array.from(SECRET, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`).join('');
    replies.push(`{"plain":"${escaped}","days":2}`);
    const { answer } = await useTool();
    expect(answer).toEqual({ ok: true, result: { plain: '[redacted]', days: 2 } });
  });

  it.each([
    ['crosses the end of what the model reads', 'x'.repeat(8_192 - 16) + SECRET],
    ['crosses it only after earlier ones were removed', SECRET.repeat(400)],
    ['follows many others', `${SECRET.repeat(300)}${'x'.repeat(8_192 - 300 * '[redacted]'.length - 16)}${SECRET}`],
  ])('is removed from a response where it %s', async (_where, reply) => {
    replies.push(reply);
    const { answer } = await useTool();
    expect(answer.ok).toBe(true);
    expect(JSON.stringify(answer)).not.toContain('s3c');
    expect(JSON.stringify(answer)).toContain('[reda');
  });
});
