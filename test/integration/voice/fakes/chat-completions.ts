import type { ServerResponse } from 'node:http';
import type { ToolCall } from '../../../../src/voice/engines/port.js';
import { bodyOf, openLoopback, type Loopback } from './loopback';
import { sendOpenAiError, WRONG_KEY, type OpenAiRejection } from './openai-errors';
import { chatRejection } from './openai-models';
import { answerOpenAiLists, fakeLists, type FakeLists } from './provider-lists';

interface WireMessage {
  role: string;
  content: string | null;
  tool_calls?: { id: string; function: { name: string; arguments: string } }[];
}

export interface ChatAnswer {
  says?: string;
  /** One tool call, or parallel ones. */
  calls?: ToolCall | readonly ToolCall[];
  /** The model reaches its output limit, so that the response ends here. */
  isCut?: boolean;
  /** How long the fake waits before the first word. */
  afterMs?: number;
}

/** Faults of a streamed response. */
export type ChatFault =
  | { kind: 'status'; status: number; headers?: Record<string, string> }
  /** The fake sends nothing for this long. */
  | { kind: 'stall'; ms: number }
  /** The connection breaks after this many characters. */
  | { kind: 'cut'; afterCharacters: number }
  /**
   * The server reports a failure after some words, as vLLM does: vllm-project/vllm#40986, vercel/ai#1835. `openai` 7.57.0
   * throws on it (`core/streaming.js`).
   */
  | { kind: 'failed'; afterCharacters: number }
  /** The server sends an empty chunk again and again, as one that is reasoning may do. */
  | { kind: 'empty'; everyMs: number }
  | { kind: 'garbage'; text: string };

const STREAM_ERROR = { error: { message: 'EngineCore encountered an issue.', type: 'InternalServerError', code: 500 } };

export interface FakeChat extends Loopback {
  /** Responses to a message of the remote party or of the system, by the whole text of the message. */
  answers: Map<string, ChatAnswer>;
  /** The response to every other text. */
  otherwise: (text: string) => ChatAnswer;
  /** Faults of the next streamed responses, one for each response. */
  faults: ChatFault[];
  /**
   * The values that the fake returns for a finished call, by their names in the request's schema. A value that is
   * absent here is null.
   */
  values: Record<string, unknown>;
  summary: string;
  /** The errors with which the server rejects requests: OpenAI's, unless a test stands in for another server. */
  rejects: (body: Record<string, unknown>) => OpenAiRejection | undefined;
  /** Bodies of the rejected requests. */
  rejected: Record<string, unknown>[];
  /** Bodies of the requests for a conclusion. */
  conclusions: Record<string, unknown>[];
  /** Bodies of the streamed requests. */
  requests: { messages: WireMessage[]; tools?: { function: { name: string } }[]; reasoning_effort?: string }[];
  /** The number of streamed responses that the client aborted. */
  abandoned: number;
  lists: FakeLists;
}

interface CompletionUsage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  prompt_tokens_details?: { cached_tokens: number };
}

/** An event of a streamed completion. `test/provider-types` proves that the official SDK can receive it. */
export interface FakeCompletionChunk {
  id: string;
  object: 'chat.completion.chunk';
  created: number;
  model: string;
  choices: { index: number; delta: ChunkDelta; finish_reason: 'stop' | 'tool_calls' | 'length' | null }[];
  usage?: CompletionUsage;
}

interface ChunkDelta {
  role?: 'assistant';
  content?: string;
  tool_calls?: { index: number; id?: string; type?: 'function'; function: { name?: string; arguments: string } }[];
}

/** A completion in one piece. `test/provider-types` proves that the official SDK can receive it. */
export interface FakeCompletion {
  id: string;
  object: 'chat.completion';
  created: number;
  model: string;
  choices: {
    index: number;
    message: { role: 'assistant'; content: string; refusal: null };
    logprobs: null;
    finish_reason: 'stop';
  }[];
  usage: CompletionUsage;
}

export function completionOf(content: string, usage: Omit<CompletionUsage, 'total_tokens'>): FakeCompletion {
  const message = { role: 'assistant', content, refusal: null } as const;
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1_800_000_000,
    model: 'fake',
    choices: [{ index: 0, message, logprobs: null, finish_reason: 'stop' }],
    usage: { ...usage, total_tokens: usage.prompt_tokens + usage.completion_tokens },
  };
}

/**
 * The `/chat/completions` route of a chat model. It streams scripted responses in small chunks, including tool calls,
 * and rejects requests as OpenAI does.
 */
