import { unitOf } from '../chain/pipeline-chains.js';
import type { UsageMeter } from '../engine-usage.js';
import { createOfflinePhrases, ONE_MOMENT, SILENT_GOODBYE, SORRY } from '../offline-phrases.js';
import { findPhrases, usesEnglishPhrases } from './phrases.js';
import type { TextToSpeech, TtsOptions } from './ports.js';

const LOCAL = { filler: ONE_MOMENT, apology: SORRY, silenceGoodbye: SILENT_GOODBYE } as const;
export type PreparedPhrase = keyof typeof LOCAL;
const PHRASES: readonly PreparedPhrase[] = ['filler', 'apology', 'silenceGoodbye'];
/**
 * Maximum phrases kept: those that were used last. Those in the service's voices at their usual speed, and those of
 * agents that set a voice or speed, do not replace each other.
 */
const MAX_KEPT = 300;
/** Speeds are rounded to 0.05, because smaller differences cannot be heard. */
const SPEEDS_PER_UNIT = 20;

export interface PreparedPhrases {
  warm(): Promise<void>;
  /**
   * Synthesizes the sentences once in a voice, for all later calls that speak like this; ignores failures.
   * @param usage counts the characters, as usage of the call that needs them first
   */
  prepare(options: TtsOptions, usage?: Pick<UsageMeter, 'add'>): void;
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
  const requestedOf = { service: new Set<string>(), agents: new Set<string>() };
  const cancels = new Set<() => void>();

  function speak(phrase: PreparedPhrase, options: TtsOptions, usage?: Pick<UsageMeter, 'add'>): void {
    const key = keyOf(phrase, voice.number(), options);
    const requested = requestedOf[ownerOf(options)];
    const isKnown = requested.delete(key);
    requested.add(key);
    if (isKnown) return;
    const [oldest] = requested;
    if (requested.size > MAX_KEPT && oldest !== undefined) {
      requested.delete(oldest);
      audioByKey.delete(oldest);
    }
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
    const text = findPhrases(options.language)[phrase];
    usage?.add(unitOf('voice_characters', { number: voice.number() }), text.length);
    stream.say(text);
    stream.finish();
  }

  return {
    warm: () => local.warm(),
    prepare(options, usage) {
      for (const phrase of PHRASES) speak(phrase, atSharedSpeed(options), usage);
    },
    async getAudio(phrase, options) {
      const own = audioByKey.get(keyOf(phrase, voice.number(), atSharedSpeed(options)));
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

/** The owner of the voice and speed that the options name. */
function ownerOf({ settings: { voiceId, speechSpeed } }: TtsOptions): 'service' | 'agents' {
  return voiceId === undefined && speechSpeed === undefined ? 'service' : 'agents';
}

function atSharedSpeed(options: TtsOptions): TtsOptions {
  const { speechSpeed } = options.settings;
  if (speechSpeed === undefined) return options;
  const shared = Math.round(speechSpeed * SPEEDS_PER_UNIT) / SPEEDS_PER_UNIT;
  return { ...options, settings: { ...options.settings, speechSpeed: shared } };
}

function keyOf(phrase: PreparedPhrase, number: number, { voice, language, settings }: TtsOptions): string {
  return JSON.stringify([phrase, number, voice, language, settings.voiceId, settings.speechSpeed]);
}
