import { Agent } from 'undici';
import { createLlm } from '../../../src/voice/engines/pipeline/providers/create-providers.js';
import { openLoopback } from './fakes/loopback';

/** The parts of a request that this test checks. */
interface Seen {
  url: string | undefined;
  authorization: string | undefined;
}

describe('an LLM provider', () => {
  const dispatcher = new Agent();
  afterAll(() => dispatcher.destroy());

  /** Requests a reply from a server on loopback, and returns its words and what the server saw. */
  async function ask(path: string, apiKey: string): Promise<{ seen: Seen[]; words: string }> {
    const seen: Seen[] = [];
    const server = await openLoopback({
      onRequest(request, response) {
        seen.push({ url: request.url, authorization: request.headers.authorization });
        request.resume();
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.end('data: {"choices":[{"delta":{"content":"Hello."},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n');
      },
    });
    const baseUrl = `http://127.0.0.1:${server.port}${path}`;
    const model = createLlm({ provider: 'openai', baseUrl, apiKey, model: 'deployment' }, { dispatcher });
    let words = '';
    const { signal } = new AbortController();
    for await (const delta of model.stream({ messages: [], tools: [], mayCallTools: true, signal })) {
      if (delta.kind === 'text') words += delta.text;
    }
    await server.close();
    return { seen, words };
  }

  // Azure's v1 address needs no `api-version`, and OpenAI's client sends the resource's key as a bearer token:
  // https://learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle, section "Code changes".
  it('is reached on Azure by its v1 address, with the key as a bearer token', async () => {
    expect(await ask('/openai/v1', 'azure-key')).toEqual({
      seen: [{ url: '/openai/v1/chat/completions', authorization: 'Bearer azure-key' }],
      words: 'Hello.',
    });
  });

  it('gets no key if it needs none', async () => {
    const { seen } = await ask('/v1/', '');
    expect(seen).toEqual([{ url: '/v1/chat/completions', authorization: undefined }]);
  });
});
