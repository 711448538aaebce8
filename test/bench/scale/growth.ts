import { median } from '../report/figure.js';

/** With fewer samples, a third says nothing. */
const FEWEST_SAMPLES = 9;
/** A rise below this share of the first third is no growth. */
const LEAST_SHARE = 0.1;
/** If the last step is a smaller part of the rise, the series has levelled off, as after a warm-up. */
const LAST_STEP_SHARE = 0.25;

export interface Growth {
  /** The medians of the three thirds. */
  thirds: readonly [number, number, number];
  grows: boolean;
  /** False if there are too few samples to say anything. */
  judged: boolean;
}

/**
 * Tells whether a series of samples, taken at equal intervals, grows. It compares the medians of its thirds: it grows if
 * the last one is above the first one by more than a tenth (and by more than `floor`), and at least a quarter of that rise
 * happened from the second third to the last. So a warm-up that levels off is no growth, and a late rise is.
 * @param floor the smallest rise that matters, in the unit of the samples
 */
export function growthOf(samples: readonly number[], floor: number): Growth {
  const [first, second, last] = thirdsOf(samples).map((third) => median(third)) as [number, number, number];
  const rise = last - first;
  const judged = samples.length >= FEWEST_SAMPLES;
  const grows = rise > Math.max(floor, LEAST_SHARE * first) && last - second >= LAST_STEP_SHARE * rise;
  return { thirds: [first, second, last], judged, grows: judged && grows };
}

function thirdsOf(samples: readonly number[]): (readonly number[])[] {
  const [from, to] = [Math.floor(samples.length / 3), Math.floor((samples.length * 2) / 3)];
  return [samples.slice(0, from), samples.slice(from, to), samples.slice(to)];
}
