import { createSynthesizer, type FliteVoice } from '../audio/flite.js';
import { voiceNamed } from './voices.js';

/** Sentences spoken by offline TTS when a provider is slow or unavailable. */
export const ONE_MOMENT = 'One moment, please.';
export const SORRY = 'I am sorry, we have a technical problem and I have to end this call. Goodbye.';
export const SILENT_GOODBYE = 'I cannot hear you, so I will hang up now. Goodbye.';

const LINES = [ONE_MOMENT, SORRY, SILENT_GOODBYE] as const;
export type LocalLine = (typeof LINES)[number];

export interface LocalLines {
  /** Synthesizes all of them in the default voice. */
  warm(): Promise<void>;
  /** Synthesizes them in the voice of a new call, so that they are ready if everything else fails. */
  prepare(voice: string): void;
  /** @returns 8 kHz mu-law, in the flite voice that corresponds to the chosen voice; English only */
  audioOf(line: LocalLine, voice: string): Promise<Uint8Array>;
  close(): Promise<void>;
}

/** The sentences that an engine must be able to say without its provider. */
export function createLocalLines(): LocalLines {
  const synthesizer = createSynthesizer();
  const spoken = new Map<string, Promise<Uint8Array>>();

  function audioOf(line: LocalLine, voice: FliteVoice): Promise<Uint8Array> {
    const key = `${voice} ${line}`;
    const known = spoken.get(key);
    if (known !== undefined) return known;
    const audio = synthesizer.speak(line, voice);
    spoken.set(key, audio);
    audio.catch(() => spoken.delete(key));
    return audio;
  }

  return {
    async warm() {
      // One at a time, so that each one has the full timeout of the synthesizer.
      for (const line of LINES) await audioOf(line, voiceNamed('').flite);
    },
    prepare(voice) {
      // Ignore failures: `audioOf` tries again and reports them.
      for (const line of LINES) audioOf(line, voiceNamed(voice).flite).catch(() => undefined);
    },
    audioOf: (line, voice) => audioOf(line, voiceNamed(voice).flite),
    close: () => synthesizer.close(),
  };
}
