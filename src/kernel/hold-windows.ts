import { priceOfSeconds, secondsCovered, type Micros } from './money.js';

/**
 * Length of each hold window in seconds. Later windows are longer, so that four hours of talk need five holds instead
 * of one per minute. The first is one minute, so that a short call reserves only the price of a minute.
 */
export const HOLD_WINDOW_SECONDS: readonly number[] = [60, 180, 720, 2_880, 10_560];

/** Maximum call duration: the sum of all windows. */
export const MAX_CALL_SECONDS = 14_400;

/** How long before the end of a window the next one is held. */
const EXTENSION_LEAD_SECONDS = 15;

const FORECAST_LEAD_SECONDS = 30;

/** Inputs to the size of a call's next hold window. */
export interface WindowTerms {
  /** Seconds granted by earlier windows. */
  heldSeconds: number;
  maxDurationSeconds: number;
  microsPerSecond: Micros;
  /** Window sizes in seconds, if they differ from `HOLD_WINDOW_SECONDS`. */
  windows?: readonly number[] | undefined;
}

/**
 * Computes the hold for window `index`: its full size, or the seconds left of the maximum duration if that is less. The
 * first window always has its full size, because a call needs money for a full minute to start.
 * @returns seconds to hold and their price; `last` when no window may follow; 0 seconds when nothing is left to hold
 */
export function windowRequest(
  index: number,
  { heldSeconds, maxDurationSeconds, microsPerSecond, windows = HOLD_WINDOW_SECONDS }: WindowTerms,
): { seconds: number; micros: Micros; last: boolean } {
  const full = windows[index] ?? 0;
  const left = index === 0 ? full : Math.max(0, maxDurationSeconds - heldSeconds);
  const seconds = Math.min(full, left);
  const last = index >= windows.length - 1 || (index > 0 && seconds < full);
  return { seconds, micros: priceOfSeconds(seconds, microsPerSecond), last };
}

/**
 * How long before the end of a window the next one is held, in ms. Windows shorter than a minute use a quarter of their
 * length.
 */
export function extensionLeadMs(windowSeconds: number): number {
  return Math.min(EXTENSION_LEAD_SECONDS, windowSeconds / 4) * 1_000;
}

/**
 * How long before the end of a window the balance is checked, in ms. The agent then learns of a forced end 20 s ahead.
 * Windows shorter than a minute have no separate check: the balance is checked when the next window is held.
 */
export function forecastLeadMs(windowSeconds: number): number {
  return windowSeconds < 60 ? extensionLeadMs(windowSeconds) : FORECAST_LEAD_SECONDS * 1_000;
}

/**
 * Predicts when the call will end because the balance does not cover the next window.
 * @returns seconds of talk until the end; undefined when the balance covers the whole window
 */
export function forecastEnd(window: number, terms: WindowTerms, availableMicros: Micros): number | undefined {
  const { seconds, micros } = windowRequest(window, terms);
  if (seconds === 0 || availableMicros >= micros) return undefined;
  return terms.heldSeconds + secondsCovered(availableMicros, terms.microsPerSecond);
}

/** Minimum time limit, because carriers may reject a shorter one. If a call must end sooner, our own timers end it. */
const MIN_TIME_LIMIT_SECONDS = 60;

/** Time limit to set at the carrier for a call with this many seconds held, in seconds from the answer. */
export function carrierTimeLimit(heldSeconds: number): number {
  return Math.max(MIN_TIME_LIMIT_SECONDS, heldSeconds);
}
