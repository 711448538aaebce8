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
  /** An introduction of which less than this was heard is made again, ms. */
  greetingHeardMs: number;
  /** A caller who waits longer than this for an answer is told so, ms. */
  fillerAfterMs: number;
  /** A provider that keeps us waiting longer than this counts as gone, ms. */
  lostAfterMs: number;
  /** The provider ends a session after an hour; at the first quiet moment from this age on we take a new one, ms. */
  renewAfterMs: number;
  /** For the words of the caller's last turn when the call is over, ms. */
  lastWordsMs: number;
  /** For those and the model's conclusion, ms: the stream session waits 4 s. */
  stopWithinMs: number;
}

export interface TalkDeps {
  settings: OpenAiRealtimeSettings;
  prices: EnginePrices;
  lines: LocalLines;
  logger: Logger;
  timings: TalkTimings;
  patience: Partial<SilencePatience>;
  /** Whether the events of the session are part of its result. */
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

/** How sessions go on here: the provider hears turns and answers them. */
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
