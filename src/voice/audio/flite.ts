import type { SpeechRequest } from './flite-worker.js';
import { speechPieces } from './speech-pieces.js';
import { createThread } from './thread.js';
import type { Asker } from './turns.js';

export const FLITE_VOICES = ['slt', 'rms', 'awb', 'kal'] as const;
export type FliteVoice = (typeof FLITE_VOICES)[number];

export interface Synthesizer {
  /** Loads the voices, so that the first sentence is as fast as later ones. */
  warm(): Promise<void>;
  /**
   * Speaks English text, at most about two minutes of it, and drops the rest.
   * @param of the call to queue the work for; by default the process itself, whose requests count as live
   * @returns 8 kHz mu-law, empty for an empty text; a sentence of 3 s takes about 60 ms of one core
   * @throws Error if a piece of about 10 s takes longer than 10 s or waits longer than 20 s, or after `close`
   */
  speak(text: string, voice: FliteVoice, of?: Asker): Promise<Uint8Array>;
  close(): Promise<void>;
}

const SPEAK_WITHIN_MS = 10_000;

/** Offline TTS (flite) in its own worker thread. */
export function createSynthesizer(): Synthesizer {
  const thread = createThread<SpeechRequest, Uint8Array>({
    module: 'flite-worker',
    name: 'synthesizer',
    withinMs: SPEAK_WITHIN_MS,
  });

  async function speak(text: string, voice: FliteVoice, of?: Asker): Promise<Uint8Array> {
    const spoken: Uint8Array[] = [];
    // One piece at a time, so that requests of other calls run in between.
    for (const piece of speechPieces(text)) spoken.push(await thread.ask({ text: piece, voice }, of));
    return spoken.length === 1 && spoken[0] !== undefined ? spoken[0] : Buffer.concat(spoken);
  }

  return {
    speak,
    async warm() {
      await speak('Hello.', 'slt');
    },
    close: () => thread.close(),
  };
}
