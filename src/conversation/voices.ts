import type { FliteVoice } from '../audio/flite.js';

/** A voice as customers choose it, the same name on every engine. */
export interface Voice {
  name: string;
  language: string;
  description: string;
  /** What the offline engine speaks it with. */
  flite: FliteVoice;
}

export const VOICES: readonly Voice[] = [
  { name: 'amber', language: 'en-US', description: 'Female, clear, calm', flite: 'slt' },
  { name: 'cobalt', language: 'en-US', description: 'Male, deep', flite: 'rms' },
  { name: 'slate', language: 'en-US', description: 'Male, Scottish', flite: 'awb' },
  { name: 'copper', language: 'en-US', description: 'Male, plain', flite: 'kal' },
];

const DEFAULT_VOICE: Voice = VOICES[0] ?? fail('no voices');

/** The voice of that name, or the default one: a call must not fail because a voice was renamed. */
export function voiceNamed(name: string): Voice {
  return VOICES.find((voice) => voice.name === name) ?? DEFAULT_VOICE;
}

function fail(reason: string): never {
  throw new Error(reason);
}
