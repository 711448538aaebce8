import { createLocalLines, ONE_MOMENT, SILENT_GOODBYE, SORRY } from '../local-lines.js';
import { phrasesOf, speaksEnglish } from './phrases.js';
import type { TextToSpeech } from './ports.js';

const LOCAL = { oneMoment: ONE_MOMENT, sorry: SORRY, silentGoodbye: SILENT_GOODBYE } as const;
export type PreparedLine = keyof typeof LOCAL;
const LINES: readonly PreparedLine[] = ['oneMoment', 'sorry', 'silentGoodbye'];
/** A limit above the number of voices and languages of any service. */
const MAX_KEPT = 300;

export interface PreparedLines {
  warm(): Promise<void>;
  /** Synthesizes the sentences once in a voice, for all later calls; ignores failures. */
  prepare(voice: string, language: string): void;
  /**
   * @returns 8 kHz mu-law in the call's own voice if prepared, else in an offline voice in English; undefined if a
   *   filler would be in another language than the call
   */
  audioOf(line: PreparedLine, voice: string, language: string): Promise<Uint8Array | undefined>;
  close(): Promise<void>;
}

/** Sentences that must be available at once, even when all providers are gone. */
export function createPreparedLines(voice: TextToSpeech): PreparedLines {
  const local = createLocalLines();
  const spoken = new Map<string, Uint8Array>();
  const asked = new Set<string>();
  const cancels = new Set<() => void>();

  function speak(line: PreparedLine, voiceName: string, language: string): void {
    const key = `${line} ${voiceName} ${language}`;
    if (asked.has(key) || asked.size >= MAX_KEPT) return;
    asked.add(key);
    const parts: Uint8Array[] = [];
    const stream = voice.open(voiceName, language, {
      onAudio: (mulaw) => void parts.push(mulaw),
      onSpoken: () => undefined,
      onDone() {
        cancels.delete(cancel);
        if (parts.length > 0) spoken.set(key, Buffer.concat(parts));
      },
      onLost() {
        cancels.delete(cancel);
        asked.delete(key);
      },
    });
    const cancel = () => stream.cancel();
    cancels.add(cancel);
    stream.say(phrasesOf(language)[line]);
    stream.finish();
  }

  return {
    warm: () => local.warm(),
    prepare(voiceName, language) {
      for (const line of LINES) speak(line, voiceName, language);
    },
    async audioOf(line, voiceName, language) {
      const own = spoken.get(`${line} ${voiceName} ${language}`);
      if (own !== undefined) return own;
      if (line === 'oneMoment' && !speaksEnglish(language)) return undefined;
      try {
        return await local.audioOf(LOCAL[line], voiceName);
      } catch {
        // Offline TTS failed, too: the call ends without the sentence.
        return undefined;
      }
    },
    async close() {
      for (const cancel of cancels) cancel();
      await local.close();
    },
  };
}
