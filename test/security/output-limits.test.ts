import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { Agent } from 'undici';
import { createChatModel } from '../../src/voice/engines/pipeline/llm/chat-completions.js';
import { askForJson } from '../../src/voice/models/chat-client.js';
import { placeRealtimeCall } from '../integration/voice/support/realtime-call';

const dispatcher = new Agent();
const asked: Record<string, unknown>[] = [];
/** A field that the server does not know. */
let refused: string | undefined;
/** A function that the server refuses by name, as OpenAI does with a schema that it cannot use. */
const INVALID = { error: { type: 'invalid_request_error', param: 'tools[0].function.parameters' } };
const server = createServer((request, response) => {
  void text(request).then((body) => {
    const question = JSON.parse(body) as Record<string, unknown>;
    asked.push(question);
    const [tool] = (question['tools'] ?? []) as { function: { name: string } }[];
    if (tool !== undefined) {
      const message = `Invalid schema for function '${tool.function.name}': object schema missing properties.`;
      response.writeHead(400, { 'content-type': 'application/json' });
      return response.end(JSON.stringify({ error: { ...INVALID.error, message } }));
    }
    if (refused !== undefined && refused in question) {
      response.writeHead(422, { 'content-type': 'application/json' });
      return response.end(JSON.stringify({ detail: [{ type: 'extra_forbidden', loc: ['body', refused] }] }));
    }
    if (question['stream'] !== true) return response.end(JSON.stringify({ choices: [{ message: { content: '{}' } }] }));
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const choice = { delta: { content: 'Yes.' }, finish_reason: 'stop' };
    return response.end(`data: ${JSON.stringify({ choices: [choice] })}\n\ndata: [DONE]\n\n`);
  });
});
let account: { baseUrl: string; apiKey: string; model: string };

beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  account = { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, apiKey: 'k', model: 'm' };
});
beforeEach(() => {
  asked.length = 0;
  refused = undefined;
});
afterAll(async () => {
  await dispatcher.destroy();
  server.closeAllConnections();
  server.close();
});

const signal = () => new AbortController().signal;

async function answerOf(model: ReturnType<typeof createChatModel>): Promise<string> {
  let said = '';
  for await (const delta of model.stream({ messages: [], tools: [], mayCallTools: true, signal: signal() }))
    if (delta.kind === 'text') said += delta.text;
  return said;
}

describe('what a model may write at the operator’s cost', () => {
  it('is limited for each answer of a talk', async () => {
    expect(await answerOf(createChatModel(account, { dispatcher }))).toBe('Yes.');
    expect(asked).toEqual([expect.objectContaining({ max_completion_tokens: 4_096 })]);
  });

  it('is limited for the conclusion of a call', async () => {
    await askForJson(account, { name: 'conclusion', schema: {}, messages: [], signal: signal() });
    expect(asked).toEqual([expect.objectContaining({ max_completion_tokens: 8_192 })]);
  });

  it('is limited by the older name where a server does not know the present one, without a fault in the talk', async () => {
    refused = 'max_completion_tokens';
    const model = createChatModel(account, { dispatcher });
    expect(await answerOf(model)).toBe('Yes.');
    expect(await answerOf(model)).toBe('Yes.');
    expect(asked.map((question) => question['max_tokens'])).toEqual([undefined, 4_096, 4_096]);
    asked.length = 0;
    await askForJson(account, { name: 'conclusion', schema: {}, messages: [], signal: signal() });
    expect(asked.map((question) => question['max_tokens'])).toEqual([undefined, 8_192]);
  });

  it.each(['max_completion_tokens', 'max_tokens'])(
    'keeps the name that its server takes when a tool of one account is refused: a tool named %s',
    async (name) => {
      // A model that thinks: it takes the present name only.
      refused = 'max_tokens';
      const model = createChatModel(account, { dispatcher });
      const tools = [{ name, description: 'Looks up.', parameters: { type: 'object' } }];
      const attack = model.stream({ messages: [], tools, mayCallTools: true, signal: signal() });
      await expect(attack[Symbol.asyncIterator]().next()).rejects.toThrow('answered 400');
      expect(await answerOf(model)).toBe('Yes.');
    },
  );

  it('finds the name again when the server changes', async () => {
    const model = createChatModel(account, { dispatcher });
    for (const unknown of ['max_completion_tokens', 'max_tokens']) {
      refused = unknown;
      expect(await answerOf(model)).toBe('Yes.');
    }
  });

  it('is limited for each response of the realtime engine', async () => {
    const call = await placeRealtimeCall();
    try {
      await call.greeted();
      expect(call.sent('session.update')[0]?.session).toMatchObject({ max_output_tokens: 3_000 });
    } finally {
      await call.close();
    }
  });
});
