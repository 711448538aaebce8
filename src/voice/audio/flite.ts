import type { SpeechRequest } from './flite-worker.js';
import { createThread } from './thread.js';

export const FLITE_VOICES = ['slt', 'rms', 'awb', 'kal'] as const;
export type FliteVoice = (typeof FLITE_VOICES)[number];

export interface Synthesizer {
  /** Loads the voices, so that the first sentence comes as soon as every other. */
  warm(): Promise<void>;
  /**
   * Speaks English text.
   * @returns 8 kHz mu-law; a sentence of 3 s takes about 60 ms of one core
   * @throws Error when the text cannot be spoken within 20 s, or the synthesizer is closed
   */
  speak(text: string, voice: FliteVoice): Promise<Uint8Array>;
  close(): Promise<void>;
}

const SPEAK_WITHIN_MS = 20_000;

/** Offline speech, in a thread of its own. */
export function createSynthesizer(): Synthesizer {
  const thread = createThread<SpeechRequest, Uint8Array>({
    module: 'flite-worker',
    name: 'synthesizer',
    withinMs: SPEAK_WITHIN_MS,
  });
  const speak: Synthesizer['speak'] = (text, voice) => thread.ask({ text, voice });
  return {
    speak,
    async warm() {
      await speak('Hello.', 'slt');
    },
    close: () => thread.close(),
  };
}
