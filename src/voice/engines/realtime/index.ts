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
 * The engine that lets OpenAI's realtime models conduct the call: telephone audio both ways over one socket per call, on
 * the GA protocol. The provider hears turns and answers; we know what was heard, and interrupt.
 */
export function createOpenAiRealtimeEngine(p: {
  settings: OpenAiRealtimeSettings;
  prices: EnginePrices;
  logger: Logger;
  /** Shorter ones are for tests. */
  timings?: Partial<TalkTimings>;
  patience?: Partial<SilencePatience>;
  /** Whether the events of each session are part of its result. */
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
