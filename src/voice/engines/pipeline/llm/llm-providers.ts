import type { Dispatcher } from 'undici';
import type { PipelineSettings } from '../../../../platform/config/pipeline-settings.js';
import type { ChatModel } from '../ports.js';
import { createChatModel } from './chat-completions.js';
import { createResponsesModel } from './openai-responses.js';

type LlmSettings = PipelineSettings['llm'];

type CreateLlm = (
  account: Omit<LlmSettings, 'provider'>,
  deps: { dispatcher: Dispatcher; timeoutMs?: number },
) => ChatModel;

/** LLM providers by their name in `LLM_PROVIDER`. */
const PROVIDERS: Record<LlmSettings['provider'], CreateLlm> = {
  openai: createChatModel,
  'openai-responses': createResponsesModel,
};

/** Creates the configured LLM. @param deps.timeoutMs how long the LLM may send nothing before it counts as lost */
export function createLlm(
  { provider, ...account }: LlmSettings,
  deps: { dispatcher: Dispatcher; timeoutMs?: number },
): ChatModel {
  return PROVIDERS[provider](account, deps);
}
