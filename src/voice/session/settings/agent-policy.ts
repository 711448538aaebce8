import type { ConversationSettings } from '../../../kernel/conversation/conversation-settings.js';
import type { EngineCall } from '../../engines/port.js';
import { firstMessageOf } from './first-message.js';
import type { SessionPolicy } from '../reducer/policy.js';
import type { SessionSetup } from '../reducer/state.js';

/** The policy of a session with the agent's settings. @param reportedAfterMs how late the provider reports silence */
export function withAgentSettings(
  policy: SessionPolicy,
  { interruptionMinMs: voiceMs, interruptionMinWords = 0, resumeAfterNoise }: ConversationSettings,
  reportedAfterMs?: number,
): SessionPolicy {
  const needs = {
    ...(voiceMs === undefined ? {} : { voiceMs }),
    ...(interruptionMinWords === 0 ? {} : { words: interruptionMinWords }),
    ...(reportedAfterMs === undefined ? {} : { reportedAfterMs }),
  };
  const hasNeeds = voiceMs !== undefined || interruptionMinWords > 0;
  return {
    ...policy,
    bargeIn: {
      ...policy.bargeIn,
      ...(hasNeeds ? { needs } : {}),
      ...(resumeAfterNoise === undefined ? {} : { resumesAfterNoise: resumeAfterNoise }),
    },
  };
}

/** How the conversation begins, if the agent's settings say. */
export function openingOf(call: EngineCall): Pick<SessionSetup, 'opening'> {
  const waitsForCaller = call.settings?.firstSpeaker === 'caller';
  const hasMessage = firstMessageOf(call) !== undefined;
  return waitsForCaller || hasMessage ? { opening: { waitsForCaller, hasMessage } } : {};
}
