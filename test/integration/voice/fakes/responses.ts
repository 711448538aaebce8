import type { ServerResponse } from 'node:http';
import type { ChatAnswer, FakeChat } from './chat-completions';
import { bodyOf, openLoopback, passOn, type Loopback } from './loopback';
import { temperatureRejection } from './openai-models';

type Item =
  | { type?: 'message'; role: string; content: string }
  | { type: 'function_call'; call_id: string; name: string; arguments: string }
  | { type: 'function_call_output'; call_id: string; output: string };

interface Body {
  input: Item[];
  tools?: { type: string; name: string; parameters: object; strict: boolean }[];
  [field: string]: unknown;
}

export type ResponsesFault =
  | { kind: 'status'; status: number; headers?: Record<string, string> }
  | { kind: 'stall' }
  /** The stream ends after the first words. */
  | { kind: 'cut' }
  /** The stream stays open after its final event. */
  | { kind: 'open' }
  /** The provider reports the failure in the stream. */
  | { kind: 'failed'; code: string }
  | { kind: 'garbage'; text: string };

export interface FakeResponses extends Loopback {
  faults: ResponsesFault[];
  requests: Body[];
  /** Requests that were rejected because they were invalid, with the reason. */
  invalid: string[];
}

/** Fields of a request that this service sends. The provider rejects unknown ones. */
const FIELDS =
  'model input stream store max_output_tokens reasoning tools tool_choice parallel_tool_calls temperature text'.split(
    ' ',
  );

/**
 * The `/responses` route of OpenAI, with the replies of a fake of `/chat/completions`, to which it also passes all other
 * requests. Requests and events: `ResponseCreateParamsBase` and `ResponseStreamEvent` of the npm package `openai` 7.57.0.
 * The results of tools must follow their calls; the wording of that error is the provider's.
 */
export async function openFakeResponses(chat: FakeChat): Promise<FakeResponses> {
  const loopback = await openLoopback({
    onRequest(request, response) {
      if (request.url !== '/v1/responses') return passOn(request, response, chat.port);
      return void bodyOf(request).then((body) => answer(body as unknown as Body, response));
    },
  });

  function answer(body: Body, response: ServerResponse): void {
    if (fake.hanging) return undefined;
    const reason = faultIn(body);
    if (reason !== undefined) {
      fake.invalid.push(reason);
      return void response.writeHead(400).end(JSON.stringify({ error: { message: reason } }));
    }
    fake.requests.push(body);
    const fault = fake.faults.shift();
    if (fault?.kind === 'stall') return undefined;
    if (fault?.kind === 'status') return void response.writeHead(fault.status, fault.headers).end('{"error":{}}');
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const send = eventsTo(response);
    if (fault?.kind === 'garbage') return void response.end(`data: ${fault.text}\n\n`);
    send('response.created', { response: { id: 'resp_1', status: 'in_progress', usage: null } });
    if (fault?.kind === 'failed') {
      send('response.failed', {
        response: { status: 'failed', error: { code: fault.code, message: 'no' }, usage: null },
      });
      return void response.end();
    }
    return stream(answerTo(body.input), fault?.kind, response, send);
  }

  function answerTo(input: readonly Item[]): ChatAnswer {
    const last = input.at(-1);
    if (last?.type === 'function_call_output')
      return { says: `I found this: ${last.output.replace(/[^\w ]+/g, ' ').trim()}.` };
    const text = last !== undefined && 'content' in last ? last.content : '';
    return chat.answers.get(text) ?? chat.otherwise(text);
  }

  const fake: FakeResponses = Object.assign(loopback, { faults: [], requests: [], invalid: [] });
  return fake;
}

type Send = (type: string, fields: object) => void;

function eventsTo(response: ServerResponse): Send {
  let sequence = 0;
  return (type, fields) => {
    const event = JSON.stringify({ type, sequence_number: sequence++, ...fields });
    response.write(`event: ${type}\ndata: ${event}\n\n`);
  };
}

function stream(
  { says, calls }: ChatAnswer,
  fault: ResponsesFault['kind'] | undefined,
  response: ServerResponse,
  send: Send,
): void {
  const reasoning = { id: 'rs_1', type: 'reasoning', summary: [] };
  send('response.output_item.added', { output_index: 0, item: reasoning });
  send('response.output_item.done', { output_index: 0, item: reasoning });
  for (const piece of (says ?? '').match(/.{1,7}/gs) ?? []) {
    send('response.output_text.delta', {
      output_index: 1,
      item_id: 'msg_1',
      content_index: 0,
      delta: piece,
      logprobs: [],
    });
    if (fault === 'cut') return void response.end();
  }
  if (calls !== undefined) {
    const item = { id: 'fc_1', type: 'function_call', call_id: 'call_1', name: calls.name, arguments: '' };
    const text = JSON.stringify(calls.arguments);
    send('response.output_item.added', { output_index: 2, item });
    for (const piece of text.match(/.{1,5}/gs) ?? [])
      send('response.function_call_arguments.delta', { output_index: 2, item_id: 'fc_1', delta: piece });
    send('response.function_call_arguments.done', { output_index: 2, item_id: 'fc_1', arguments: text });
    send('response.output_item.done', { output_index: 2, item: { ...item, arguments: text } });
  }
  const usage = {
    input_tokens: 100,
    input_tokens_details: { cached_tokens: 40, cache_write_tokens: 0 },
    output_tokens: 10,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 110,
  };
  send('response.completed', { response: { id: 'resp_1', status: 'completed', error: null, usage } });
  if (fault !== 'open') response.end();
}

function faultIn(body: Body): string | undefined {
  const unknown = Object.keys(body).find((field) => !FIELDS.includes(field));
  if (unknown !== undefined) return `Unknown parameter: '${unknown}'.`;
  if (body['store'] !== false) return 'this service must not let the provider store conversations';
  const settingFault = settingFaultIn(body);
  if (settingFault !== undefined) return settingFault;
  const badTool = body.tools?.find(
    (tool) => tool.type !== 'function' || !tool.name || typeof tool.strict !== 'boolean',
  );
  if (badTool !== undefined) return "Missing required parameter: 'tools[0].name'.";
  const called = new Set<string>();
  for (const item of body.input) {
    if (item.type === 'function_call') called.add(item.call_id);
    else if (item.type === 'function_call_output') {
      if (!called.has(item.call_id)) return `No tool call found for function call output with call_id ${item.call_id}.`;
    } else if (typeof item.content !== 'string' || item.content === '')
      return 'Invalid input: a message has no content.';
  }
  return undefined;
}

const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];

/**
 * `ReasoningEffort` of the npm package `openai` 7.57.0. The message about models that do not reason is that of
 * BoundaryML/baml pull request 2708.
 */
function settingFaultIn({ model, reasoning, temperature }: Body): string | undefined {
  const { effort } = (reasoning ?? {}) as { effort?: string };
  if (effort !== undefined && /^gpt-(3|4)/.test(String(model)))
    return "Unsupported parameter: 'reasoning.effort' is not supported with this model.";
  if (effort !== undefined && !EFFORTS.includes(effort)) return `Invalid value: '${effort}'.`;
  return temperatureRejection(String(model), temperature, effort)?.error.message;
}
