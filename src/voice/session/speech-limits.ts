/** How far TTS may run ahead of playback: enough to bridge a slow provider, and little to discard on a barge-in. */
const MAX_AHEAD_MS = 10_000;
/** About two minutes of speech. */
const MAX_ANSWER_CHARACTERS = 2_000;

/** Output limit of an LLM per reply; includes room for reasoning and tool arguments. */
export const MAX_ANSWER_TOKENS = 4_096;
/** Output limit of a speech model per reply: about two minutes, at 20 audio and 4 text tokens per second. */
export const MAX_SPOKEN_TOKENS = 3_000;
/** Output limit of an LLM for the conclusion of a call: values, summary and room for reasoning. */
export const MAX_CONCLUSION_TOKENS = 8_192;

/** @param aheadMs length of the speech that was requested from TTS and not played yet, in ms */
export function isFarAhead(aheadMs: number): boolean {
  return aheadMs >= MAX_AHEAD_MS;
}

/** Whether a sentence fits into a reply that already has this many characters. */
export function fitsAnswer(characters: number, sentence: string): boolean {
  return characters + sentence.length <= MAX_ANSWER_CHARACTERS;
}
