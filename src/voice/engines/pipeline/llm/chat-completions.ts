import { z } from 'zod';
import type { ChatSettings } from '../../../models/chat-client.js';
import type { ChatRequest, ChatRequestMessage, ChatRequestTool } from '../../../models/chat-protocol.js';
import { rejectsTools } from '../../../models/reasoning-effort.js';
import { createRequestParameters } from '../../../models/request-parameters.js';
import { MAX_REPLY_TOKENS } from '../../../session/speech-limits.js';
import type { Ask } from '../../start-checks/ask.js';
import { findingsOf, type Lookup } from '../../start-checks/finding.js';
import { createOpenAiLookup } from '../../start-checks/openai.js';
import type { ChatMessage, ChatModel, ChatTool } from '../ports.js';
import type { LlmProvider } from '../providers/description.js';
import { createModelChoices } from './model-choice.js';
import { assertShort, toModelUsage } from './model-stream.js';
import { createStreamingModel, type ModelEvents, type ModelParts, type ModelStreamDeps } from './streaming-model.js';
import { joinToolCalls, toolCallPart } from './tool-call-parts.js';

const usage = z
  .object({
    prompt_tokens: z.number(),
    completion_tokens: z.number(),
    prompt_tokens_details: z.object({ cached_tokens: z.number().nullish() }).nullish(),
  })
  .transform((counts) =>
    toModelUsage(counts.prompt_tokens, counts.prompt_tokens_details?.cached_tokens, counts.completion_tokens),
  );

const delta = z.object({ content: z.string().nullish(), tool_calls: z.array(toolCallPart).nullish() });

// Compatible servers omit fields or send null where OpenAI does not.
const chunk = z.object({
  choices: z.array(z.object({ delta: delta.nullish(), finish_reason: z.string().nullish() })).nullish(),
  usage: usage.nullish().catch(undefined),
});

// The form of a failure after the status 200. vLLM sends `[DONE]` after it: vllm-project/vllm#40986.
const failure = z.object({ error: z.unknown().optional() });

/** An event of a streamed completion as the provider sends it, before it is decoded. */
export type SentChatChunk = z.input<typeof chunk>;

/** An LLM behind an OpenAI-compatible `/chat/completions` endpoint. */
export function createChatModel(account: ChatSettings, deps: ModelStreamDeps): ChatModel {
  return createStreamingModel({
    account,
    deps,
    path: '/chat/completions',
    choices: createModelChoices(account, (choice) => createRequestParameters(choice, MAX_REPLY_TOKENS)),
    bodyOf: ({ messages, tools, mayCallTools }): Omit<ChatRequest, 'model'> => ({
      messages: messages.map(wireMessage),
      stream: true,
      stream_options: { include_usage: true },
      ...(tools.length === 0 ? {} : { tools: tools.map(wireTool) }),
      ...(tools.length === 0 || mayCallTools ? {} : { tool_choice: 'none' }),
    }),
    read: readChunks,
  });
}

async function* readChunks({ events, begun, errorOf }: ModelEvents): ModelParts {
  const calls = joinToolCalls();
  let finished = false;
  let characters = 0;
  for await (const { event, data } of events) {
    if (data === '[DONE]') {
      finished = true;
      break;
    }
    const sent: unknown = JSON.parse(data);
    if (event === 'error' || Boolean(failure.parse(sent).error)) throw errorOf(sent);
    const { choices, usage: counts } = chunk.parse(sent);
    const [choice] = choices ?? [];
    if (counts) yield { kind: 'usage', usage: counts };
    if (choice === undefined) continue;
    if (choice.finish_reason) finished = true;
    const parts = choice.delta?.tool_calls ?? [];
    const text = choice.delta?.content ?? '';
    characters += text.length + lengthOf(parts);
    assertShort(characters);
    if (text !== '' || parts.length > 0) begun();
    for (const part of parts) {
      calls.add(part);
      const given = part.function?.arguments ?? '';
      if (given !== '') yield { kind: 'arguments', text: given };
    }
    if (text !== '') yield { kind: 'text', text };
  }
  return finished ? calls.all() : undefined;
}

const WITHOUT_TOOLS = {
  why: 'it always reasons, and rejects tools on /chat/completions; use LLM_PROVIDER=openai-responses',
  message: 'The model always reasons, so it cannot call tools on this service. Use another one.',
};

async function findModel(ask: Ask, account: Omit<ChatSettings, 'reasoningEffort'>): Promise<Lookup> {
  const found = await createOpenAiLookup(ask)(account);
  return found.state === 'found' && rejectsTools(account.model) ? { ...found, caution: WITHOUT_TOOLS } : found;
}

/** OpenAI's `/chat/completions`, or a compatible server. */
export const openAiChat: LlmProvider<'openai'> = {
  name: 'openai',
  create: createChatModel,
  check: async ({ model, apiKey, ...account }, { ask }, names) =>
    findingsOf(await findModel(ask, { model, apiKey, ...account }), { names, apiKey, model }),
  findModel,
};

function lengthOf(parts: readonly z.infer<typeof toolCallPart>[]): number {
  return parts.reduce((sum, { function: asked }) => sum + (asked?.arguments?.length ?? 0), 0);
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
