import type { CheckPrompt, ProviderChecks } from '../../../agents/fields/provider-ids.js';
import type { Config } from '../../../platform/config/config.js';
import { mostTokens } from '../../models/token-estimate.js';
import { buildEngineCall } from '../../session/engine-call.js';
import { buildSession } from '../realtime/provider-settings.js';
import { createAgentIdCheck } from './agent-id-check.js';

/**
 * The most tokens of the instructions and tools of a session, by https://developers.openai.com/blog/realtime-api for
 * gpt-realtime; the same is reported for gpt-realtime-1.5 (community.openai.com/t/1378932), and not known for later models.
 */
const MAX_REALTIME_TOKENS = 16_384;

/** Creates the checks of an agent that depend on the providers of its engine. */
export function createProviderChecks(config: Pick<Config, 'engines'>): ProviderChecks {
  return { ids: createAgentIdCheck(config), prompt: createPromptCheck(config) };
}

/** Creates the check of a prompt, by the session that a call of the agent without values would open. */
function createPromptCheck({ engines }: Pick<Config, 'engines'>): CheckPrompt {
  return ({ engine, agent, warn }) => {
    if (engine !== 'openai-realtime' || engines.openaiRealtime === undefined) return;
    const request = {
      _id: '',
      accountId: '',
      mode: 'live',
      direction: 'outbound',
      fromPhoneNumber: '',
      toPhoneNumber: '',
      agent,
      inputParameters: '{}',
    } as const;
    const call = buildEngineCall({ ...request, maxDurationSeconds: 0 }, true);
    const { instructions, tools } = buildSession(engines.openaiRealtime, call, true, undefined);
    const tokens = mostTokens(`${instructions}${JSON.stringify(tools)}`);
    if (tokens <= MAX_REALTIME_TOKENS) return;
    const why = `the prompt with its tools may have ${tokens} tokens, and OpenAI rejects realtime sessions with more than ${MAX_REALTIME_TOKENS}. The values of a call are added to it. Shorten it, use fewer tools, or use the pipeline engine.`;
    warn({ field: 'instruction', why, message: `T${why.slice(1)}` });
  };
}
