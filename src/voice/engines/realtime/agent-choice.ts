import { marked, toPlainLine } from '../../../agents/prompt-values.js';
import type { ConversationSettings } from '../../../kernel/conversation/conversation-settings.js';
import type { SettingName } from '../../../kernel/conversation/settings-support.js';
import type { OpenAiRealtimeSettings } from '../../../platform/config/config.js';
import { clamp } from '../../models/clamp.js';
import { transcriptionHints } from '../../models/transcription-hints.js';
import { setAmong } from '../ignored-settings.js';
import type { EngineCall } from '../port.js';
import { findVoice } from '../voices.js';
import type { FullSessionSettings, RealtimeVoice } from './protocol.js';

/** Realtime models that do not reason; all later ones do (`RealtimeReasoning` in the npm package `openai` 7.57.0). */
const NEVER_REASON = /^gpt-(realtime(-mini|-1\.5)?(-\d{4}-\d\d-\d\d)?$|4o)/;
/** `RealtimeReasoningEffort` (ibid.). */
const EFFORTS = ['minimal', 'low', 'medium', 'high', 'xhigh'] as const;
/** `RealtimeAudioConfigOutput.speed` (ibid.). */
const SPEED = [0.25, 1.5] as const;

type TurnDetection = OpenAiRealtimeSettings['turnDetection'];

/** The engine's settings with the agent's choice of the model and of the end of turns. */
export type CallSettings = OpenAiRealtimeSettings & {
  /** How certain `server_vad` must be that it hears speech. */
  vadThreshold?: number;
};

/** The settings of one call. An agent that names an eagerness chooses detection by meaning, otherwise by silence. */
export function settingsOfCall(settings: OpenAiRealtimeSettings, { settings: chosen = {} }: EngineCall): CallSettings {
  const { model = settings.model, vadThreshold } = chosen;
  const turnDetection = turnDetectionOf(settings.turnDetection, chosen);
  const threshold = vadThreshold !== undefined && turnDetection.type === 'server_vad' ? { vadThreshold } : {};
  return { ...settings, model, turnDetection, ...threshold };
}

/** Default silence of `server_vad` if the operator has chosen detection by meaning. */
const SILENCE_MS = 500;

function turnDetectionOf(configured: TurnDetection, chosen: ConversationSettings): TurnDetection {
  const { endOfTurnEagerness: eagerness, endOfTurnSilenceMs: silenceMs, vadThreshold } = chosen;
  if (eagerness !== undefined) return { type: 'semantic_vad', eagerness };
  if (silenceMs !== undefined) return { type: 'server_vad', silenceMs };
  if (vadThreshold !== undefined && configured.type !== 'server_vad')
    return { type: 'server_vad', silenceMs: SILENCE_MS };
  return configured;
}

type Audio = FullSessionSettings['audio'];

/** The fields of a session that only the agent's settings set. */
export function sessionChoice({ model }: CallSettings, { settings: { reasoningEffort } = {} }: EngineCall) {
  const effort = EFFORTS.find((name) => name === reasoningEffort);
  return effort === undefined || NEVER_REASON.test(model) ? {} : { reasoning: { effort } };
}

/** The caller's noise reduction; null turns it off. */
export function noiseReduction({
  settings: { noiseReduction: kind } = {},
}: EngineCall): Pick<Audio['input'], 'noise_reduction'> {
  if (kind === undefined) return {};
  return { noise_reduction: kind === 'off' ? null : { type: kind } };
}

/** Voice and speed of the agent's speech. */
export function voiceChoice({ voice, settings: { voiceId, speechSpeed } = {} }: EngineCall) {
  return {
    voice: voiceId === undefined ? findVoice(voice).openai : voiceOf(voiceId),
    ...(speechSpeed === undefined ? {} : { speed: clamp(speechSpeed, SPEED) }),
  };
}

/** Ids of custom voices begin like this, and are given as objects (`RealtimeAudioConfigOutput.ID`, ibid.). */
function voiceOf(voiceId: string): RealtimeVoice {
  return voiceId.startsWith('voice_') ? { id: voiceId } : voiceId;
}

/** Sentences of the prompt for settings that only the model itself can follow. */
export function spokenHints({ settings: { pronunciations = [], resumeAfterNoise } = {} }: EngineCall): string[] {
  const words = pronunciations.map(
    ({ text, spoken }) => `${marked(toPlainLine(text))} as ${marked(toPlainLine(spoken))}`,
  );
  return [
    ...(words.length === 0 ? [] : [`Pronounce ${words.join(', ')}.`]),
    ...(resumeAfterNoise !== false
      ? ['If a noise without words interrupted you, continue where you were interrupted.']
      : []),
  ];
}

/** The settings of the agent that this engine, its model or its transcription model do not have. */
export function ignoredSettings(settings: CallSettings, call: EngineCall): SettingName[] {
  const { settings: chosen = {} } = call;
  const byMeaning = settings.turnDetection.type === 'semantic_vad';
  const isWithoutReasoning = !('reasoning' in sessionChoice(settings, call));
  return setAmong(chosen, [
    'temperature',
    'endOfTurnConfidence',
    'interruptionMinWords',
    ...(isWithoutReasoning ? (['reasoningEffort'] as const) : []),
    ...(byMeaning ? (['endOfTurnSilenceMs', 'vadThreshold', 'interruptionMinMs'] as const) : []),
    ...(transcriptionHints(settings.transcriptionModel, chosen.keyterms) === undefined ? (['keyterms'] as const) : []),
  ]);
}
