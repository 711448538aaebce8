import type { OpenAiRealtimeSettings } from '../../../platform/config/config.js';
import type { Logger } from '../../../platform/telemetry/logger.js';
import { createAccountTokens, type AccountTokens } from '../account-tokens.js';
import type { EnginePrices } from '../engine-usage.js';
import { loadVoiceActivity } from '../../audio/voice-activity.js';
import { createChatClient } from '../../models/chat-client.js';
import { emptyValues } from '../../results/extraction.js';
import { createOfflinePhrases } from '../offline-phrases.js';
import type { Engine, EngineFactory } from '../port.js';
import type { SilenceTimeouts } from '../../session/silence-timeouts.js';
import { startRealtimeSession } from './session.js';
import type { RealtimeSession } from './session.js';
import { REALTIME_TIMINGS } from './session-setup.js';
import type { RealtimeSessionDeps, RealtimeTimings } from './session-setup.js';

export const OPENAI_REALTIME = 'openai-realtime';

/**
 * The engine for OpenAI's realtime models. It sends and receives telephone audio over one socket per call, with the
 * GA version of the protocol. The provider detects turns and replies; the engine tracks playback and handles barge-ins.
 */
export function createOpenAiRealtimeEngine(p: {
  settings: OpenAiRealtimeSettings;
  prices: EnginePrices;
  logger: Logger;
  /** Overridden only by tests. */
  timings?: Partial<RealtimeTimings>;
  silence?: Partial<SilenceTimeouts>;
  /** Whether each result includes the session's events. */
  recordsEvents?: boolean;
  /** Limits the tokens of each account; may be shared with other engines. Default: no limit. */
  tokens?: AccountTokens;
}): EngineFactory {
  const phrases = createOfflinePhrases();
  const timings = { ...REALTIME_TIMINGS, ...p.timings };
  const { settings, prices, logger, silence = {}, recordsEvents = false, tokens = createAccountTokens(undefined) } = p;
  const { baseUrl, apiKey, conclusionModel: model, reasoningEffort } = settings;
  const chat = createChatClient({
    baseUrl,
    apiKey,
    model,
    ...(reasoningEffort === undefined ? {} : { reasoningEffort }),
  });
  let newDetector: Awaited<ReturnType<typeof loadVoiceActivity>> | undefined;

  function detector() {
    if (newDetector === undefined) throw new Error('the engine must be warmed before it is used');
    return newDetector();
  }

  return {
    name: OPENAI_REALTIME,
    async warm() {
      await phrases.warm();
      newDetector ??= await loadVoiceActivity();
    },
    create: () =>
      createEngine({
        settings,
        chat,
        prices,
        tokens,
        logger,
        phrases,
        timings,
        silence,
        recordsEvents,
        newDetector: detector,
      }),
    close: () => phrases.close(),
  };
}

function createEngine(deps: RealtimeSessionDeps): Engine {
  let session: RealtimeSession | undefined;
  return {
    name: OPENAI_REALTIME,
    capabilities: { freeForm: true, dtmf: true },
    async start(call, sink) {
      session = startRealtimeSession(deps, call, sink);
    },
    onCallerAudio: (frame, timestampMs) => session?.onCallerAudio(frame, timestampMs),
    onDtmf: (digit) => session?.onDtmf(digit),
    onText: (text) => session?.onText(text),
    onPlayed: (itemId, playedMs, complete) => session?.onPlayed(itemId, playedMs, complete),
    onEndingSoon: (secondsLeft) => session?.onEndingSoon(secondsLeft),
    onAnsweredBy: (who) => session?.onAnsweredBy(who) ?? true,
    usage: () => session?.usage(),
    stop: (reason) =>
      session?.stop(reason) ??
      Promise.resolve({ summary: 'The call did not begin.', outputParameters: emptyValues({}) }),
  };
}
