import { MAX_CONCLUSION_TOKENS } from '../session/speech-limits.js';
import type { ChatRequest } from './chat-protocol.js';
import { reportFailure, type FailureReport } from './failure-report.js';
import { bearer, readText } from './http-api.js';
import type { ReasoningSettings } from './reasoning-effort.js';
import { createRequestParameters } from './request-parameters.js';

export interface ChatSettings extends ReasoningSettings {
  /** Base URL of an OpenAI-compatible API, such as `https://api.openai.com/v1`. */
  baseUrl: string;
  /** Empty if the server needs none. */
  apiKey: string;
}

/** Maximum length of a response. */
const MAX_RESPONSE_BYTES = 1_000_000;

interface JsonUsage {
  inputTokens: number;
  cachedInputTokens: number;
  outputTokens: number;
}

export interface JsonQuestion {
  name: string;
  schema: Record<string, unknown>;
  messages: ChatRequest['messages'];
  signal: AbortSignal;
  /** Called with the usage that the model reports, even if its response is unusable. */
  onUsage?: (usage: JsonUsage) => void;
}

/** The model could not be reached, or responded with an error, with nothing, or with invalid JSON. */
export class ChatError extends Error {
  override readonly name = 'ChatError';
  constructor(
    message: string,
    readonly isWorthRetrying: boolean,
    /** Whether the model did not begin the work, so that its provider bills nothing. */
    readonly isUnbilled = false,
    /** The provider's own words about it, and its codes. */
    readonly report: FailureReport = {},
  ) {
    super(message);
  }
}

/** The fields of a completion that are read, in any form. */
export interface Completion {
  choices?: { message?: { content?: unknown; refusal?: unknown } }[];
  usage?: {
    prompt_tokens?: unknown;
    completion_tokens?: unknown;
    prompt_tokens_details?: { cached_tokens?: unknown } | null;
  };
}

export type ChatClient = ReturnType<typeof createChatClient>;

/** A client of a chat model. Use one for all calls, because it keeps the form of request that the server accepted. */
export function createChatClient(settings: ChatSettings) {
  const parameters = createRequestParameters(settings, MAX_CONCLUSION_TOKENS);

  async function post(signal: AbortSignal, body: ChatRequest): Promise<Completion> {
    const request = (fields: object) =>
      fetch(`${settings.baseUrl}/chat/completions`, {
        method: 'POST',
        headers: { ...bearer(settings.apiKey), 'content-type': 'application/json' },
        body: JSON.stringify({ ...body, ...fields }),
        redirect: 'error',
        signal,
      });
    let response: Response | undefined;
    let text: string;
    try {
      response = await parameters.send(request);
      text = await readText(response.body, MAX_RESPONSE_BYTES, tooLong);
    } catch (error) {
      if (signal.aborted || error instanceof ChatError) throw error;
      throw new ChatError('the connection to the model failed', true, response === undefined);
    }
    if (!response.ok) throw rejectionOf(response, text, settings.apiKey, body);
    const answer = parsed(text);
    return typeof answer === 'object' && answer !== null ? answer : {};
  }

  return {
    /**
     * Asks for one JSON object that follows a strict schema.
     * @returns the parsed JSON; validate it before use, because not every provider follows the schema
     * @throws ChatError; or the signal's reason if it is aborted
     */
    async requestJson({ name, schema, messages, signal, onUsage }: JsonQuestion): Promise<unknown> {
      const completion = await post(signal, {
        model: settings.model,
        messages,
        response_format: { type: 'json_schema', json_schema: { name, strict: true, schema } },
      });
      const { usage } = completion;
      const inputTokens = count(usage?.prompt_tokens);
      const cachedInputTokens = Math.min(inputTokens, count(usage?.prompt_tokens_details?.cached_tokens));
      const outputTokens = count(usage?.completion_tokens);
      if (inputTokens > 0) onUsage?.({ inputTokens, cachedInputTokens, outputTokens });
      const content = completion.choices?.[0]?.message?.content;
      if (typeof content !== 'string' || content === '') throw new ChatError('the model returned no content', true);
      return parsed(content);
    },
  };
}

function rejectionOf({ status, headers }: Response, text: string, apiKey: string, request: ChatRequest): ChatError {
  const sent = JSON.stringify(request);
  const report = reportFailure({ provider: 'openai', status, headers, body: text, sent, secrets: [apiKey] });
  const isWorthRetrying = status === 429 || status >= 500;
  return new ChatError(`the model responded with status ${status}`, isWorthRetrying, true, report);
}

function tooLong(): ChatError {
  return new ChatError('the summary or extraction from the model is too long', false);
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
