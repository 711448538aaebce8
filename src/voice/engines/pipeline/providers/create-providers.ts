import type { PipelineSettings } from '../../../../platform/config/engines/pipeline-settings.js';
import type { ChatModel, SpeechToText, TextToSpeech } from '../ports.js';
import type { LlmDeps, ProviderDeps, SttDeps } from './description.js';
import { PIPELINE_PROVIDERS } from './list.js';

/** Creates the configured STT. */
export function createStt({ provider, ...account }: PipelineSettings['stt'], deps: SttDeps): SpeechToText {
  return PIPELINE_PROVIDERS.stt[provider].create(account, deps);
}

/** Creates the configured LLM. */
export function createLlm({ provider, ...account }: PipelineSettings['llm'], deps: LlmDeps): ChatModel {
  return PIPELINE_PROVIDERS.llm[provider].create(account, deps);
}

/**
 * Creates the configured TTS.
 * @throws Error if there is no voice
 */
export function createTts(
  { provider, voices, defaultVoice, ...account }: PipelineSettings['tts'],
  deps: ProviderDeps,
): TextToSpeech {
  const fallback = defaultVoice ?? Object.values(voices)[0];
  if (fallback === undefined) throw new Error('Text to speech has no voice. Set TTS_VOICES.');
  return PIPELINE_PROVIDERS.tts[provider].create({ ...account, voiceIdOf: (name) => voices[name] ?? fallback }, deps);
}
