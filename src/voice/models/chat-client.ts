import { MAX_CONCLUSION_TOKENS } from '../session/speech-limits.js';
import { createOutputLimit } from './output-limit.js';

interface ChatMessage {
  role: 'system' | 'user' | 'assistant';
  content: string;
}

export interface ChatSettings {
  /** Base URL of an OpenAI-compatible API, such as `https://api.openai.com/v1`. */
  baseUrl: string;
  apiKey: string;
  model: string;
}

export interface JsonAnswer {
  /** The parsed JSON. Validate it before use, because not every provider follows the schema. */
  value: unknown;
  usage: { inputTokens: number; cachedInputTokens: number; outputTokens: number };
}

/** The model could not be reached, or responded with an error, with nothing, or with invalid JSON. */
export class ChatError extends Error {
  override readonly name = 'ChatError';
  constructor(
    message: string,
    readonly isWorthRetrying: boolean,
  ) {
    super(message);
  }
}

interface Completion {
  choices?: { message?: { content?: unknown; refusal?: unknown } }[];
  usage?: {
    prompt_tokens?: unknown;
    completion_tokens?: unknown;
    prompt_tokens_details?: { cached_tokens?: unknown } | null;
  };
}

/**
 * Asks a chat model for one JSON object that follows a strict schema.
 * @throws ChatError; or the signal's reason if it is aborted
 */
export async function requestJson(
  settings: ChatSettings,
  question: { name: string; schema: Record<string, unknown>; messages: readonly ChatMessage[]; signal: AbortSignal },
): Promise<JsonAnswer> {
  const { name, schema, messages, signal } = question;
  const completion = await post(settings, signal, {
    model: settings.model,
    messages,
    response_format: { type: 'json_schema', json_schema: { name, strict: true, schema } },
  });
  const content = completion.choices?.[0]?.message?.content;
  if (typeof content !== 'string' || content === '') throw new ChatError('the model returned no content', true);
  const { usage } = completion;
  const inputTokens = count(usage?.prompt_tokens);
  const cachedInputTokens = Math.min(inputTokens, count(usage?.prompt_tokens_details?.cached_tokens));
  return {
    value: parsed(content),
    usage: { inputTokens, cachedInputTokens, outputTokens: count(usage?.completion_tokens) },
  };
}

async function post(settings: ChatSettings, signal: AbortSignal, body: object): Promise<Completion> {
  const limit = createOutputLimit(MAX_CONCLUSION_TOKENS);
  const request = (tokens: Record<string, number>) =>
    fetch(`${settings.baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${settings.apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...body, ...tokens }),
      redirect: 'error',
      signal,
    });
  let response: Response;
  let text: string;
  try {
    response = await limit.send(request);
    text = response.bodyUsed ? '' : await response.text();
  } catch (error) {
    if (signal.aborted) throw error;
    throw new ChatError('the connection to the model failed', true);
  }
  if (!response.ok) {
    throw new ChatError(
      `the model responded with status ${response.status}`,
      response.status === 429 || response.status >= 500,
    );
  }
  const answer = parsed(text);
  return typeof answer === 'object' && answer !== null ? answer : {};
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new ChatError('the model returned invalid JSON', true);
  }
}

function count(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : 0;
}
