import type { FliteVoice } from '../audio/flite.js';

/** The provider-specific names of a voice of `src/kernel/voices.ts`. */
export interface SpokenVoice {
  name: string;
  flite: FliteVoice;
  /** OpenAI's realtime voice. The pipeline engine has its voices in its settings. */
  openai: string;
}

const SPOKEN_VOICES: readonly SpokenVoice[] = [
  { name: 'amber', flite: 'slt', openai: 'marin' },
  { name: 'cobalt', flite: 'rms', openai: 'cedar' },
  { name: 'slate', flite: 'awb', openai: 'ballad' },
  { name: 'copper', flite: 'kal', openai: 'echo' },
];

const DEFAULT_VOICE: SpokenVoice = SPOKEN_VOICES[0] ?? fail('no voices');

/** The voice with this name, or the default one: a call must not fail because a voice was renamed. */
export function voiceNamed(name: string): SpokenVoice {
  return SPOKEN_VOICES.find((voice) => voice.name === name) ?? DEFAULT_VOICE;
}

function fail(reason: string): never {
  throw new Error(reason);
}
