/** Steps of a time axis, in seconds. */
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600];
const LABEL_WIDTH = 64;
/** Width of the text of a label, such as `59:30`. */
const LABEL_TEXT = 40;
/** Quiet recordings are drawn larger, but noise is not drawn as if it were speech. */
const LOWEST_MAXIMUM = 48;

/**
 * Returns the heights of the columns of a waveform, from 0 to 1: each the loudest of its parts. The square root makes
 * quiet speech visible.
 * @param peaks loudness of equal parts, from 0 to 255
 * @param columns how many columns fit
 * @param loudest the loudest part of all tracks that are drawn together
 */
export function columnHeights(peaks: readonly number[], columns: number, loudest: number): number[] {
  const count = Math.min(peaks.length, Math.max(0, Math.floor(columns)));
  const scale = Math.max(loudest, LOWEST_MAXIMUM);
  return Array.from({ length: count }, (_, column) => {
    const from = Math.floor((column * peaks.length) / count);
    const to = Math.max(from + 1, Math.floor(((column + 1) * peaks.length) / count));
    let peak = 0;
    for (let part = from; part < to; part++) peak = Math.max(peak, peaks[part] ?? 0);
    return Math.sqrt(peak / scale);
  });
}

/** Returns the times of the labels of a time axis, in seconds, so that labels do not overlap. */
export function timeTicks(duration: number, width: number): number[] {
  const most = Math.max(1, Math.floor(width / LABEL_WIDTH));
  const step = STEPS.find((seconds) => duration / seconds <= most) ?? Math.ceil(duration / most / 3_600) * 3_600;
  // A label is to the right of its time, and would be cut off near the end.
  const last = width === 0 || duration === 0 ? -1 : duration * (1 - LABEL_TEXT / width);
  return Array.from({ length: Math.max(0, Math.floor(last / step) + 1) }, (_, index) => index * step);
}

/** Returns the index of the turn that is heard at a time in ms; -1 before the first one. */
export function turnAt(turns: readonly { start_ms: number }[], ms: number): number {
  let low = 0;
  let high = turns.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((turns[middle]?.start_ms ?? 0) <= ms) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** Returns how long each speaker talked, in ms. Nothing counts twice if turns of one speaker overlap. */
export function talkTimes(turns: readonly { speaker: 'agent' | 'caller'; start_ms: number; end_ms: number }[]) {
  const times = { agent: 0, caller: 0 };
  const ends = { agent: 0, caller: 0 };
  for (const { speaker, start_ms: start, end_ms: end } of turns) {
    times[speaker] += Math.max(0, end - Math.max(start, ends[speaker]));
    ends[speaker] = Math.max(ends[speaker], end);
  }
  return times;
}
