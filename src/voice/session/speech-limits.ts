/** How far TTS may be ahead of playback: enough to bridge a slow provider, but little to discard on a barge-in. */
const MAX_AHEAD_MS = 10_000;
/**
 * How far TTS may be ahead of playback while more speech of the call was discarded than heard, or while the caller may
 * not have finished speaking.
 */
const CAREFUL_AHEAD_MS = 2_500;
/** Most characters that are sent to TTS at a time while more speech of the call was discarded than heard. */
const CAREFUL_CHARACTERS = 60;
/** Maximum length of a reply: about two minutes of speech. */
const MAX_ANSWER_CHARACTERS = 2_000;

/** Characters that a call may send to TTS at its start, and the most it can save up: two of the longest replies. */
const SPEECH_AT_START = 4_000;
/** Characters earned each second of the call: more than a fast speaker needs who never pauses, which is about 15. */
const SPEECH_PER_S = 25;
/** Further characters for which one reply is used up. */
const SPEECH_PER_REPLY = 25;

/** Output limit of an LLM per reply, including reasoning and tool arguments. */
export const MAX_REPLY_TOKENS = 4_096;
/** Output limit of a speech model per reply: about two minutes, at 20 audio and 4 text tokens per second. */
export const MAX_SPEECH_TOKENS = 3_000;
/** Output limit of an LLM for the conclusion of a call: values, summary and reasoning. */
export const MAX_CONCLUSION_TOKENS = 8_192;

/**
 * @param aheadMs length of the speech that was requested from TTS and not played yet, in ms
 * @param isCareful whether the speech is likely to be discarded
 */
export function isFarAhead(aheadMs: number, isCareful: boolean): boolean {
  return aheadMs >= (isCareful ? CAREFUL_AHEAD_MS : MAX_AHEAD_MS);
}

export type SpeechBalance = ReturnType<typeof createSpeechBalance>;

/** Compares how much of the agent's paid speech the caller has heard in a call, and how much was discarded. */
export function createSpeechBalance() {
  let heard = 0;
  let discarded = 0;
  return {
    /** Adds an utterance that has ended. Both counts are characters. */
    add(p: { bought: number; heard: number }): void {
      heard += p.heard;
      discarded += Math.max(0, p.bought - p.heard);
    },
    /** Whether more speech was discarded than heard. Then less speech is requested in advance. */
    isNegative: () => discarded > heard,
  };
}

/**
 * Converts speech that a call could not have played in its time into replies, so that a call whose speech is discarded
 * or multiplied makes fewer replies. TTS is billed by the character, while the call is billed by the second.
 * @param now time in ms since the conversation began
 */
export function createSpeechCharges(now: () => number) {
  let left = SPEECH_AT_START;
  let atMs = now();
  return {
    /**
     * @param characters characters sent to TTS
     * @returns the number of further replies that they use up; may be fractional
     */
    repliesFor(characters: number): number {
      const ms = now();
      left = Math.min(SPEECH_AT_START, left + ((ms - atMs) / 1_000) * SPEECH_PER_S) - characters;
      atMs = ms;
      if (left >= 0) return 0;
      const replies = -left / SPEECH_PER_REPLY;
      left = 0;
      return replies;
    },
  };
}

/**
 * Splits off the part of a sentence that is sent to TTS at a time while more speech was discarded than heard. Splits
 * between two words if possible.
 */
export function firstPart(sentence: string): [part: string, rest: string] {
  if (sentence.length <= CAREFUL_CHARACTERS) return [sentence, ''];
  const space = sentence.lastIndexOf(' ', CAREFUL_CHARACTERS);
  const at = space > 0 ? space : wholeCharacters(sentence, CAREFUL_CHARACTERS);
  return [sentence.slice(0, at), sentence.slice(at).trimStart()];
}

/** The position or, if it splits a surrogate pair, the one before. */
export function wholeCharacters(text: string, position: number): number {
  return /[\uD800-\uDBFF]/.test(text.charAt(position - 1)) ? position - 1 : position;
}

/** Whether a sentence fits into a reply that already has this many characters. */
export function fitsReply(characters: number, sentence: string): boolean {
  return characters + sentence.length <= MAX_ANSWER_CHARACTERS;
}
