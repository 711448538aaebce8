import type { OpenAiRealtimeSettings } from '../../../platform/config/config.js';
import type { Logger } from '../../../platform/telemetry/logger.js';
import type { EnginePrices } from '../engine-usage.js';
import type { LocalLines } from '../local-lines.js';
import type { SilencePatience } from '../../session/silence-patience.js';
import { SESSION_POLICY, type SessionPolicy } from '../../session/reducer/policy.js';
import type { SessionSetup } from '../../session/reducer/state.js';
import { isIntroduced } from '../../session/prompt.js';
import type { EngineCall } from '../port.js';
import { CONNECTION_TIMINGS } from './connection.js';
import type { LinkTimings } from './provider-link.js';

export interface TalkTimings extends LinkTimings {
  /** An introduction with less audio heard than this is repeated, in ms. */
  greetingHeardMs: number;
  /** How long the caller waits for a reply before a filler plays, in ms. */
  fillerAfterMs: number;
  /** A provider without progress for this long counts as lost, in ms. */
  lostAfterMs: number;
  /** Age from which a session is renewed at the first quiet moment, in ms; the provider ends it after an hour. */
  renewAfterMs: number;
  /** Timeout for the transcript of the caller's last turn at the end of the call, in ms. */
  lastWordsMs: number;
  /** Timeout for that and the conclusion, in ms; the stream session waits 4 s. */
  stopWithinMs: number;
}

export interface TalkDeps {
  settings: OpenAiRealtimeSettings;
  prices: EnginePrices;
  lines: LocalLines;
  logger: Logger;
  timings: TalkTimings;
  patience: Partial<SilencePatience>;
  /** Whether the result includes the session's events. */
  recordsEvents: boolean;
}

export const TALK_TIMINGS: TalkTimings = {
  ...CONNECTION_TIMINGS,
  retryAfterMs: 300,
  greetingHeardMs: SESSION_POLICY.introduction.heardAfterMs,
  fillerAfterMs: SESSION_POLICY.filler.afterMs,
  lostAfterMs: 8_000,
  renewAfterMs: 50 * 60_000,
  lastWordsMs: 800,
  stopWithinMs: 3_500,
};

/** This engine's session setup: the provider detects turns and answers them. */
export function setupOf({ timings, patience }: TalkDeps, call: EngineCall): SessionSetup {
  const { silence, introduction, filler } = SESSION_POLICY;
  const policy: SessionPolicy = {
    ...SESSION_POLICY,
    silence: {
      repromptAfterMs: patience.promptAfterMs ?? silence.repromptAfterMs,
      endAfterMs: patience.endAfterMs ?? silence.endAfterMs,
    },
    introduction: { ...introduction, heardAfterMs: timings.greetingHeardMs },
    filler: { ...filler, afterMs: timings.fillerAfterMs },
  };
  const { action, message } = call.voicemail;
  return {
    policy,
    capabilities: { endsTurns: 'engine', startsReplies: 'provider' },
    voicemail: { action, hasMessage: message !== undefined },
    isInbound: call.direction === 'inbound',
    resumed: call.resume !== undefined,
    introduced: isIntroduced(call),
  };
}
