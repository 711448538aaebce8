import type { Dispatcher } from 'undici';
import { z } from 'zod';
import { serverSentEvents } from '../../../../kernel/server-sent-events.js';
import type { ChatSettings } from '../../../models/chat-client.js';
import type { ChatRequest, ChatRequestMessage, ChatRequestTool } from '../../../models/chat-protocol.js';
import { createRequestParameters } from '../../../models/request-parameters.js';
import { MAX_REPLY_TOKENS } from '../../../session/speech-limits.js';
import { ProviderError } from '../ports.js';
import type { ChatMessage, ChatModel, ChatTool, ToolRequest } from '../ports.js';
import { createModelChoices } from './model-choice.js';
import { accepted, assertShort, postToModel, toModelError, watchSilence, toModelUsage } from './model-stream.js';

/** How long a stream may send no event before the request fails, in ms. */
export const LLM_TIMEOUT_MS = 6_000;

const usage = z
  .object({
    prompt_tokens: z.number(),
    completion_tokens: z.number(),
    prompt_tokens_details: z.object({ cached_tokens: z.number().nullish() }).nullish(),
  })
  .transform((counts) =>
    toModelUsage(counts.prompt_tokens, counts.prompt_tokens_details?.cached_tokens, counts.completion_tokens),
  );

const toolCallPart = z.object({
  index: z.number().int().min(0).max(63).nullish(),
  id: z.string().nullish(),
  function: z.object({ name: z.string().nullish(), arguments: z.string().nullish() }).nullish(),
});

const delta = z.object({ content: z.string().nullish(), tool_calls: z.array(toolCallPart).nullish() });

// Compatible servers omit fields or send null where OpenAI does not.
const chunk = z.object({
  choices: z.array(z.object({ delta: delta.nullish(), finish_reason: z.string().nullish() })).nullish(),
  usage: usage.nullish().catch(undefined),
});

/** An event of a streamed completion as the provider sends it, before it is decoded. */
export type SentChatChunk = z.input<typeof chunk>;

/** An LLM behind an OpenAI-compatible `/chat/completions` endpoint. */
export function createChatModel(
  account: ChatSettings,
  deps: { dispatcher: Dispatcher; timeoutMs?: number },
): ChatModel {
  const timeoutMs = deps.timeoutMs ?? LLM_TIMEOUT_MS;
  const choices = createModelChoices(account, (choice) => createRequestParameters(choice, MAX_REPLY_TOKENS));

  return {
    async *stream({ messages, tools, mayCallTools, settings = {}, onIgnored, signal }) {
      const watch = watchSilence(signal, timeoutMs);
      const requests: ToolRequest[] = [];
      let finished = false;
      let characters = 0;
      try {
        const body: Omit<ChatRequest, 'model'> = {
          messages: messages.map(wireMessage),
          stream: true,
          stream_options: { include_usage: true },
          ...(tools.length === 0 ? {} : { tools: tools.map(wireTool) }),
          ...(tools.length === 0 || mayCallTools ? {} : { tool_choice: 'none' }),
        };
        const post = (fields: object) =>
          postToModel({
            account,
            path: '/chat/completions',
            body: { ...fields, ...body },
            signal: watch.signal,
            dispatcher: deps.dispatcher,
          });
        const response = await accepted(await choices.send(settings, post, onIgnored), account, body);
        for await (const { data } of serverSentEvents(response.body as AsyncIterable<Uint8Array>)) {
          watch.alive();
          if (data === '[DONE]') {
            finished = true;
            break;
          }
          const { choices, usage: counts } = readJson(chunk, data);
          const [choice] = choices ?? [];
          if (counts) yield { kind: 'usage', usage: counts };
          if (choice === undefined) continue;
          if (choice.finish_reason) finished = true;
          const parts = choice.delta?.tool_calls ?? [];
          const text = choice.delta?.content ?? '';
          characters += text.length + lengthOf(parts);
          assertShort(characters);
          for (const part of parts) {
            addTo(requests, part);
            const given = part.function?.arguments ?? '';
            if (given !== '') yield { kind: 'arguments', text: given };
          }
          if (text !== '') yield { kind: 'text', text };
        }
      } catch (error) {
        throw toModelError(error, watch.signal);
      } finally {
        watch.stop();
      }
      if (!finished) throw new ProviderError('model', 'ended the stream early');
      for (const request of requests) if (request.name !== '') yield { kind: 'tool', request };
    },
  };
}

function readJson<T>(schema: z.ZodType<T>, text: string): T {
  return schema.parse(JSON.parse(text));
}

type ToolRequestPart = z.infer<typeof toolCallPart>;

function lengthOf(parts: readonly ToolRequestPart[]): number {
  return parts.reduce((sum, { function: asked }) => sum + (asked?.arguments?.length ?? 0), 0);
}

/** Adds a streamed part to its tool call. The id and name come first, then the arguments in several parts. */
function addTo(requests: ToolRequest[], part: ToolRequestPart): void {
  const at = part.index ?? 0;
  for (let index = requests.length; index <= at; index++)
    requests.push({ id: `call_${index}`, name: '', arguments: '' });
  const request = requests[at];
  if (request === undefined) return;
  if (part.id) request.id = part.id;
  if (part.function?.name) request.name = part.function.name;
  request.arguments += part.function?.arguments ?? '';
}

function wireMessage(message: ChatMessage): ChatRequestMessage {
  switch (message.role) {
    case 'assistant':
      return {
        role: 'assistant',
        content: message.content === '' ? null : message.content,
        ...(message.toolRequests === undefined || message.toolRequests.length === 0
          ? {}
          : {
              tool_calls: message.toolRequests.map(({ id, name, arguments: text }) => ({
                id,
                type: 'function',
                function: { name, arguments: text },
              })),
            }),
      };
    case 'tool':
      return { role: 'tool', tool_call_id: message.toolRequestId, content: message.content };
    default:
      return message;
  }
}

function wireTool({ name, description, parameters }: ChatTool): ChatRequestTool {
  return { type: 'function', function: { name, description, parameters } };
}
