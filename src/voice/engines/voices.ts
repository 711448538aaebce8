import type { FliteVoice } from '../audio/flite.js';

/** The voices of OpenAI's realtime models: `RealtimeAudioConfigOutput.voice` of the npm package `openai` 7.57.0. */
export const REALTIME_VOICES: readonly string[] = 'alloy ash ballad coral echo sage shimmer verse marin cedar'.split(
  ' ',
);

/** The names that TTS providers use for one of our voices. */
export interface SpokenVoice {
  name: string;
  flite: FliteVoice;
  /** OpenAI's realtime voice. The pipeline engine takes its voices from its settings. */
  openai: string;
}

const SPOKEN_VOICES: readonly SpokenVoice[] = [
  { name: 'amber', flite: 'slt', openai: 'marin' },
  { name: 'cobalt', flite: 'rms', openai: 'cedar' },
  { name: 'slate', flite: 'awb', openai: 'ballad' },
  { name: 'copper', flite: 'kal', openai: 'echo' },
];

const DEFAULT_VOICE: SpokenVoice = SPOKEN_VOICES[0] ?? fail('SPOKEN_VOICES must not be empty');

/** The voice with this name. If it does not exist, the default one, so that renaming a voice breaks no call. */
export function findVoice(name: string): SpokenVoice {
  return SPOKEN_VOICES.find((voice) => voice.name === name) ?? DEFAULT_VOICE;
}

function fail(reason: string): never {
  throw new Error(reason);
}
