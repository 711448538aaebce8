import { fetch, type Dispatcher, type Response } from 'undici';
import { z } from 'zod';
import { withoutTrailing } from '../../../../kernel/text.js';
import type { ChatSettings } from '../../../models/chat-client.js';
import { reportFailure } from '../../../models/failure-report.js';
import { bearer, failureOf, readReason, retryAfterOf } from '../../../models/http-api.js';
import { watchRequest } from '../../../models/request-watch.js';
import {
  HealthyProviderError,
  ProviderError,
  SilentProviderError,
  UnclearProviderError,
  type ModelUsage,
} from '../ports.js';

/** How many timeouts the whole response may take, because empty events keep a stream alive without progress. */
const MAX_TIMEOUTS = 10;
const PROVIDER = 'openai';
/** Maximum length of a reply: text and tool arguments together. */
const MAX_TEXT_CHARACTERS = 20_000;
/** Maximum tool calls of a reply. Fewer of them run, but the model must get an answer to each. */
const MAX_CALLS = 64;

/** Sends a request to an LLM. @throws ProviderError if there is no response; the signal's reason if aborted */
export async function postToModel(p: {
  account: Pick<ChatSettings, 'baseUrl' | 'apiKey'>;
  path: string;
  body: object;
  signal: AbortSignal;
  dispatcher: Dispatcher;
}): Promise<Response> {
  const { account, path, body, signal, dispatcher } = p;
  try {
    return await fetch(`${withoutTrailing(account.baseUrl, '/')}${path}`, {
      method: 'POST',
      headers: { ...bearer(account.apiKey), 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal,
      redirect: 'error',
      dispatcher,
    });
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw new ProviderError('model', failureOf(error), undefined, true);
  }
}

/** Returns the response if the LLM accepted the request. @param body the request @throws ProviderError otherwise */
export async function accepted(
  response: Response,
  { apiKey }: Pick<ChatSettings, 'apiKey'>,
  body: object,
): Promise<Response> {
  const { ok, status, headers } = response;
  if (ok && response.body !== null) return response;
  const report = reportFailure({
    provider: PROVIDER,
    status,
    headers,
    body: await readReason(response.body),
    sent: JSON.stringify(body),
    secrets: [apiKey],
  });
  throw new ProviderError('model', `responded with status ${status}`, retryAfterOf(headers), true, report);
}

/** The error of a failure that a stream reports. @param body the request, which the provider may quote */
export function reportedFault(
  response: Response,
  { apiKey }: Pick<ChatSettings, 'apiKey'>,
  fault: unknown,
  body: object,
): ProviderError {
  const { headers } = response;
  const sent = JSON.stringify(body);
  const report = reportFailure({ provider: PROVIDER, headers, body: fault, sent, secrets: [apiKey] });
  return new ProviderError('model', `reported ${report.code ?? 'an error'}`, undefined, false, report);
}

/** @throws ProviderError if a reply has more characters than any reply needs */
export function assertShort(characters: number): void {
  if (characters > MAX_TEXT_CHARACTERS) throw new UnclearProviderError('model', 'sent more than any reply needs');
}

/** @throws ProviderError if a reply has more tool calls than any reply needs */
export function assertFew(calls: number): void {
  if (calls > MAX_CALLS) throw new UnclearProviderError('model', 'sent more than any reply needs');
}

/**
 * Aborts with a ProviderError if nothing arrives for `ms` or the response takes too long, or with the outer signal's
 * reason when that signal aborts.
 * @param firstWithinMs time from the request to the first word or tool call; without it, only silence counts
 */
export function watchSilence(outer: AbortSignal, ms: number, firstWithinMs?: number) {
  const watch = watchRequest(outer);
  // Also in the middle: some servers send a tool call only when it is complete, and the prompt decides its length.
  const silence = watch.limit(ms, () => new SilentProviderError('model', `sent nothing for ${ms} ms`));
  const wholeMs = MAX_TIMEOUTS * ms;
  watch.limit(wholeMs, () => new UnclearProviderError('model', `did not finish its response in ${wholeMs} ms`));
  const first =
    firstWithinMs === undefined
      ? undefined
      : watch.limit(firstWithinMs, () => new HealthyProviderError('model', `sent no words for ${firstWithinMs} ms`));
  return {
    signal: watch.signal,
    alive: () => silence.restart(),
    /** Call this when the first word or tool call has arrived. */
    begun: () => first?.end(),
    stop: () => watch.stop(),
  };
}

/** Returns the signal's reason if it has aborted; converts every other error to a ProviderError. */
export function toModelError(error: unknown, signal: AbortSignal): unknown {
  if (error instanceof ProviderError) return error;
  if (signal.aborted) return signal.reason;
  if (error instanceof SyntaxError || error instanceof z.ZodError)
    return new ProviderError('model', 'sent invalid data');
  return new ProviderError('model', failureOf(error));
}

/** More tokens than any model reads for one reply. A provider that reports more is faulty. */
const MAX_TOKENS = 100_000_000;
const tokenCount = (reported: number) => Math.min(Math.max(0, reported), MAX_TOKENS);

/** @param input all input tokens, those that the provider had cached included */
export function toModelUsage(input: number, cached: number | null | undefined, output: number): ModelUsage {
  const inputTokens = tokenCount(input);
  const cachedInputTokens = Math.min(inputTokens, tokenCount(cached ?? 0));
  return { inputTokens: inputTokens - cachedInputTokens, cachedInputTokens, outputTokens: tokenCount(output) };
}
