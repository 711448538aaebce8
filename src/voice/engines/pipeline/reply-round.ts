import { setTimeout as sleep } from 'node:timers/promises';
import { estimateTokens } from '../../models/token-estimate.js';
import type { CallTokens } from '../account-tokens.js';
import type { ProviderChain } from '../chain/provider-chain.js';
import { HealthyProviderError, ProviderError } from './ports.js';
import type { ChatMessage, ChatTool, ToolRequest } from './ports.js';
import type { MeteredModel } from './metered-model.js';
import { createSentenceSplitter } from './sentences.js';

/** Pause before a model that had nothing to say is asked again, in ms. */
const ASK_AGAIN_AFTER_MS = 300;
const CONTINUE = '[A technical fault cut your answer off. Continue with exactly the words that follow.]';

export interface RoundDeps {
  models: ProviderChain<Pick<MeteredModel, 'stream'>>;
  /** The tokens that the call's account may use. */
  tokens: Pick<CallTokens, 'admit'>;
  tools: readonly ChatTool[];
  mayCallTools: boolean;
  /** Reads the chat history; called at each attempt, because the first attempt may have added words. */
  messages(): readonly ChatMessage[];
  /** The text said in this round so far. */
  text(): string;
  signal: AbortSignal;
  /** Called when the model has failed and is asked once more. */
  onRetry(error: ProviderError): void;
  /** @returns false once the reply has reached its maximum length */
  say(sentences: readonly string[]): boolean;
}

/**
 * Lets the model speak one message, as soon as its account has tokens for the request.
 * @param mayBeEmpty whether an empty retry is accepted; after a tool call the model may have nothing to say
 * @returns the tool calls that the model requests
 * @throws ProviderError if no attempt is left, or the account would wait too long; the signal's reason if aborted
 */
export async function speakRound(deps: RoundDeps, mayBeEmpty: boolean): Promise<ToolRequest[]> {
  // Before a provider is chosen, because the wait says nothing about providers.
  const release = await deps.tokens.admit(() => promptTokensOf(deps), deps.signal);
  try {
    return await askModels(deps, mayBeEmpty);
  } finally {
    release();
  }
}

function promptTokensOf({ messages, tools }: Pick<RoundDeps, 'messages' | 'tools'>): number {
  const texts = messages().map((message) =>
    message.role === 'assistant' ? message.content + JSON.stringify(message.toolRequests ?? []) : message.content,
  );
  return [JSON.stringify(tools), ...texts].reduce((sum, text) => sum + estimateTokens(text), 0);
}

/** After a fault, the next model continues the message, or the same one if it is the only one. */
async function askModels(deps: RoundDeps, mayBeEmpty: boolean): Promise<ToolRequest[]> {
  const attempts = deps.models.begin();
  for (let isRetry = false; ; isRetry = true) {
    try {
      const requests = await streamRound(deps, attempts.provider().port);
      const isEmpty = requests.length === 0 && deps.text() === '';
      if (isEmpty && !mayBeEmpty) throw new HealthyProviderError('model', 'returned an empty reply');
      if (isEmpty && !isRetry) {
        await sleep(ASK_AGAIN_AFTER_MS, undefined, { signal: deps.signal });
        continue;
      }
      attempts.succeeded();
      return requests;
    } catch (error) {
      if (deps.signal.aborted || !(error instanceof ProviderError)) throw error;
      const waitMs = attempts.failed(error);
      if (waitMs === undefined) throw error;
      deps.onRetry(error);
      if (waitMs > 0) await sleep(waitMs, undefined, { signal: deps.signal });
    }
  }
}

async function streamRound(deps: RoundDeps, model: Pick<MeteredModel, 'stream'>): Promise<ToolRequest[]> {
  const { tools, mayCallTools, signal } = deps;
  const requests: ToolRequest[] = [];
  const sentences = createSentenceSplitter();
  const messages = [...deps.messages()];
  if (deps.text() !== '') messages.push({ role: 'user', content: CONTINUE });
  signal.throwIfAborted();
  for await (const delta of model.stream({ messages, tools, mayCallTools, signal })) {
    if (delta.kind === 'text' && !deps.say(sentences.push(delta.text))) return [];
    if (delta.kind === 'tool' && mayCallTools) requests.push(delta.request);
  }
  return deps.say(sentences.flush()) ? requests : [];
}
