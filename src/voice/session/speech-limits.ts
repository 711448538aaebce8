/** Speech is made no further ahead of the ear: enough to bridge a slow provider, little to throw away on a barge-in. */
const MAX_AHEAD_MS = 10_000;
/** About two minutes of speech. */
const MAX_ANSWER_CHARACTERS = 2_000;

/** What a chat model may write for one answer; models that think need room for that, and tools for their arguments. */
export const MAX_ANSWER_TOKENS = 4_096;
/** What a speech model may say in one answer: about two minutes, at 20 tokens of audio and 4 of text a second. */
export const MAX_SPOKEN_TOKENS = 3_000;
/** What a chat model may write to conclude a call: the values and a summary, and room to think. */
export const MAX_CONCLUSION_TOKENS = 8_192;

/** @param aheadMs how long the speech lasts that was asked of the voice and not heard yet */
export function isFarAhead(aheadMs: number): boolean {
  return aheadMs >= MAX_AHEAD_MS;
}

/** Whether a sentence still belongs to an answer that has so many characters. */
export function fitsAnswer(characters: number, sentence: string): boolean {
  return characters + sentence.length <= MAX_ANSWER_CHARACTERS;
}
