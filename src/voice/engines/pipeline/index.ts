import { Agent } from 'undici';
import { loadVoiceActivity } from '../../audio/voice-activity.js';
import type { PipelineSettings } from '../../../platform/config/engines.js';
import type { Logger } from '../../../platform/telemetry/logger.js';
import type { EnginePrices } from '../engine-usage.js';
import { concludeCall } from '../../models/conclusion.js';
import { createEngineOfTalk } from '../engine-of-talk.js';
import type { EngineFactory } from '../port.js';
import type { SilencePatience } from '../../session/silence-patience.js';
import { createTurnTaking } from '../../session/turn-taking.js';
import { startDialogue, type DialogueDeps } from './dialogue.js';
import { createChatModel } from './llm/chat-completions.js';
import { createPreparedLines } from './prepared-lines.js';
import { createDeepgramRecogniser } from './stt/deepgram.js';
import { createVoice } from './tts/voice-providers.js';

export const PIPELINE_ENGINE = 'pipeline';

/** Below the 4 s that the stream session waits for a result. */
const CONCLUDE_WITHIN_MS = 3_500;
const CONNECT_WITHIN_MS = 5_000;

/** How long each provider may send nothing before it counts as lost, in ms. */
export interface PipelinePatience {
  modelMs?: number;
  voiceMs?: number;
  recogniserMs?: number;
}

/** The engine that combines streaming STT, an LLM and streaming TTS, each from its own provider. */
export function createPipelineEngine(p: {
  settings: PipelineSettings;
  prices: EnginePrices;
  logger: Logger;
  silence?: Partial<SilencePatience>;
  patience?: PipelinePatience;
  /** Whether each result includes the session's events. */
  recordsEvents?: boolean;
}): EngineFactory {
  const { settings, logger, patience = {} } = p;
  const dispatcher = new Agent({ connect: { timeout: CONNECT_WITHIN_MS }, bodyTimeout: 0, headersTimeout: 0 });
  const recogniser = createDeepgramRecogniser(settings.recogniser);
  const model = createChatModel(settings.model, { dispatcher, ...silent(patience.modelMs) });
  const voice = createVoice(settings.voice, { dispatcher, ...silent(patience.voiceMs) });
  const prepared = createPreparedLines(voice);
  let newDetector: Awaited<ReturnType<typeof loadVoiceActivity>> | undefined;

  return {
    name: PIPELINE_ENGINE,

    async warm() {
      newDetector ??= await loadVoiceActivity();
      await prepared.warm();
    },

    create() {
      if (newDetector === undefined) throw new Error('the engine must be warmed before it is used');
      const turnTaking = createTurnTaking(newDetector());
      const deps: DialogueDeps = {
        recogniser,
        model,
        voice,
        turnTaking,
        prepared,
        prices: p.prices,
        recordsEvents: p.recordsEvents ?? false,
        ...(p.silence === undefined ? {} : { patience: p.silence }),
        ...(patience.recogniserMs === undefined ? {} : { recogniserSilentMs: patience.recogniserMs }),
        conclude: (call, turns, usage) =>
          concludeCall({ chat: settings.model, call, turns, withinMs: CONCLUDE_WITHIN_MS, usage, logger }),
        log(callId, message, error) {
          logger.warn({ callId, engine: PIPELINE_ENGINE, ...(error === undefined ? {} : { err: error }) }, message);
        },
      };
      return createEngineOfTalk({
        name: PIPELINE_ENGINE,
        capabilities: { freeForm: true, dtmf: true },
        turnTaking,
        begin: (call, sink) => startDialogue(deps, call, sink),
      });
    },

    async close() {
      await prepared.close();
      await dispatcher.destroy();
    },
  };
}

function silent(ms: number | undefined): { silentMs?: number } {
  return ms === undefined ? {} : { silentMs: ms };
}
