import type { SpeechRequest } from './flite-worker.js';
import { splitSpeech } from './speech-pieces.js';
import { createWorkerThread } from './worker-thread.js';
import type { RequestOwner } from './request-queue.js';

export const FLITE_VOICES = ['slt', 'rms', 'awb', 'kal'] as const;
export type FliteVoice = (typeof FLITE_VOICES)[number];

export interface Synthesizer {
  /** Loads the voices, so that the first sentence is as fast as later ones. */
  warm(): Promise<void>;
  /**
   * Converts English text to speech. Drops the part of the text that exceeds about two minutes of speech. Cuts the text
   * into pieces of about 10 s of speech, and queues one piece at a time.
   * @param owner the call that needs the speech; without it, the request is queued with those of live-mode calls
   * @returns 8 kHz mu-law, empty for an empty text; a sentence of 3 s takes about 60 ms of one core
   * @throws Error if a piece waits over 20 s or takes over 10 s to synthesize, or after `close`
   */
  speak(text: string, voice: FliteVoice, owner?: RequestOwner): Promise<Uint8Array>;
  close(): Promise<void>;
}

const SPEAK_WITHIN_MS = 10_000;

/** Creates offline TTS (flite) in a separate worker thread. */
export function createSynthesizer(): Synthesizer {
  const thread = createWorkerThread<SpeechRequest, Uint8Array>({
    module: 'flite-worker',
    name: 'synthesizer',
    timeoutMs: SPEAK_WITHIN_MS,
  });

  async function speak(text: string, voice: FliteVoice, owner?: RequestOwner): Promise<Uint8Array> {
    const spoken: Uint8Array[] = [];
    // Synthesize one piece at a time, so that requests of other calls run in between.
    for (const piece of splitSpeech(text)) spoken.push(await thread.run({ text: piece, voice }, owner));
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