export async function openFakeChat(): Promise<FakeChat> {
  const loopback = await openLoopback({
    onRequest(request, response) {
      if (fake.hanging || answerOpenAiLists(request, response, fake.lists)) return;
      void bodyOf(request).then((body) => {
        if (fake.hanging) return;
        const { key } = fake.lists;
        const isAllowed = key === '' || request.headers.authorization === `Bearer ${key}`;
        const rejection = isAllowed ? fake.rejects(body) : WRONG_KEY;
        if (rejection !== undefined) {
          fake.rejected.push(body);
          return sendOpenAiError(response, rejection);
        }
        if (body['response_format'] !== undefined) return conclude(body, response);
        return void answer(body as FakeChat['requests'][number], response);
      });
    },
  });

  async function answer(body: FakeChat['requests'][number], response: ServerResponse): Promise<void> {
    fake.requests.push(body);
    const fault = fake.faults.shift();
    let done = false;
    response.on('close', () => {
      if (!done) fake.abandoned += 1;
    });
    if (fault?.kind === 'status') {
      done = true;
      return sendOpenAiError(response, { status: fault.status }, fault.headers);
    }
    if (fault?.kind === 'stall') await pause(fault.ms, response);
    const { says, calls: called = [], isCut, afterMs } = answerTo(body.messages);
    const calls = [called].flat();
    if (afterMs !== undefined) await pause(afterMs, response);
    if (response.destroyed) return;
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const write = (part: Pick<FakeCompletionChunk, 'choices' | 'usage'>) => {
      const chunk: FakeCompletionChunk = {
        id: 'chatcmpl-1',
        object: 'chat.completion.chunk',
        created: 1_800_000_000,
        model: 'fake',
        ...part,
      };
      response.write(`data: ${JSON.stringify(chunk)}\n\n`);
    };
    const send = (delta: ChunkDelta, finish: FakeCompletionChunk['choices'][number]['finish_reason'] = null) =>
      write({ choices: [{ index: 0, delta, finish_reason: finish }] });
    response.write(': a comment\n\n');
    // The first chunk of Azure has only the results of its content filter: Azure/azure-sdk-for-go#21086.
    write({ choices: [] });
    send({ role: 'assistant', content: '' });
    if (fault?.kind === 'garbage') {
      done = true;
      return void response.end(`data: ${fault.text}\n\n`);
    }
    while (fault?.kind === 'empty') {
      send({ content: '' });
      await pause(fault.everyMs, response);
      if (response.destroyed) return;
    }
    let sent = 0;
    for (const piece of (says ?? '').match(/.{1,7}/gs) ?? []) {
      if (fault?.kind === 'cut' && sent >= fault.afterCharacters) {
        done = true;
        return void response.destroy();
      }
      if (fault?.kind === 'failed' && sent >= fault.afterCharacters) {
        done = true;
        return void response.end(`data: ${JSON.stringify(STREAM_ERROR)}\n\ndata: [DONE]\n\n`);
      }
      send({ content: piece });
      sent += piece.length;
      await pause(2, response);
      if (response.destroyed) return;
    }
    for (const [index, call] of calls.entries()) {
      const id = `call_${fake.requests.length}${index === 0 ? '' : `_${index}`}`;
      send({ tool_calls: [{ index, id, type: 'function', function: { name: call.name, arguments: '' } }] });
      for (const piece of JSON.stringify(call.arguments).match(/.{1,5}/gs) ?? [])
        send({ tool_calls: [{ index, function: { arguments: piece } }] });
    }
    send({}, isCut === true ? 'length' : calls.length === 0 ? 'stop' : 'tool_calls');
    const tokens = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 };
    write({ choices: [], usage: { ...tokens, prompt_tokens_details: { cached_tokens: 40 } } });
    done = true;
    response.end('data: [DONE]\n\n');
  }

  /**
   * Chooses the response by the text of the last message. If that message is a tool's result, the response repeats it.
   */
  function answerTo(messages: WireMessage[]): ChatAnswer {
    const last = messages.at(-1);
    const text = last?.content ?? '';
    if (last?.role === 'tool') return { says: `I found this: ${text.replace(/[^\w ]+/g, ' ').trim()}.` };
    return fake.answers.get(text) ?? fake.otherwise(text);
  }

  function conclude(body: Record<string, unknown>, response: ServerResponse): void {
    fake.conclusions.push(body);
    const format = body['response_format'] as {
      json_schema: { schema: { properties: Record<string, { properties?: Record<string, unknown> }> } };
    };
    const names = Object.keys(format.json_schema.schema.properties['values']?.properties ?? {});
    const values = Object.fromEntries(names.map((name) => [name, fake.values[name] ?? null]));
    const content = JSON.stringify({ summary: fake.summary, ...(names.length === 0 ? {} : { values }) });
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(completionOf(content, { prompt_tokens: 200, completion_tokens: 20 })));
  }

  const fake: FakeChat = Object.assign(loopback, {
    answers: new Map<string, ChatAnswer>(),
    otherwise: () => ({ says: 'I see.' }),
    faults: [],
    values: {},
    summary: 'The appointment was talked about.',
    rejects: chatRejection,
    rejected: [],
    conclusions: [],
    requests: [],
    abandoned: 0,
    lists: fakeLists('llm-key', ['gpt-6-luna', 'test-model']),
  });
  return fake;
}

/** Waits for `ms`, or until the connection closes. */
function pause(ms: number, response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms);
    response.on('close', done);
    function done(): void {
      clearTimeout(timer);
      response.off('close', done);
      resolve();
    }
  });
}
