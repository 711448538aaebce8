import { createSynthesizer, type FliteVoice } from '../audio/flite.js';
import { findVoice } from './voices.js';

/** Sentences spoken by offline TTS when a provider is slow or unavailable. */
export const ONE_MOMENT = 'One moment, please.';
export const SORRY = 'I am sorry, we have a technical problem and I have to end this call. Goodbye.';
export const SILENT_GOODBYE = 'I cannot hear you, so I will hang up now. Goodbye.';

const PHRASES = [ONE_MOMENT, SORRY, SILENT_GOODBYE] as const;
export type OfflinePhrase = (typeof PHRASES)[number];

export interface OfflinePhrases {
  /** Synthesizes all phrases in the default voice. */
  warm(): Promise<void>;
  /** Starts to synthesize all phrases in the voice of a new call, so that they are ready if the provider fails. */
  prepare(voice: string): void;
  /** @returns 8 kHz mu-law, in the flite voice that corresponds to the chosen voice; English only */
  synthesize(phrase: OfflinePhrase, voice: string): Promise<Uint8Array>;
  close(): Promise<void>;
}

/** The sentences that an engine must be able to say without its provider. */
export function createOfflinePhrases(): OfflinePhrases {
  const synthesizer = createSynthesizer();
  const audioByKey = new Map<string, Promise<Uint8Array>>();

  function synthesize(phrase: OfflinePhrase, voice: FliteVoice): Promise<Uint8Array> {
    const key = `${voice} ${phrase}`;
    const known = audioByKey.get(key);
    if (known !== undefined) return known;
    const audio = synthesizer.speak(phrase, voice);
    audioByKey.set(key, audio);
    audio.catch(() => audioByKey.delete(key));
    return audio;
  }

  return {
    async warm() {
      // Synthesize one phrase at a time, so that each one has the full timeout of the synthesizer.
      for (const phrase of PHRASES) await synthesize(phrase, findVoice('').flite);
    },
    prepare(voice) {
      // Ignore failures: `synthesize` tries again and reports them.
      for (const phrase of PHRASES) synthesize(phrase, findVoice(voice).flite).catch(() => undefined);
    },
    synthesize: (phrase, voice) => synthesize(phrase, findVoice(voice).flite),
    close: () => synthesizer.close(),
  };
}
