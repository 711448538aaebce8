import { createSynthesizer, type FliteVoice } from '../audio/flite.js';
import { voiceNamed } from './voices.js';

/** What is said by offline speech when a provider is slow or away. */
export const ONE_MOMENT = 'One moment, please.';
export const SORRY = 'I am sorry, we have a technical problem and I have to end this call. Goodbye.';
export const SILENT_GOODBYE = 'I cannot hear you, so I will hang up now. Goodbye.';

const LINES = [ONE_MOMENT, SORRY, SILENT_GOODBYE] as const;
export type LocalLine = (typeof LINES)[number];

export interface LocalLines {
  /** Speaks all of them once in the default voice. */
  warm(): Promise<void>;
  /** The same in the voice of a call that begins, so that none has to be made when everything else fails. */
  prepare(voice: string): void;
  /** @returns 8 kHz mu-law, in the offline voice that stands for the customer's choice; English only */
  audioOf(line: LocalLine, voice: string): Promise<Uint8Array>;
  close(): Promise<void>;
}

/** The few lines an engine must be able to say without its provider. */
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
      // One after the other: the synthesizer's patience is for one sentence.
      for (const line of LINES) await audioOf(line, voiceNamed('').flite);
    },
    prepare(voice) {
      // What cannot be made now is tried again when it is needed, and told then.
      for (const line of LINES) audioOf(line, voiceNamed(voice).flite).catch(() => undefined);
    },
    audioOf: (line, voice) => audioOf(line, voiceNamed(voice).flite),
    close: () => synthesizer.close(),
  };
}
