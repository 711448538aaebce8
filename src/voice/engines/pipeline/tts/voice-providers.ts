import type { Dispatcher } from 'undici';
import type { PipelineSettings } from '../../../../platform/config/engines.js';
import type { TextToSpeech } from '../ports.js';
import { createElevenLabsVoice } from './elevenlabs.js';
import { createOpenAiSpeech } from './openai-speech.js';

type VoiceSettings = PipelineSettings['voice'];

interface VoiceAccount extends Pick<VoiceSettings, 'baseUrl' | 'apiKey' | 'model'> {
  voiceIdOf(voice: string): string;
}

type CreateVoice = (account: VoiceAccount, deps: { dispatcher: Dispatcher; silentMs?: number }) => TextToSpeech;

/** TTS providers by their name in `TTS_PROVIDER`. */
const PROVIDERS: Record<VoiceSettings['provider'], CreateVoice> = {
  elevenlabs: createElevenLabsVoice,
  openai: createOpenAiSpeech,
};

/** Creates the configured TTS. @param deps.silentMs how long it may send nothing before it counts as lost */
export function createVoice(
  { provider, voices, defaultVoice, ...account }: VoiceSettings,
  deps: { dispatcher: Dispatcher; silentMs?: number },
): TextToSpeech {
  return PROVIDERS[provider]({ ...account, voiceIdOf: (name) => voices[name] ?? defaultVoice }, deps);
}
