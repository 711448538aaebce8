import { z } from 'zod';
import type { ChatSettings } from '../../../models/chat-client.js';
import { createResponsesParameters } from '../../../models/request-parameters.js';
import { MAX_REPLY_TOKENS } from '../../../session/speech-limits.js';
import { checkOpenAiModel, createOpenAiLookup } from '../../start-checks/openai.js';
import type { ChatDelta, ChatMessage, ChatModel, ChatTool, ProviderError, ToolRequest } from '../ports.js';
import type { LlmProvider } from '../providers/description.js';
import { createModelChoices } from './model-choice.js';
import { assertFew, assertShort, toModelUsage } from './model-stream.js';
import { createStreamingModel, type ModelEvents, type ModelParts, type ModelStreamDeps } from './streaming-model.js';

const usage = z
  .object({
    input_tokens: z.number(),
    output_tokens: z.number(),
    input_tokens_details: z.object({ cached_tokens: z.number().nullish() }).nullish(),
  })
  .transform((counts) =>
    toModelUsage(counts.input_tokens, counts.input_tokens_details?.cached_tokens, counts.output_tokens),
  );

const delta = z.object({ delta: z.string() });
const finishedItem = z.object({
  item: z.object({
    type: z.string(),
    call_id: z.string().nullish(),
    name: z.string().nullish(),
    // Text for functions; other kinds of tools have objects here.
    arguments: z.unknown().optional(),
  }),
});
const reason = z.object({ code: z.string().nullish(), message: z.string().nullish() });
const finished = z.object({
  response: z.object({
    usage: usage.nullish().catch(undefined),
    error: reason.nullish(),
  }),
});
const event = z.looseObject({ type: z.string() });

/** The fields of the provider's events that are read, before they are decoded. */
export interface SentResponsesFields {
  delta: z.input<typeof delta>;
  finishedItem: z.input<typeof finishedItem>;
  finished: z.input<typeof finished>;
}

/** The request to `/responses`, with only the fields that the service sends. */
export interface ResponsesRequest {
  model: string;
  input: ResponsesItem[];
  stream: true;
  store: false;
  max_output_tokens: number;
  reasoning?: { effort: string };
  temperature?: number;
  tools?: ResponsesTool[];
  tool_choice?: 'none';
}

type ResponsesItem =
  | { role: 'system' | 'user' | 'assistant'; content: string }
  | { type: 'function_call'; call_id: string; name: string; arguments: string }
  | { type: 'function_call_output'; call_id: string; output: string };

interface ResponsesTool {
  type: 'function';
  name: string;
  description: string;
  parameters: Record<string, unknown>;
  strict: false;
}

/** An LLM behind OpenAI's `/responses` endpoint, where reasoning models may call tools. */
export function createResponsesModel(account: ChatSettings, deps: ModelStreamDeps): ChatModel {
  return createStreamingModel({
    account,
    deps,
    path: '/responses',
    choices: createModelChoices(account, (choice) => createResponsesParameters(choice, MAX_REPLY_TOKENS)),
    bodyOf: ({ messages, tools, mayCallTools }): Omit<ResponsesRequest, 'model' | 'max_output_tokens'> => ({
      input: messages.flatMap(inputItems),
      stream: true,
      // The provider must not keep conversations.
      store: false,
      ...(tools.length === 0 ? {} : { tools: tools.map(wireTool) }),
      ...(tools.length === 0 || mayCallTools ? {} : { tool_choice: 'none' }),
    }),
    read: readEvents,
  });
}

async function* readEvents({ events, begun, errorOf }: ModelEvents): ModelParts {
  const requests: ToolRequest[] = [];
  let characters = 0;
  for await (const { data } of events) {
    if (data === '[DONE]') break;
    const part = readEvent(JSON.parse(data), requests, errorOf);
    if (part !== undefined || requests.length > 0) begun();
    if (part === undefined) continue;
    if (part !== 'end' && 'text' in part) assertShort((characters += part.text.length));
    if (part !== 'end') yield part;
    // The server may keep the stream open.
    if (part === 'end' || part.kind === 'usage') return requests;
  }
  return undefined;
}

/** OpenAI's `/responses`, or a compatible server. */
export const openAiResponses: LlmProvider<'openai-responses'> = {
  name: 'openai-responses',
  create: createResponsesModel,
  check: checkOpenAiModel,
  findModel: (ask, account) => createOpenAiLookup(ask)(account),
};

/**
 * Reads one event. Collects complete tool calls in `requests`.
 * @returns a part of the reply; `end` after the last event if it has no usage; undefined for other events
 */
function readEvent(
  data: unknown,
  requests: ToolRequest[],
  errorOf: (fault: unknown) => ProviderError,
): ChatDelta | 'end' | undefined {
  const { type, ...fields } = event.parse(data);
  switch (type) {
    case 'response.output_text.delta':
    case 'response.refusal.delta':
      return { kind: 'text', text: delta.parse(data).delta };
    case 'response.function_call_arguments.delta':
      return { kind: 'arguments', text: delta.parse(data).delta };
    case 'response.output_item.done': {
      const { item } = finishedItem.parse(data);
      if (item.type !== 'function_call' || !item.call_id || !item.name) return undefined;
      const given = typeof item.arguments === 'string' ? item.arguments : '';
      requests.push({ id: item.call_id, name: item.name, arguments: given });
      assertFew(requests.length);
      assertShort(requests.reduce((sum, { name, arguments: text }) => sum + name.length + text.length, 0));
      return undefined;
    }
    case 'response.completed':
    case 'response.incomplete': {
      const { usage: counts } = finished.parse(data).response;
      return counts ? { kind: 'usage', usage: counts } : 'end';
    }
    case 'response.failed':
      throw errorOf(finished.parse(data).response.error ?? {});
    // The types have code and message here, but the service sends them in `error`: openai/openai-dotnet#881.
    case 'error':
      throw errorOf(fields);
    default:
      return undefined;
  }
}

/** Converts a message to input items. Each tool call and each result is a separate item. */
function inputItems(message: ChatMessage): ResponsesItem[] {
  switch (message.role) {
    case 'assistant':
      return [
        ...(message.content === '' ? [] : [{ role: 'assistant' as const, content: message.content }]),
        ...(message.toolRequests ?? []).map(({ id, name, arguments: text }) => ({
          type: 'function_call' as const,
          call_id: id,
          name,
          arguments: text,
        })),
      ];
    case 'tool':
      return [{ type: 'function_call_output', call_id: message.toolRequestId, output: message.content }];
    default:
      return [{ role: message.role, content: message.content }];
  }
}

function wireTool({ name, description, parameters }: ChatTool): ResponsesTool {
  // The customers' schemas do not follow the rules of strict mode, which is the default here.
  return { type: 'function', name, description, parameters, strict: false };
}
