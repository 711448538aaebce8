import { Agent } from 'undici';
import { createChatModel } from '../../../src/voice/engines/pipeline/llm/chat-completions.js';
import { createChatClient, type ChatClient, type ChatSettings } from '../../../src/voice/models/chat-client.js';
import { openFakeChat, type FakeChat } from './fakes/chat-completions';
import { chatRejection } from './fakes/openai-models';

const TOOL = { name: 'look_up', description: 'Looks up.', parameters: { type: 'object', properties: {} } };
/** A reply with tools, then a conclusion without tools. */
const USES = { reply, conclusion };

let chat: FakeChat;
const dispatcher = new Agent();

beforeAll(async () => (chat = await openFakeChat()));
afterEach(() => {
  for (const list of [chat.rejected, chat.requests, chat.conclusions]) list.length = 0;
  chat.rejects = chatRejection;
});
afterAll(async () => {
  await dispatcher.destroy();
  await chat.close();
});

const accountOf = (settings: { model: string; reasoningEffort?: string }): ChatSettings => ({
  baseUrl: `http://127.0.0.1:${chat.port}/v1`,
  apiKey: 'llm-key',
  ...settings,
});
const signal = () => AbortSignal.timeout(5_000);

async function said(model: ReturnType<typeof createChatModel>): Promise<string> {
  const messages = [{ role: 'user' as const, content: 'Hello?' }];
  let text = '';
  for await (const delta of model.stream({ messages, tools: [TOOL], mayCallTools: true, signal: signal() }))
    if (delta.kind === 'text') text += delta.text;
  return text;
}

async function reply(account: ChatSettings): Promise<string> {
  return said(createChatModel(account, { dispatcher }));
}

async function conclusion(account: ChatSettings): Promise<string> {
  return concluded(createChatClient(account));
}

async function concluded(client: ChatClient): Promise<string> {
  const schema = { type: 'object', properties: {} };
  const answer = await client.requestJson({ name: 'conclusion', schema, messages: [], signal: signal() });
  return (answer as { summary: string }).summary;
}

type Body = Record<string, unknown>;
const efforts = () => [...chat.requests, ...chat.conclusions].map((body: Body) => body['reasoning_effort']);

describe.each([
  ['a reply with tools', 'reply', 'I see.'],
  ['a conclusion', 'conclusion', 'The appointment was talked about.'],
] as const)('%s', (_, use, expected) => {
  it.each([
    ['gpt-6-luna', 'none'],
    ['gpt-6.1-terra', 'none'],
    ['gpt-5.6-terra', 'none'],
    ['gpt-5.4-mini', undefined],
    ['gpt-5-mini', undefined],
    ['gpt-4.1-mini', undefined],
    ['gpt-4o', undefined],
  ])('comes with the first request from the model %s', async (model, effort) => {
    expect(await USES[use](accountOf({ model }))).toBe(expected);
    expect(chat.rejected).toEqual([]);
    expect(efforts()).toEqual([effort]);
  });

  it('is asked for without a reasoning effort if the family of the model is unknown', async () => {
    chat.rejects = (body) => (body['reasoning_effort'] === undefined ? undefined : chatRejection(body));
    expect(await USES[use](accountOf({ model: 'llama-3.3-70b' }))).toBe(expected);
    expect(chat.rejected).toEqual([]);
  });

  it('is asked for with the effort that the operator chose', async () => {
    chat.rejects = () => undefined;
    expect(await USES[use](accountOf({ model: 'gpt-6-luna', reasoningEffort: 'low' }))).toBe(expected);
    expect(efforts()).toEqual(['low']);
  });

  it('is asked for without the effort that the operator chose if the model does not know the field', async () => {
    expect(await USES[use](accountOf({ model: 'gpt-4.1', reasoningEffort: 'low' }))).toBe(expected);
    expect(chat.rejected.map((body) => body['reasoning_effort'])).toEqual(['low', 'none']);
    expect(efforts()).toEqual([undefined]);
  });

  it('fails if there is no such model', async () => {
    await expect(USES[use](accountOf({ model: 'gpt-7-luna' }))).rejects.toThrow('responded with status 404');
    expect(chat.rejected).toHaveLength(1);
  });
});

describe('a reasoning model under another name', () => {
  const account = () => accountOf({ model: 'our-deployment' });
  const alias = (body: Body) => chatRejection({ ...body, model: 'gpt-6-luna' });

  it('gets no reasoning effort in the first request, and the one that it accepts in all later ones', async () => {
    chat.rejects = alias;
    const model = createChatModel(account(), { dispatcher });
    expect(await said(model)).toBe('I see.');
    expect(await said(model)).toBe('I see.');
    expect(chat.rejected).toHaveLength(1);
    expect(efforts()).toEqual(['none', 'none']);
  });

  it('gets the reasoning effort also from a server that knows only the older name of the output limit', async () => {
    chat.rejects = ({ max_tokens: older, ...body }) =>
      older === undefined
        ? { status: 422, error: { message: 'max_completion_tokens', type: 'invalid', param: null, code: null } }
        : alias(body);
    expect(await said(createChatModel(account(), { dispatcher }))).toBe('I see.');
    expect(efforts()).toEqual(['none']);
  });
});

it('a server that knows only the older name of the output limit gets it at once in the conclusions of later calls', async () => {
  chat.rejects = ({ max_completion_tokens: current }) =>
    current === undefined
      ? undefined
      : { status: 422, error: { message: 'max_completion_tokens', type: 'invalid', param: null, code: null } };
  const client = createChatClient(accountOf({ model: 'mistral-small' }));
  await concluded(client);
  await concluded(client);
  expect(chat.rejected).toHaveLength(1);
});

it('gpt-6-astra, which always reasons, makes conclusions but no replies with tools', async () => {
  const account = accountOf({ model: 'gpt-6-astra' });
  expect(await conclusion(account)).toBe('The appointment was talked about.');
  expect(chat.rejected).toEqual([]);
  await expect(reply(account)).rejects.toThrow('responded with status 400');
});
