import type { FliteVoice } from '../audio/flite.js';

/** What a voice of `src/domain/voices.ts` is called by those who speak it. */
export interface SpokenVoice {
  name: string;
  flite: FliteVoice;
  /** OpenAI's voice, in its realtime and its speech interface. ElevenLabs' voices come from the configuration. */
  openai: string;
}

const SPOKEN: readonly SpokenVoice[] = [
  { name: 'amber', flite: 'slt', openai: 'coral' },
  { name: 'cobalt', flite: 'rms', openai: 'ash' },
  { name: 'slate', flite: 'awb', openai: 'ballad' },
  { name: 'copper', flite: 'kal', openai: 'echo' },
];

const DEFAULT_VOICE: SpokenVoice = SPOKEN[0] ?? fail('no voices');

/** The voice of that name, or the default one: a call must not fail because a voice was renamed. */
export function voiceNamed(name: string): SpokenVoice {
  return SPOKEN.find((voice) => voice.name === name) ?? DEFAULT_VOICE;
}

function fail(reason: string): never {
  throw new Error(reason);
}
