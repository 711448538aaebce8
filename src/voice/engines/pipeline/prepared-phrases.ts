import { unitOf } from '../chain/pipeline-chains.js';
import type { UsageMeter } from '../engine-usage.js';
import { createOfflinePhrases, ONE_MOMENT, SILENT_GOODBYE, SORRY } from '../offline-phrases.js';
import { findPhrases, usesEnglishPhrases } from './phrases.js';
import type { CallTts, TextToSpeech, TtsOptions, TtsStream } from './ports.js';

const LOCAL = { filler: ONE_MOMENT, apology: SORRY, silenceGoodbye: SILENT_GOODBYE } as const;
export type PreparedPhrase = keyof typeof LOCAL;
const PHRASES: readonly PreparedPhrase[] = ['filler', 'apology', 'silenceGoodbye'];
/**
 * Maximum phrases kept: those that were used last. Those in the service's voices at their usual speed, and those of
 * agents that set a voice or speed, do not replace each other.
 */
const MAX_KEPT = 300;
/** A phrase that failed is tried again after this time, in ms. */
const AGAIN_AFTER_MS = 60_000;
/** Speeds are rounded to 0.05, because smaller differences cannot be heard. */
const SPEEDS_PER_UNIT = 20;

export interface PreparedPhrases {
  warm(): Promise<void>;
  /**
   * Synthesizes the sentences once in a voice, for all later calls that speak like this; ignores failures.
   * @param usage counts the characters that were spoken, as usage of the call that needs them first
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

/**
 * Creates the sentences that must be available at once, even when all providers have failed.
 * @param now a monotonic clock in ms
 */
export function createPreparedPhrases(voice: VoiceOfPhrases, now = () => performance.now()): PreparedPhrases {
  const local = createOfflinePhrases();
  const audioByKey = new Map<string, Uint8Array>();
  const requestedOf = { service: new Set<string>(), agents: new Set<string>() };
  const failedAt = new Map<string, number>();
  const cancels = new Set<() => void>();

  function forget(key: string): void {
    audioByKey.delete(key);
    failedAt.delete(key);
  }

  /** Whether a phrase must be spoken now. If so, it counts as requested. */
  function isDue(key: string, requested: Set<string>): boolean {
    const isKnown = requested.delete(key);
    requested.add(key);
    const [oldest] = requested;
    if (requested.size > MAX_KEPT && oldest !== undefined) {
      requested.delete(oldest);
      forget(oldest);
    }
    const failed = failedAt.get(key);
    const isDue = failed === undefined ? !isKnown : now() - failed >= AGAIN_AFTER_MS;
    if (isDue) failedAt.delete(key);
    return isDue;
  }

  function prepare(given: TtsOptions, usage?: Pick<UsageMeter, 'add'>): void {
    const options = atSharedSpeed(given);
    const number = voice.number();
    const requested = requestedOf[ownerOf(options)];
    const due = PHRASES.filter((phrase) => isDue(keyOf(phrase, number, options), requested));
    if (due.length === 0) return;
    const connection = voice.forCall?.() ?? { open: (...given) => voice.open(...given), close: () => undefined };
    const streams = new Set<TtsStream>();
    const cancel = () => {
      for (const stream of streams) stream.cancel();
      connection.close();
    };
    cancels.add(cancel);
    let open = due.length;
    for (const phrase of due) {
      const key = keyOf(phrase, number, options);
      const text = findPhrases(options.language)[phrase];
      const stream = speak(connection, {
        text,
        options,
        count: (characters) => usage?.add(unitOf('voice_characters', { number }), characters),
        onEnd(mulaw) {
          if (mulaw === undefined && requested.has(key)) failedAt.set(key, now());
          if (mulaw !== undefined && requested.has(key)) audioByKey.set(key, mulaw);
          open -= 1;
          if (open > 0) return;
          cancels.delete(cancel);
          connection.close();
        },
      });
      streams.add(stream);
    }
  }

  return {
    warm: () => local.warm(),
    prepare,
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

/** Speaks a text. Providers bill text that they have spoken, so its characters count with the first audio. */
function speak(
  connection: CallTts,
  p: {
    text: string;
    options: TtsOptions;
    count(characters: number): void;
    /** @param mulaw undefined if no audio came */
    onEnd(mulaw: Uint8Array | undefined): void;
  },
): TtsStream {
  const parts: Uint8Array[] = [];
  const stream = connection.open(p.options, {
    onAudio(mulaw) {
      if (parts.length === 0) p.count(p.text.length);
      parts.push(mulaw);
    },
    onSpoken: () => undefined,
    onReconnected(_error, again) {
      if (parts.length > 0) p.count(again.length);
    },
    onDone: () => p.onEnd(parts.length === 0 ? undefined : Buffer.concat(parts)),
    onLost: () => p.onEnd(undefined),
  });
  stream.say(p.text);
  stream.finish();
  return stream;
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
