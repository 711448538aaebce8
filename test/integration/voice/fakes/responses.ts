import type { ServerResponse } from 'node:http';
import type { ToolCall } from '../../../../src/voice/engines/port.js';
import type { ChatAnswer, FakeChat } from './chat-completions';
import { bodyOf, openLoopback, passOn, type Loopback } from './loopback';
import { sendOpenAiError, WRONG_KEY } from './openai-errors';
import { modelFault, temperatureRejection } from './openai-models';
import { longId, toolsFault } from './openai-tools';
import { itemOf, responseWith, type FakeResponsesEvent } from './responses-events';

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
  /**
   * The same in an event `error`, with code and message as in the SDK's types, or in `error` as the service sends them:
   * openai/openai-dotnet#881, vercel/ai#20022; `openai` 7.57.0 reads both (`core/streaming.js`).
   */
  | { kind: 'error'; isNested: boolean }
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
      return void bodyOf(request).then((body) => {
        if (request.headers.authorization !== `Bearer ${chat.lists.key}`) sendOpenAiError(response, WRONG_KEY);
        else answer(body as unknown as Body, response);
      });
    },
  });

  function answer(body: Body, response: ServerResponse): void {
    if (fake.hanging) return undefined;
    const reason = faultIn(body);
    const wrong =
      reason === undefined ? undefined : { message: reason, type: 'invalid_request_error', param: null, code: null };
    const rejection =
      wrong === undefined
        ? (modelFault(String(body['model'])) ?? toolsFault(body.tools ?? []))
        : { status: 400, error: wrong };
    if (rejection !== undefined) {
      fake.invalid.push(rejection.error.message);
      return sendOpenAiError(response, rejection);
    }
    fake.requests.push(body);
    const fault = fake.faults.shift();
    if (fault?.kind === 'stall') return undefined;
    if (fault?.kind === 'status') return sendOpenAiError(response, { status: fault.status }, fault.headers);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const send = eventsTo(response);
    if (fault?.kind === 'garbage') return void response.end(`data: ${fault.text}\n\n`);
    send({ type: 'response.created', response: responseWith('in_progress') });
    send({ type: 'response.in_progress', response: responseWith('in_progress') });
    if (fault?.kind === 'failed') {
      // The set of codes is open in practice, though the SDK lists some.
      const error = { code: fault.code as 'server_error', message: 'The server failed.' };
      send({ type: 'response.failed', response: { ...responseWith('failed'), error } });
      return void response.end();
    }
    if (fault?.kind === 'error') {
      const error = { code: 'rate_limit_exceeded', message: 'Rate limit reached for gpt-6-luna.', param: null };
      if (!fault.isNested) send({ type: 'error', ...error });
      else {
        const data = { type: 'error', error: { type: 'tokens', ...error }, sequence_number: 2 };
        response.write(`event: error\ndata: ${JSON.stringify(data)}\n\n`);
      }
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

type Send = (event: FakeResponsesEvent) => void;

function eventsTo(response: ServerResponse): Send {
  let sequence = 0;
  return (event) => {
    const data = JSON.stringify({ ...event, sequence_number: sequence++ });
    response.write(`event: ${event.type}\ndata: ${data}\n\n`);
  };
}

function stream(
  { says, calls, isCut }: ChatAnswer,
  fault: ResponsesFault['kind'] | undefined,
  response: ServerResponse,
  send: Send,
): void {
  const reasoning = itemOf({ type: 'reasoning' });
  send({ type: 'response.output_item.added', output_index: 0, item: reasoning });
  send({ type: 'response.output_item.done', output_index: 0, item: reasoning });
  const text = { output_index: 1, item_id: 'msg_1', content_index: 0 };
  if (says !== undefined) {
    send({ type: 'response.output_item.added', output_index: 1, item: itemOf({ type: 'message', text: '' }) });
    send({ type: 'response.content_part.added', ...text, part: { type: 'output_text', text: '', annotations: [] } });
    for (const piece of says.match(/.{1,7}/gs) ?? []) {
      send({ type: 'response.output_text.delta', ...text, delta: piece, logprobs: [] });
      if (fault === 'cut') return void response.end();
    }
    send({ type: 'response.output_text.done', ...text, text: says, logprobs: [] });
    send({ type: 'response.content_part.done', ...text, part: { type: 'output_text', text: says, annotations: [] } });
    send({ type: 'response.output_item.done', output_index: 1, item: itemOf({ type: 'message', text: says }) });
  }
  for (const [index, call] of [calls ?? []].flat().entries()) sendCall(call, index, send);
  const end = isCut === true ? ({ type: 'response.incomplete', status: 'incomplete' } as const) : COMPLETED;
  send({ type: end.type, response: responseWith(end.status) });
  if (fault !== 'open') response.end();
}

const COMPLETED = { type: 'response.completed', status: 'completed' } as const;

function sendCall({ name, arguments: given }: ToolCall, index: number, send: Send): void {
  const place = { output_index: 2 + index, item_id: `fc_${index + 1}` };
  const text = JSON.stringify(given);
  const item = (done: string) => itemOf({ type: 'function_call', index, name, arguments: done });
  send({ type: 'response.output_item.added', output_index: place.output_index, item: item('') });
  for (const piece of text.match(/.{1,5}/gs) ?? [])
    send({ type: 'response.function_call_arguments.delta', ...place, delta: piece });
  send({ type: 'response.function_call_arguments.done', ...place, arguments: text });
  send({ type: 'response.output_item.done', output_index: place.output_index, item: item(text) });
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
    if (item.type === 'function_call') {
      if (item.call_id.length > MAX_CALL_ID) return longId(item.call_id, 'input.call_id', MAX_CALL_ID).error.message;
      called.add(item.call_id);
    } else if (item.type === 'function_call_output') {
      if (!called.has(item.call_id)) return `No tool call found for function call output with call_id ${item.call_id}.`;
    } else if (typeof item.content !== 'string' || item.content === '')
      return 'Invalid input: a message has no content.';
  }
  return undefined;
}

/** vercel/ai#8132. */
const MAX_CALL_ID = 64;
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
