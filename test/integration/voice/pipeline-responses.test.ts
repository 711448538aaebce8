import { Agent } from 'undici';
import { createLlm } from '../../../src/voice/engines/pipeline/providers/create-providers.js';
import type { ChatDelta, ChatMessage } from '../../../src/voice/engines/pipeline/ports.js';
import { openFakeChat, type FakeChat } from './fakes/chat-completions';
import { openFakeResponses, type FakeResponses, type ResponsesFault } from './fakes/responses';
import { eventually } from './support/media-fixture';
import { GREETING, openPipeline } from './support/pipeline-harness';

const ANSWER_MS = 30_000;

describe('the pipeline engine with OpenAI’s responses', () => {
  it('holds a conversation with a tool call, counts the tokens, and sums up', async () => {
    const pipeline = await openPipeline({ llmProvider: 'openai-responses' });
    await pipeline.factory.warm();
    pipeline.stt.script(['With which doctor is it?']);
    pipeline.chat.answers.set('With which doctor is it?', {
      says: 'Let me see.',
      calls: { name: 'look_up', arguments: { day: 'tomorrow' } },
    });
    const line = pipeline.dial({}, () => ({ ok: true, result: { doctor: 'Doctor Quimby' } }));
    await eventually(() => line.agentTurns().length === 1 && !line.isPlaying(), ANSWER_MS);
    expect(line.agentTurns()).toEqual([GREETING]);
    line.say(await pipeline.speak('With which doctor is it?'));
    await eventually(() => line.agentTurns().some((text) => text.includes('Doctor Quimby')), ANSWER_MS);
    expect(line.tools).toEqual([{ name: 'look_up', arguments: { day: 'tomorrow' } }]);
    const { requests, invalid } = pipeline.responses;
    const result = await line.hangUp();
    expect(invalid).toEqual([]);
    expect(requests.length).toBeGreaterThanOrEqual(3);
    expect(requests.at(-1)?.input.slice(-2)).toMatchObject([
      { type: 'function_call', call_id: 't00000001', name: 'look_up', arguments: '{"day":"tomorrow"}' },
      { type: 'function_call_output', call_id: 't00000001' },
    ]);
    expect(result.usage?.units['chat_cached_input_tokens']).toBe(requests.length * 40);
    expect(result.summary).toBe('The appointment was talked about.');
    await pipeline.close();
  }, 60_000);
});

describe('an LLM by responses', () => {
  const dispatcher = new Agent();
  let chat: FakeChat;
  let fake: FakeResponses;
  beforeEach(async () => {
    chat = await openFakeChat();
    fake = await openFakeResponses(chat);
  });
  afterEach(async () => {
    await fake.close();
    await chat.close();
  });
  afterAll(() => dispatcher.destroy());

  async function ask(messages: readonly ChatMessage[], mayCallTools = true): Promise<ChatDelta[]> {
    const account = { baseUrl: `http://127.0.0.1:${fake.port}/v1`, apiKey: 'llm-key', model: 'gpt-6-luna' };
    const llm = createLlm({ provider: 'openai-responses', ...account }, { dispatcher, timeoutMs: 300 });
    const tools = [{ name: 'book', description: 'Books.', parameters: { type: 'object', properties: {} } }];
    const deltas: ChatDelta[] = [];
    const { signal } = new AbortController();
    for await (const delta of llm.stream({ messages, tools, mayCallTools, signal })) deltas.push(delta);
    return deltas;
  }

  it('writes the whole conversation, and must not call tools if it may not', async () => {
    await ask(
      [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Hello.' },
        { role: 'assistant', content: '', toolRequests: [{ id: 'call_7', name: 'book', arguments: '{}' }] },
        { role: 'tool', toolRequestId: 'call_7', content: 'done' },
      ],
      false,
    );
    expect(fake.invalid).toEqual([]);
    expect(fake.requests[0]).toMatchObject({
      model: 'gpt-6-luna',
      stream: true,
      store: false,
      tool_choice: 'none',
      tools: [{ type: 'function', name: 'book', strict: false }],
      input: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Hello.' },
        { type: 'function_call', call_id: 'call_7', name: 'book', arguments: '{}' },
        { type: 'function_call_output', call_id: 'call_7', output: 'done' },
      ],
    });
  });

  it('is finished with the final event, although the server keeps the stream open', async () => {
    chat.answers.set('Book it.', { says: 'Done.', calls: { name: 'book', arguments: {} } });
    fake.faults.push({ kind: 'open' });
    const deltas = await ask([{ role: 'user', content: 'Book it.' }]);
    expect(deltas.map(({ kind }) => kind)).toEqual(['text', 'arguments', 'usage', 'tool']);
    expect(deltas.at(-1)).toEqual({ kind: 'tool', request: { id: 'call_1', name: 'book', arguments: '{}' } });
  });

  it.each<[string, ResponsesFault, string]>([
    ['a rejected request', { kind: 'status', status: 400 }, 'responded with status 400'],
    ['a hang', { kind: 'stall' }, 'sent nothing for 300 ms'],
    ['a stream that ends early', { kind: 'cut' }, 'ended the stream early'],
    ['a failure in the stream', { kind: 'failed', code: 'server_error' }, 'reported server_error'],
    ['garbage', { kind: 'garbage', text: '{"type":' }, 'sent invalid data'],
  ])('fails after %s', async (_name, fault, message) => {
    fake.faults.push(fault);
    await expect(ask([{ role: 'user', content: 'Hello.' }])).rejects.toThrow(`the language model provider ${message}`);
  });
});
