import { setTimeout as sleep } from 'node:timers/promises';
import { ProviderError } from './ports.js';
import type { ChatMessage, ChatModel, ChatTool, ToolRequest } from './ports.js';
import { createSentenceSplitter } from './sentences.js';

const RETRY_AFTER_MS = 300;
const CONTINUE = '[A technical fault cut your answer off. Continue with exactly the words that follow.]';

export interface RoundDeps {
  model: ChatModel;
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
 * Lets the model speak one message, with one retry.
 * @param mayBeEmpty whether an empty retry is accepted; after a tool call the model may have nothing to say
 * @returns the tool calls that the model requests
 * @throws ProviderError if both attempts fail; the signal's reason if aborted
 */
export async function speakRound(deps: RoundDeps, mayBeEmpty: boolean): Promise<ToolRequest[]> {
  try {
    return await streamRound(deps, false);
  } catch (error) {
    if (deps.signal.aborted || !(error instanceof ProviderError)) throw error;
    deps.onRetry(error);
    await sleep(error.retryAfterMs ?? RETRY_AFTER_MS, undefined, { signal: deps.signal });
    return await streamRound(deps, mayBeEmpty);
  }
}

async function streamRound(deps: RoundDeps, mayBeEmpty: boolean): Promise<ToolRequest[]> {
  const { tools, mayCallTools, signal } = deps;
  const requests: ToolRequest[] = [];
  const sentences = createSentenceSplitter();
  const messages = [...deps.messages()];
  if (deps.text() !== '') messages.push({ role: 'user', content: CONTINUE });
  signal.throwIfAborted();
  for await (const delta of deps.model.stream({ messages, tools, mayCallTools, signal })) {
    if (delta.kind === 'text' && !deps.say(sentences.push(delta.text))) return [];
    if (delta.kind === 'tool' && mayCallTools) requests.push(delta.request);
  }
  if (!deps.say(sentences.flush())) return [];
  const isEmpty = requests.length === 0 && deps.text() === '';
  if (isEmpty && !mayBeEmpty) throw new ProviderError('model', 'returned an empty reply');
  return requests;
}
