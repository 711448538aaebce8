import { setTimeout as sleep } from 'node:timers/promises';
import { ProviderError } from './ports.js';
import type { ChatMessage, ChatModel, ChatTool, ModelUsage, ToolRequest } from './ports.js';
import { createSentenceCutter } from './sentences.js';

const RETRY_AFTER_MS = 300;
const GO_ON = '[A technical fault cut your answer off. Go on with exactly the words that follow.]';

export interface RoundDeps {
  model: ChatModel;
  tools: readonly ChatTool[];
  mayCallTools: boolean;
  /** The chat history, read at each attempt: it includes what the first attempt has said. */
  messages(): readonly ChatMessage[];
  /** The text said in this round so far. */
  text(): string;
  signal: AbortSignal;
  /** @returns false once the reply has reached its maximum length */
  say(sentences: readonly string[]): boolean;
  onUsage: (usage: ModelUsage) => void;
}

/**
 * Lets the model speak one message, with one retry.
 * @param mayBeEmpty whether the retry may be empty: after a tool call there may be nothing to say
 * @returns the tool calls that the model requests
 * @throws ProviderError if both attempts fail; the signal's reason if aborted
 */
export async function speakRound(deps: RoundDeps, mayBeEmpty: boolean): Promise<ToolRequest[]> {
  try {
    return await streamRound(deps, false);
  } catch (error) {
    if (deps.signal.aborted || !(error instanceof ProviderError)) throw error;
    await sleep(error.retryAfterMs ?? RETRY_AFTER_MS, undefined, { signal: deps.signal });
    return await streamRound(deps, mayBeEmpty);
  }
}

async function streamRound(deps: RoundDeps, mayBeEmpty: boolean): Promise<ToolRequest[]> {
  const { tools, mayCallTools, signal } = deps;
  const requests: ToolRequest[] = [];
  const sentences = createSentenceCutter();
  const messages = [...deps.messages()];
  if (deps.text() !== '') messages.push({ role: 'user', content: GO_ON });
  for await (const delta of deps.model.stream({ messages, tools, mayCallTools, signal })) {
    if (delta.kind === 'text' && !deps.say(sentences.push(delta.text))) return [];
    if (delta.kind === 'tool' && mayCallTools) requests.push(delta.request);
    else if (delta.kind === 'usage') deps.onUsage(delta.usage);
  }
  if (!deps.say(sentences.flush())) return [];
  const isEmpty = requests.length === 0 && deps.text() === '';
  if (isEmpty && !mayBeEmpty) throw new ProviderError('model', 'answered nothing');
  return requests;
}
