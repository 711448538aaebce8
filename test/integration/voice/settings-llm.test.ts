import { Agent } from 'undici';
import type { ConversationSettings } from '../../../src/kernel/conversation/conversation-settings.js';
import { createLlm } from '../../../src/voice/engines/pipeline/providers/create-providers.js';
import { openFakeChat, type FakeChat } from './fakes/chat-completions';
import { openFakeResponses, type FakeResponses } from './fakes/responses';

const TOOLS = [{ name: 'look_up', description: 'Looks up.', parameters: { type: 'object', properties: {} } }];

describe.each(['openai', 'openai-responses'] as const)(
  'an agent’s settings on the wire to LLM_PROVIDER=%s',
  (provider) => {
    const dispatcher = new Agent();
    let chat: FakeChat;
    let responses: FakeResponses;
    let model: ReturnType<typeof createLlm>;
    beforeEach(async () => {
      chat = await openFakeChat();
      responses = await openFakeResponses(chat);
      const { port } = provider === 'openai' ? chat : responses;
      const baseUrl = `http://127.0.0.1:${port}/v1`;
      model = createLlm({ provider, baseUrl, apiKey: 'llm-key', model: 'gpt-6-luna' }, { dispatcher });
    });
    afterEach(async () => {
      await responses.close();
      await chat.close();
    });
    afterAll(() => dispatcher.destroy());

    /** Asks for a reply. @returns the accepted body, and the settings that were ignored */
    async function ask(settings: ConversationSettings, tools = TOOLS) {
      const ignored = new Set<string>();
      const request = { messages: [{ role: 'user', content: 'Hello.' } as const], tools, mayCallTools: true, settings };
      const { signal } = new AbortController();
      const onIgnored = (names: readonly string[]) => names.forEach((name) => ignored.add(name));
      let text = '';
      for await (const delta of model.stream({ ...request, signal, onIgnored }))
        if (delta.kind === 'text') text += delta.text;
      expect(text).toBe('I see.');
      const body = (provider === 'openai' ? chat.requests : responses.requests).at(-1) as Record<string, unknown>;
      const { reasoning, ...fields } = body as { reasoning?: { effort: string } };
      const effort = provider === 'openai' ? body['reasoning_effort'] : reasoning?.effort;
      return { model: body['model'], temperature: body['temperature'], effort, ignored: [...ignored], fields };
    }

    const rejections = () => chat.rejected.length + responses.invalid.length;

    it('sends the service’s model without settings', async () => {
      expect(await ask({})).toMatchObject({ model: 'gpt-6-luna', effort: 'none', temperature: undefined, ignored: [] });
    });

    it('sends the agent’s model and temperature', async () => {
      const asked = await ask({ model: 'gpt-4.1', temperature: 0.3 });
      expect(asked).toMatchObject({ model: 'gpt-4.1', temperature: 0.3, effort: undefined, ignored: [] });
      expect(rejections()).toBe(0);
    });

    it('sends the reasoning effort', async () => {
      const asked = await ask({ reasoningEffort: 'low' }, provider === 'openai' ? [] : TOOLS);
      expect(asked).toMatchObject({ model: 'gpt-6-luna', effort: 'low', ignored: [] });
      expect(rejections()).toBe(0);
    });

    it('leaves out a temperature that the model rejects, and does not send it again', async () => {
      for (let times = 0; times < 2; times += 1) {
        expect(await ask({ model: 'gpt-5', temperature: 0.3 })).toMatchObject({
          temperature: undefined,
          ignored: ['temperature'],
        });
      }
      expect(rejections()).toBe(1);
      expect(await ask({ temperature: 0.3 })).toMatchObject({ temperature: 0.3, ignored: [] });
    });

    it('leaves out a reasoning effort that the model rejects', async () => {
      expect(await ask({ model: 'gpt-4.1', reasoningEffort: 'high' })).toMatchObject({
        effort: undefined,
        ignored: ['reasoningEffort'],
      });
    });
  },
);
