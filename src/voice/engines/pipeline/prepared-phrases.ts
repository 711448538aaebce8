import { createOfflinePhrases, ONE_MOMENT, SILENT_GOODBYE, SORRY } from '../offline-phrases.js';
import { findPhrases, usesEnglishPhrases } from './phrases.js';
import type { TextToSpeech } from './ports.js';

const LOCAL = { filler: ONE_MOMENT, apology: SORRY, silenceGoodbye: SILENT_GOODBYE } as const;
export type PreparedPhrase = keyof typeof LOCAL;
const PHRASES: readonly PreparedPhrase[] = ['filler', 'apology', 'silenceGoodbye'];
/** Maximum phrases kept; more than all phrases in all voices and languages that a service uses. */
const MAX_KEPT = 300;

export interface PreparedPhrases {
  warm(): Promise<void>;
  /** Synthesizes the sentences once in a voice, for all later calls; ignores failures. */
  prepare(voice: string, language: string): void;
  /**
   * @returns 8 kHz mu-law in the call's voice and language if prepared, else in an offline voice in English; undefined
   *   for a filler that would be in another language than the call
   */
  getAudio(phrase: PreparedPhrase, voice: string, language: string): Promise<Uint8Array | undefined>;
  close(): Promise<void>;
}

/** Creates the sentences that must be available at once, even when all providers have failed. */
export function createPreparedPhrases(voice: TextToSpeech): PreparedPhrases {
  const local = createOfflinePhrases();
  const audioByKey = new Map<string, Uint8Array>();
  const requested = new Set<string>();
  const cancels = new Set<() => void>();

  function speak(phrase: PreparedPhrase, voiceName: string, language: string): void {
    const key = `${phrase} ${voiceName} ${language}`;
    if (requested.has(key) || requested.size >= MAX_KEPT) return;
    requested.add(key);
    const parts: Uint8Array[] = [];
    const stream = voice.open(
      { voice: voiceName, language, settings: {} },
      {
        onAudio: (mulaw) => void parts.push(mulaw),
        onSpoken: () => undefined,
        onDone() {
          cancels.delete(cancel);
          if (parts.length > 0) audioByKey.set(key, Buffer.concat(parts));
        },
        onLost() {
          cancels.delete(cancel);
          requested.delete(key);
        },
      },
    );
    const cancel = () => stream.cancel();
    cancels.add(cancel);
    stream.say(findPhrases(language)[phrase]);
    stream.finish();
  }

  return {
    warm: () => local.warm(),
    prepare(voiceName, language) {
      for (const phrase of PHRASES) speak(phrase, voiceName, language);
    },
    async getAudio(phrase, voiceName, language) {
      const own = audioByKey.get(`${phrase} ${voiceName} ${language}`);
      if (own !== undefined) return own;
      if (phrase === 'filler' && !usesEnglishPhrases(language)) return undefined;
      try {
        return await local.synthesize(LOCAL[phrase], voiceName);
      } catch {
        // Offline TTS failed, too, so the call continues or ends without the sentence.
        return undefined;
      }
    },
    async close() {
      for (const cancel of cancels) cancel();
      await local.close();
    },
  };
}
