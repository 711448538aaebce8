import { Agent } from 'undici';
import { createLlm } from '../../../src/voice/engines/pipeline/providers/create-providers.js';
import {
  HealthyProviderError,
  ProviderError,
  SilentProviderError,
  UnclearProviderError,
  type ChatDelta,
  type ChatMessage,
} from '../../../src/voice/engines/pipeline/ports.js';
import { openFakeChat, type FakeChat } from './fakes/chat-completions';
import { openFakeResponses, type FakeResponses } from './fakes/responses';

const TEXT = 'It is tomorrow at ten.';
const ASKED: ChatMessage[] = [{ role: 'user', content: 'When is it?' }];

describe('the stream of a language model', () => {
  const dispatcher = new Agent();
  let chat: FakeChat;
  let responses: FakeResponses;
  beforeEach(async () => {
    chat = await openFakeChat();
    chat.otherwise = () => ({ says: TEXT });
    responses = await openFakeResponses(chat);
  });
  afterEach(async () => {
    await responses.close();
    await chat.close();
  });
  afterAll(() => dispatcher.destroy());

  /** Asks a model. @returns the text, and the error that ended the stream */
  async function ask(
    provider: 'openai' | 'openai-responses',
    p: { timeoutMs?: number; firstWithinMs?: number; messages?: ChatMessage[] } = {},
  ) {
    const { messages = ASKED, ...limits } = p;
    const { port } = provider === 'openai' ? chat : responses;
    const account = { provider, baseUrl: `http://127.0.0.1:${port}/v1`, apiKey: 'llm-key', model: 'gpt-6-luna' };
    const deltas: ChatDelta[] = [];
    let error: unknown;
    const { signal } = new AbortController();
    try {
      const model = createLlm(account, { dispatcher, ...limits });
      for await (const delta of model.stream({ messages, tools: [], mayCallTools: true, signal })) deltas.push(delta);
    } catch (fault) {
      error = fault;
    }
    const text = deltas.map((delta) => (delta.kind === 'text' ? delta.text : '')).join('');
    return { text, error: error as ProviderError | undefined };
  }

  it.each([0, 7])(
    'that reports a failure after %s characters fails with the words of the server',
    async (characters) => {
      chat.faults.push({ kind: 'failed', afterCharacters: characters });
      const { text, error } = await ask('openai');
      expect(text).toBe(TEXT.slice(0, characters));
      expect(error).toBeInstanceOf(ProviderError);
      expect(error?.report).toEqual({ provider: 'openai', code: '500', message: 'EngineCore encountered an issue.' });
    },
  );

  it.each([
    ['as in the types of the SDK', false],
    ['as the service sends it', true],
  ])('of responses that has an error event, %s, fails with its code and words', async (_form, isNested) => {
    responses.faults.push({ kind: 'error', isNested });
    const { error } = await ask('openai-responses');
    expect(error?.message).toBe('the language model provider reported rate_limit_exceeded');
    expect(error?.report).toEqual({
      provider: 'openai',
      code: 'rate_limit_exceeded',
      message: 'Rate limit reached for gpt-6-luna.',
    });
  });

  it('that has no words yet is given up in time, if another model could answer', async () => {
    chat.faults.push({ kind: 'empty', everyMs: 50 });
    const began = performance.now();
    const { error } = await ask('openai', { timeoutMs: 300, firstWithinMs: 300 });
    expect(error?.message).toBe('the language model provider sent no words for 300 ms');
    // The prompt of this agent may cause it, so the provider is not skipped by other calls.
    expect(error).toBeInstanceOf(HealthyProviderError);
    expect(performance.now() - began).toBeLessThan(1_500);
  });

  it.each([
    ['before its first event', { kind: 'stall', ms: 5_000 }],
    ['after its first event, as before a tool call that is sent whole', { kind: 'empty', everyMs: 5_000 }],
  ] as const)('that sends nothing, which the prompt may cause, is given up: %s', async (_when, fault) => {
    chat.faults.push(fault);
    const { error } = await ask('openai', { timeoutMs: 300 });
    expect(error?.message).toBe('the language model provider sent nothing for 300 ms');
    expect(error).toBeInstanceOf(SilentProviderError);
  });

  it('that does not end in time is given up, and its length, which the prompt decides, says little about the provider', async () => {
    chat.faults.push({ kind: 'empty', everyMs: 50 });
    const { error } = await ask('openai', { timeoutMs: 200 });
    expect(error?.message).toBe('the language model provider did not finish its response in 2000 ms');
    expect(error).toBeInstanceOf(UnclearProviderError);
  });

  it('that has begun in time may take longer than that', async () => {
    chat.otherwise = () => ({ says: TEXT.repeat(20) });
    const { text, error } = await ask('openai', { firstWithinMs: 100 });
    expect({ error, text }).toEqual({ error: undefined, text: TEXT.repeat(20) });
  });

  it.each(['openai', 'openai-responses'] as const)('is rejected by the fake of %s for long ids', async (provider) => {
    const id = 'x'.repeat(65);
    const { error } = await ask(provider, {
      messages: [
        { role: 'assistant', content: '', toolRequests: [{ id, name: 'look_up', arguments: '{}' }] },
        { role: 'tool', toolRequestId: id, content: 'done' },
      ],
    });
    expect(error?.report.message).toContain('string too long');
  });
});
