import type { OpenAiRealtimeSettings } from '../../../platform/config/config.js';
import type { Logger } from '../../../platform/telemetry/logger.js';
import type { VoiceActivityDetector } from '../../audio/voice-activity.js';
import type { ChatClient } from '../../models/chat-client.js';
import type { AccountTokens } from '../account-tokens.js';
import type { EnginePrices } from '../engine-usage.js';
import type { OfflinePhrases } from '../offline-phrases.js';
import type { SilenceTimeouts } from '../../session/silence-timeouts.js';
import { openingOf, withAgentSettings } from '../../session/settings/agent-policy.js';
import { SESSION_POLICY, type SessionPolicy } from '../../session/reducer/policy.js';
import type { SessionSetup } from '../../session/reducer/state.js';
import { isIntroduced } from '../../session/prompt.js';
import type { EngineCall } from '../port.js';
import { CONNECTION_TIMINGS } from './connection.js';
import type { LinkTimings } from './provider-link.js';

export interface RealtimeTimings extends LinkTimings {
  /** The introduction is repeated if the caller heard less of it than this, in ms. */
  greetingPlayedMs: number;
  /** How long the caller waits for a reply before a filler plays, in ms. */
  fillerAfterMs: number;
  /** A provider without progress for this long counts as lost, in ms. */
  lostAfterMs: number;
  /** Time beyond the silence that ends a turn, after which the provider counts as lost if it reports no end, in ms. */
  turnEndGraceMs: number;
  /** Age after which a session is renewed at the next pause, in ms. The provider ends sessions after an hour. */
  renewAfterMs: number;
  /** Timeout for the transcript of the caller's last turn at the end of the call, in ms. */
  finalTranscriptMs: number;
  /** Timeout for the usage of a response that was canceled by the end of the call, in ms. */
  finalUsageMs: number;
  /**
   * Timeout for the last transcript and for the summary and values of the call together, in ms. The stream session
   * waits 4 s for all of them.
   */
  stopWithinMs: number;
}

export interface RealtimeSessionDeps {
  settings: OpenAiRealtimeSettings;
  /** Creates the voice activity detection of a call. */
  newDetector: () => VoiceActivityDetector;
  /** Writes the summary and the values after each call. */
  chat: ChatClient;
  prices: EnginePrices;
  tokens: AccountTokens;
  phrases: OfflinePhrases;
  logger: Logger;
  timings: RealtimeTimings;
  silence: Partial<SilenceTimeouts>;
  /** Whether the result includes the session's events. */
  recordsEvents: boolean;
}

export const REALTIME_TIMINGS: RealtimeTimings = {
  ...CONNECTION_TIMINGS,
  retryAfterMs: 300,
  greetingPlayedMs: SESSION_POLICY.introduction.heardAfterMs,
  fillerAfterMs: SESSION_POLICY.filler.afterMs,
  lostAfterMs: 8_000,
  turnEndGraceMs: 4_000,
  renewAfterMs: 50 * 60_000,
  finalTranscriptMs: 800,
  finalUsageMs: 400,
  stopWithinMs: 3_500,
};

/** How long a provider may take if another engine can continue the call, in ms. */
const DEADLINE_MS = 3_000;

/** The timings of a call. A call that another engine can continue does not wait long for its provider. */
export function timingsOf({ timings, settings }: Pick<RealtimeSessionDeps, 'timings' | 'settings'>, call: EngineCall) {
  const atMostMs = settings.timeoutMs ?? (call.hasSuccessor === true ? DEADLINE_MS : undefined);
  if (atMostMs === undefined) return timings;
  return { ...timings, connectMs: atMostMs, sessionMs: atMostMs, pingEveryMs: atMostMs, lostAfterMs: atMostMs };
}

/** The session setup of the realtime engine: the provider detects turns and answers them. */
export function setupOf(deps: RealtimeSessionDeps, call: EngineCall): SessionSetup {
  const { timings, silence: silenceTimeouts } = deps;
  const { silence, introduction, filler } = SESSION_POLICY;
  const policy: SessionPolicy = {
    ...SESSION_POLICY,
    silence: {
      repromptAfterMs: silenceTimeouts.promptAfterMs ?? silence.repromptAfterMs,
      endAfterMs: silenceTimeouts.endAfterMs ?? silence.endAfterMs,
    },
    introduction: { ...introduction, heardAfterMs: timings.greetingPlayedMs },
    filler: { ...filler, afterMs: timings.fillerAfterMs },
  };
  const { action, message } = call.voicemail;
  return {
    policy: withInterruptions(policy, deps, call),
    ...openingOf(call),
    capabilities: { endsTurns: 'engine', startsReplies: 'provider' },
    voicemail: { action, hasMessage: message !== undefined },
    isInbound: call.direction === 'inbound',
    resumed: call.resume !== undefined,
    introduced: isIntroduced(call),
    ...(call.hasSuccessor === true ? { hasSuccessor: true } : {}),
  };
}

/**
 * The agent's settings about interruptions. The provider reports the end of voice after the silence that ends the turn, and
 * the words only after the turn; with detection by meaning, it is not known how late it reports.
 */
function withInterruptions(policy: SessionPolicy, { settings }: RealtimeSessionDeps, call: EngineCall): SessionPolicy {
  const { interruptionMinMs } = call.settings ?? {};
  const { turnDetection } = settings;
  if (interruptionMinMs === undefined || turnDetection.type !== 'server_vad') return policy;
  return withAgentSettings(policy, { interruptionMinMs }, turnDetection.silenceMs);
}
