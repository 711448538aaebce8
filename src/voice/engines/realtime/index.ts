import type { OpenAiRealtimeSettings } from '../../../platform/config/config.js';
import type { Logger } from '../../../platform/telemetry/logger.js';
import type { EnginePrices } from '../engine-usage.js';
import { nothingSaid } from '../../results/extraction.js';
import { createLocalLines } from '../local-lines.js';
import type { Engine, EngineFactory } from '../port.js';
import type { SilencePatience } from '../../session/silence-patience.js';
import { beginTalk } from './talk.js';
import type { RealtimeTalk } from './talk.js';
import { TALK_TIMINGS } from './talk-settings.js';
import type { TalkDeps, TalkTimings } from './talk-settings.js';

export const OPENAI_REALTIME = 'openai-realtime';

/**
 * The engine for OpenAI's realtime models: telephone audio in both directions over one socket per call, on the GA
 * protocol. The provider detects turns and replies; this side tracks playback and handles barge-ins.
 */
export function createOpenAiRealtimeEngine(p: {
  settings: OpenAiRealtimeSettings;
  prices: EnginePrices;
  logger: Logger;
  /** Overridden only by tests. */
  timings?: Partial<TalkTimings>;
  patience?: Partial<SilencePatience>;
  /** Whether each result includes the session's events. */
  recordsEvents?: boolean;
}): EngineFactory {
  const lines = createLocalLines();
  const timings = { ...TALK_TIMINGS, ...p.timings };
  const { settings, prices, logger, patience = {}, recordsEvents = false } = p;
  return {
    name: OPENAI_REALTIME,
    warm: () => lines.warm(),
    create: () => engineOf({ settings, prices, logger, lines, timings, patience, recordsEvents }),
    close: () => lines.close(),
  };
}

function engineOf(deps: TalkDeps): Engine {
  let talk: RealtimeTalk | undefined;
  return {
    name: OPENAI_REALTIME,
    capabilities: { freeForm: true, dtmf: true },
    async start(call, sink) {
      talk = beginTalk(deps, call, sink);
    },
    onCallerAudio: (frame, timestampMs) => talk?.hear(frame, timestampMs),
    onDtmf: (digit) => talk?.key(digit),
    onPlayed: (itemId, playedMs, complete) => talk?.played(itemId, playedMs, complete),
    onEndingSoon: (secondsLeft) => talk?.endingSoon(secondsLeft),
    onAnsweredBy: (who) => talk?.answeredBy(who),
    stop: () =>
      talk?.stop() ?? Promise.resolve({ summary: 'The call did not begin.', outputParameters: nothingSaid({}) }),
  };
}
