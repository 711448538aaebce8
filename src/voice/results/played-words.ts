/**
 * Estimates which words of an interrupted utterance were heard, from the share of its duration that was played.
 * @param share played share of the audio, 0 to 1; below 1 the text ends with "(interrupted)"
 */
export function wordsHeard(text: string, share: number): string {
  const heard = wordsUpTo(text, share);
  return share >= 1 ? heard : `${heard} (interrupted)`;
}

/**
 * Returns the first words of an utterance in proportion to the share of its duration; at least one word.
 * @param share 0 to 1
 */
export function wordsUpTo(text: string, share: number): string {
  const words = text.trim().split(/\s+/);
  const count = Math.max(1, Math.floor(words.length * Math.min(1, Math.max(0, share))));
  return words.slice(0, count).join(' ');
}
