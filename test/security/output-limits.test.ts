import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { Agent } from 'undici';
import { createChatModel } from '../../src/voice/engines/pipeline/llm/chat-completions.js';
import { createChatClient } from '../../src/voice/models/chat-client.js';
import { placeRealtimeCall } from '../integration/voice/support/realtime-call';

const dispatcher = new Agent();
const requests: Record<string, unknown>[] = [];
/** The server rejects this field as unknown. */
let unknownField: string | undefined;
/** The error that OpenAI returns for a tool whose schema it cannot use. The error contains the name of the tool. */
const INVALID = { error: { type: 'invalid_request_error', param: 'tools[0].function.parameters' } };
const server = createServer((request, response) => {
  void text(request).then((body) => {
    const question = JSON.parse(body) as Record<string, unknown>;
    requests.push(question);
    const [tool] = (question['tools'] ?? []) as { function: { name: string } }[];
    if (tool !== undefined) {
      const message = `Invalid schema for function '${tool.function.name}': object schema missing properties.`;
      response.writeHead(400, { 'content-type': 'application/json' });
      return response.end(JSON.stringify({ error: { ...INVALID.error, message } }));
    }
    if (unknownField !== undefined && unknownField in question) {
      response.writeHead(422, { 'content-type': 'application/json' });
      return response.end(JSON.stringify({ detail: [{ type: 'extra_forbidden', loc: ['body', unknownField] }] }));
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
  requests.length = 0;
  unknownField = undefined;
});
afterAll(async () => {
  await dispatcher.destroy();
  server.closeAllConnections();
  server.close();
});

const signal = () => new AbortController().signal;

async function completionOf(model: ReturnType<typeof createChatModel>): Promise<string> {
  let said = '';
  for await (const delta of model.stream({ messages: [], tools: [], mayCallTools: true, signal: signal() }))
    if (delta.kind === 'text') said += delta.text;
  return said;
}

describe('the output of a model', () => {
  it('is limited for each response in a conversation', async () => {
    expect(await completionOf(createChatModel(account, { dispatcher }))).toBe('Yes.');
    expect(requests).toEqual([expect.objectContaining({ max_completion_tokens: 4_096 })]);
  });

  it('is limited for the conclusion of a call', async () => {
    await createChatClient(account).requestJson({ name: 'conclusion', schema: {}, messages: [], signal: signal() });
    expect(requests).toEqual([expect.objectContaining({ max_completion_tokens: 8_192 })]);
  });

  it('is limited by the older field if a server does not know the current one, without a failure in the conversation', async () => {
    unknownField = 'max_completion_tokens';
    const model = createChatModel(account, { dispatcher });
    expect(await completionOf(model)).toBe('Yes.');
    expect(await completionOf(model)).toBe('Yes.');
    expect(requests.map((question) => question['max_tokens'])).toEqual([undefined, 4_096, 4_096]);
    requests.length = 0;
    await createChatClient(account).requestJson({ name: 'conclusion', schema: {}, messages: [], signal: signal() });
    expect(requests.map((question) => question['max_tokens'])).toEqual([undefined, 8_192]);
  });

  it.each(['max_completion_tokens', 'max_tokens', 'reasoning_effort'])(
    'keeps the field that its server accepts when a tool of one account is rejected: a tool named %s',
    async (name) => {
      // The server acts as a reasoning model: of the two fields for the maximum number of tokens, it accepts only the
      // newer one, `max_completion_tokens`.
      unknownField = 'max_tokens';
      const model = createChatModel(account, { dispatcher });
      const tools = [{ name, description: 'Looks up.', parameters: { type: 'object' } }];
      const attack = model.stream({ messages: [], tools, mayCallTools: true, signal: signal() });
      await expect(attack[Symbol.asyncIterator]().next()).rejects.toThrow('responded with status 400');
      expect(await completionOf(model)).toBe('Yes.');
    },
  );

  it('finds the right field again when the server changes', async () => {
    const model = createChatModel(account, { dispatcher });
    for (const unknown of ['max_completion_tokens', 'max_tokens']) {
      unknownField = unknown;
      expect(await completionOf(model)).toBe('Yes.');
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
