import { Agent } from 'undici';
import { loadVoiceActivity } from '../../audio/voice-activity.js';
import type { PipelineSettings } from '../../../platform/config/engines.js';
import type { Logger } from '../../../platform/telemetry/logger.js';
import type { EnginePrices } from '../engine-usage.js';
import { createChatClient } from '../../models/chat-client.js';
import { concludeCall } from '../../models/conclusion.js';
import { createSessionEngine } from '../session-engine.js';
import type { EngineFactory } from '../port.js';
import type { SilenceTimeouts } from '../../session/silence-timeouts.js';
import { createTurnTaking } from '../../session/turn-taking.js';
import { startPipelineSession, type PipelineSessionDeps } from './session.js';
import { createLlm } from './llm/llm-providers.js';
import { createPreparedPhrases } from './prepared-phrases.js';
import { createStt } from './stt/stt-providers.js';
import { createTts } from './tts/tts-providers.js';

export const PIPELINE_ENGINE = 'pipeline';

/** Timeout for the summary and values after the call; below the 4 s that the stream session waits for them. */
const CONCLUDE_WITHIN_MS = 3_500;
const CONNECT_WITHIN_MS = 5_000;

/** How long each provider may send nothing before it counts as lost, in ms. */
export interface PipelineTimeouts {
  llmMs?: number;
  ttsMs?: number;
  sttMs?: number;
}

/** The engine that combines streaming STT, an LLM and streaming TTS, each from its own provider. */
export function createPipelineEngine(p: {
  settings: PipelineSettings;
  prices: EnginePrices;
  logger: Logger;
  silence?: Partial<SilenceTimeouts>;
  timeouts?: PipelineTimeouts;
  /** Whether each result includes the session's events. */
  recordsEvents?: boolean;
}): EngineFactory {
  const { settings, logger, timeouts = {} } = p;
  const dispatcher = new Agent({ connect: { timeout: CONNECT_WITHIN_MS }, bodyTimeout: 0, headersTimeout: 0 });
  const stt = createStt(settings.stt, { dispatcher, newDetector: createDetector });
  const model = createLlm(settings.llm, { dispatcher, ...timeoutOf(timeouts.llmMs) });
  const chat = createChatClient(settings.llm);
  const voice = createTts(settings.tts, { dispatcher, ...timeoutOf(timeouts.ttsMs) });
  const prepared = createPreparedPhrases(voice);
  let newDetector: Awaited<ReturnType<typeof loadVoiceActivity>> | undefined;

  function createDetector() {
    if (newDetector === undefined) throw new Error('the engine must be warmed before it is used');
    return newDetector();
  }

  return {
    name: PIPELINE_ENGINE,

    async warm() {
      newDetector ??= await loadVoiceActivity();
      await prepared.warm();
    },

    create() {
      const turnTaking = createTurnTaking(createDetector());
      const deps: PipelineSessionDeps = {
        stt,
        model,
        voice,
        turnTaking,
        prepared,
        prices: p.prices,
        recordsEvents: p.recordsEvents ?? false,
        ...(p.silence === undefined ? {} : { silence: p.silence }),
        ...(timeouts.sttMs === undefined ? {} : { sttTimeoutMs: timeouts.sttMs }),
        conclude: (call, turns, usage, onFailure) =>
          concludeCall({ chat, call, turns, withinMs: CONCLUDE_WITHIN_MS, usage, logger, onFailure }),
        log(callId, message, error) {
          logger.warn({ callId, engine: PIPELINE_ENGINE, ...(error === undefined ? {} : { err: error }) }, message);
        },
      };
      return createSessionEngine({
        name: PIPELINE_ENGINE,
        capabilities: { freeForm: true, dtmf: true },
        turnTaking,
        startSession: (call, sink) => startPipelineSession(deps, call, sink),
      });
    },

    async close() {
      await prepared.close();
      await dispatcher.destroy();
    },
  };
}

function timeoutOf(ms: number | undefined): { timeoutMs?: number } {
  return ms === undefined ? {} : { timeoutMs: ms };
}
