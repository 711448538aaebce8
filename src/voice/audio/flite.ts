import type { SpeechRequest } from './flite-worker.js';
import { speechPieces } from './speech-pieces.js';
import { createThread } from './thread.js';
import type { Asker } from './turns.js';

export const FLITE_VOICES = ['slt', 'rms', 'awb', 'kal'] as const;
export type FliteVoice = (typeof FLITE_VOICES)[number];

export interface Synthesizer {
  /** Loads the voices, so that the first sentence comes as soon as every other. */
  warm(): Promise<void>;
  /**
   * Speaks English text, two minutes of it at most; the rest is left out.
   * @param of in whose turn; the process's own, before all others, unless told
   * @returns 8 kHz mu-law; a sentence of 3 s takes about 60 ms of one core. Nothing for a text of nothing
   * @throws Error when about 10 s of it cannot be spoken within 10 s or wait longer than 20 s, or the synthesizer is closed
   */
  speak(text: string, voice: FliteVoice, of?: Asker): Promise<Uint8Array>;
  close(): Promise<void>;
}

const SPEAK_WITHIN_MS = 10_000;

/** Offline speech, in a thread of its own. */
export function createSynthesizer(): Synthesizer {
  const thread = createThread<SpeechRequest, Uint8Array>({
    module: 'flite-worker',
    name: 'synthesizer',
    withinMs: SPEAK_WITHIN_MS,
  });

  async function speak(text: string, voice: FliteVoice, of?: Asker): Promise<Uint8Array> {
    const spoken: Uint8Array[] = [];
    // One after the other: others have their turn between them.
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
