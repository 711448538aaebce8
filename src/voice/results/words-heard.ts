/**
 * About what was heard of a line that was cut off: whole words by the share of its time, marked as interrupted.
 * @param share of the line's audio that was played, 0 to 1
 */
export function wordsHeard(text: string, share: number): string {
  const heard = wordsUpTo(text, share);
  return share >= 1 ? heard : `${heard} (interrupted)`;
}

/**
 * The words of a line by the share of its time; at least one.
 * @param share of the line's audio, 0 to 1
 */
export function wordsUpTo(text: string, share: number): string {
  const words = text.trim().split(/\s+/);
  const count = Math.max(1, Math.floor(words.length * Math.min(1, Math.max(0, share))));
  return words.slice(0, count).join(' ');
}
