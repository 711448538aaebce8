import type { Dispatcher } from 'undici';
import type { PipelineSettings } from '../../../../platform/config/pipeline-settings.js';
import type { TextToSpeech } from '../ports.js';
import { createElevenLabsTts } from './elevenlabs/elevenlabs-tts.js';
import { createOpenAiTts } from './openai-speech.js';

type TtsSettings = PipelineSettings['tts'];

interface TtsAccount extends Pick<TtsSettings, 'baseUrl' | 'apiKey' | 'model'> {
  voiceIdOf(voice: string): string;
}

type CreateTts = (account: TtsAccount, deps: { dispatcher: Dispatcher; timeoutMs?: number }) => TextToSpeech;

/** TTS providers by their name in `TTS_PROVIDER`. */
const PROVIDERS: Record<TtsSettings['provider'], CreateTts> = {
  elevenlabs: createElevenLabsTts,
  openai: createOpenAiTts,
};

/**
 * Creates the configured TTS.
 * @param deps.timeoutMs how long TTS may send nothing before it counts as lost
 * @throws Error if there is no voice
 */
export function createTts(
  { provider, voices, defaultVoice, ...account }: TtsSettings,
  deps: { dispatcher: Dispatcher; timeoutMs?: number },
): TextToSpeech {
  const fallback = defaultVoice ?? Object.values(voices)[0];
  if (fallback === undefined) throw new Error('Text to speech has no voice. Set TTS_VOICES.');
  return PROVIDERS[provider]({ ...account, voiceIdOf: (name) => voices[name] ?? fallback }, deps);
}
