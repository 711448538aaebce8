import { decodeMulaw, encodeMulaw, MULAW_SILENCE } from '../../src/voice/audio/mulaw.js';
import type { Meaning } from '../../src/voice/audio/grammar.js';

export const silence = (ms: number) => new Uint8Array(ms * 8).fill(MULAW_SILENCE);

/** Returns a steady tone, such as the beep of an answering machine. */
export const tone = (hertz: number, ms: number, amplitude = 10_000) =>
  encodeMulaw(Int16Array.from({ length: ms * 8 }, (_, i) => amplitude * Math.sin((2 * Math.PI * hertz * i) / 8_000)));

/** Returns an utterance with 300 ms of silence before and after it, as if it were cut from a call's audio. */
export const onTheLine = (mulaw: Uint8Array) => Buffer.concat([silence(300), mulaw, silence(300)]);

/** Writes a meaning as a short text: the digits, "yes", "no", "choice" with its index, or a command. */
export function brief(meaning: Meaning | undefined): string {
  switch (meaning?.kind) {
    case 'yes-no':
      return meaning.value ? 'yes' : 'no';
    case 'digits':
      return meaning.digits;
    case 'choice':
      return `choice ${meaning.index}`;
    case 'typed':
      return meaning.text;
    case 'command':
      return meaning.command;
    case undefined:
      return 'nothing';
  }
}

/** Samples with a lower amplitude than this count as silence. */
const VOICE = 500;

/** Trims the silence before and after an utterance. */
export function withoutSilence(mulaw: Uint8Array): Uint8Array {
  const pcm = decodeMulaw(mulaw);
  const isVoice = (sample: number) => Math.abs(sample) > VOICE;
  return mulaw.subarray(Math.max(0, pcm.findIndex(isVoice)), pcm.findLastIndex(isVoice) + 1);
}
