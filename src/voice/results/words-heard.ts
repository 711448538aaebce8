/**
 * About what was heard of a line that was cut off: whole words by the share of its time, marked as interrupted.
 * @param share of the line's audio that was played, 0 to 1
 */
export function wordsHeard(text: string, share: number): string {
  const words = text.trim().split(/\s+/);
  const heard = Math.max(1, Math.floor(words.length * Math.min(1, Math.max(0, share))));
  return heard >= words.length && share >= 1 ? words.join(' ') : `${words.slice(0, heard).join(' ')} (interrupted)`;
}
