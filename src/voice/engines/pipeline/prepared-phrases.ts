import { createOfflinePhrases, ONE_MOMENT, SILENT_GOODBYE, SORRY } from '../offline-phrases.js';
import { findPhrases, usesEnglishPhrases } from './phrases.js';
import type { TextToSpeech, TtsOptions } from './ports.js';

const LOCAL = { filler: ONE_MOMENT, apology: SORRY, silenceGoodbye: SILENT_GOODBYE } as const;
export type PreparedPhrase = keyof typeof LOCAL;
const PHRASES: readonly PreparedPhrase[] = ['filler', 'apology', 'silenceGoodbye'];
/** Maximum phrases kept: those that were used last. */
const MAX_KEPT = 300;

export interface PreparedPhrases {
  warm(): Promise<void>;
  /** Synthesizes the sentences once in a voice, for all later calls that speak like this; ignores failures. */
  prepare(options: TtsOptions): void;
  /**
   * @returns 8 kHz mu-law in the call's voice and language if prepared, else in an offline voice in English; undefined
   *   for a filler that would be in another language than the call
   */
  getAudio(phrase: PreparedPhrase, options: TtsOptions): Promise<Uint8Array | undefined>;
  close(): Promise<void>;
}

/** TTS with the number of the provider that it uses now. */
export type VoiceOfPhrases = TextToSpeech & { number(): number };

/** Creates the sentences that must be available at once, even when all providers have failed. */
export function createPreparedPhrases(voice: VoiceOfPhrases): PreparedPhrases {
  const local = createOfflinePhrases();
  const audioByKey = new Map<string, Uint8Array>();
  const requested = new Set<string>();
  const cancels = new Set<() => void>();

  function speak(phrase: PreparedPhrase, options: TtsOptions): void {
    const key = keyOf(phrase, voice.number(), options);
    const isKnown = requested.delete(key);
    requested.add(key);
    if (isKnown) return;
    const [oldest] = requested;
    if (requested.size > MAX_KEPT && oldest !== undefined) forget(oldest);
    const parts: Uint8Array[] = [];
    const stream = voice.open(options, {
      onAudio: (mulaw) => void parts.push(mulaw),
      onSpoken: () => undefined,
      onDone() {
        cancels.delete(cancel);
        if (parts.length > 0 && requested.has(key)) audioByKey.set(key, Buffer.concat(parts));
      },
      onLost() {
        cancels.delete(cancel);
        requested.delete(key);
      },
    });
    const cancel = () => stream.cancel();
    cancels.add(cancel);
    stream.say(findPhrases(options.language)[phrase]);
    stream.finish();
  }

  function forget(key: string): void {
    requested.delete(key);
    audioByKey.delete(key);
  }

  return {
    warm: () => local.warm(),
    prepare(options) {
      for (const phrase of PHRASES) speak(phrase, options);
    },
    async getAudio(phrase, options) {
      const own = audioByKey.get(keyOf(phrase, voice.number(), options));
      if (own !== undefined) return own;
      if (phrase === 'filler' && !usesEnglishPhrases(options.language)) return undefined;
      try {
        return await local.synthesize(LOCAL[phrase], options.voice);
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

function keyOf(phrase: PreparedPhrase, number: number, { voice, language, settings }: TtsOptions): string {
  return JSON.stringify([phrase, number, voice, language, settings.voiceId, settings.speechSpeed]);
}
