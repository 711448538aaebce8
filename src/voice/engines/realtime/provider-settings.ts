import type { OpenAiRealtimeSettings } from '../../../platform/config/config.js';
import type { EngineCall, TranscriptTurn } from '../port.js';
import { transcriptionHints } from '../../models/transcription-hints.js';
import { transcriptionLanguage } from '../../models/transcription-language.js';
import { emptyValues } from '../../results/extraction.js';
import { buildPrompt } from '../../session/prompt.js';
import { ANSWERING_MACHINE_TOOL } from '../../session/reducer/tools.js';
import { MAX_SPEECH_TOKENS } from '../../session/speech-limits.js';
import { noiseReduction, sessionChoice, spokenHints, voiceChoice, type CallSettings } from './agent-choice.js';
import type { ChangedSessionSettings, FullSessionSettings, TurnDetectionSettings } from './protocol.js';

/** Audio before the start of speech that the provider includes in a turn, in ms. */
export const PREFIX_MS = 300;

const TELEPHONE = { type: 'audio/pcmu' } as const;

/** The provider's WebSocket URL, derived from its HTTP base URL. */
export function socketUrl({ baseUrl, model }: OpenAiRealtimeSettings): string {
  return `${baseUrl.replace(/^http/, 'ws')}/realtime?model=${encodeURIComponent(model)}`;
}

/**
 * The provider's session settings for a call.
 * @param transcribes whether the provider transcribes the caller
 * @param resumed set for a session that continues a call: the transcript so far, and whether the caller noticed no
 * interruption, because the session before it was replaced on purpose
 */
export function buildSession(
  settings: CallSettings,
  call: EngineCall,
  transcribes: boolean,
  resumed: { turns: readonly TranscriptTurn[]; unnoticed: boolean } | undefined,
): FullSessionSettings {
  const values = call.resume?.values ?? emptyValues(call.outputTemplate);
  const model = settings.transcriptionModel;
  const tools = detectsMachines(call) ? [...call.tools, MACHINE_TOOL] : call.tools;
  return {
    type: 'realtime',
    output_modalities: ['audio'],
    max_output_tokens: MAX_SPEECH_TOKENS,
    instructions: buildPrompt(
      resumed === undefined ? call : { ...call, resume: { ...resumed, values } },
      spokenHints(call),
    ),
    tools: tools.map(({ name, description, parameters }) => ({ type: 'function', name, description, parameters })),
    ...sessionChoice(settings, call),
    audio: {
      input: {
        format: TELEPHONE,
        ...(transcribes ? { transcription: transcriptionOf(model, call) } : {}),
        ...noiseReduction(call),
        turn_detection: turnDetection(settings, true),
      },
      output: { format: TELEPHONE, ...voiceChoice(call) },
    },
  };
}

/** The session update that lets the provider answer each turn without a request, or makes it only listen. */
export function autoReplySettings(settings: CallSettings, answers: boolean): ChangedSessionSettings {
  return { type: 'realtime', audio: { input: { turn_detection: turnDetection(settings, answers) } } };
}

function transcriptionOf(model: string, { language, settings = {} }: EngineCall) {
  return { model, ...transcriptionLanguage(model, language), ...transcriptionHints(model, settings.keyterms) };
}

export function detectsMachines({ direction, voicemail }: EngineCall): boolean {
  return direction === 'outbound' && voicemail.action !== 'continue';
}

/** Settings of turn detection. The provider must not interrupt replies, because only we know how much was played. */
function turnDetection({ turnDetection: chosen, vadThreshold }: CallSettings, answers: boolean): TurnDetectionSettings {
  const common = { create_response: answers, interrupt_response: false };
  const threshold = vadThreshold === undefined ? {} : { threshold: vadThreshold };
  return chosen.type === 'server_vad'
    ? {
        type: 'server_vad',
        prefix_padding_ms: PREFIX_MS,
        silence_duration_ms: chosen.silenceMs,
        ...threshold,
        ...common,
      }
    : { type: 'semantic_vad', eagerness: chosen.eagerness, ...common };
}

const MACHINE_TOOL = {
  name: ANSWERING_MACHINE_TOOL,
  description:
    'Call this at once, and say nothing, when you hear that an answering machine or a voicemail has answered instead of a person.',
  parameters: { type: 'object', properties: {}, additionalProperties: false },
};
