import { priceOfSeconds, secondsCovered, type Micros } from './money.js';

/**
 * Seconds held by each window of a call. They grow so that four hours of talk need five holds, not one a minute, while
 * a short call never locks more than a minute of its account's balance.
 */
export const HOLD_WINDOW_SECONDS: readonly number[] = [60, 180, 720, 2_880, 10_560];

/** The longest call the windows can pay for. */
export const MAX_CALL_SECONDS = 14_400;

/** The next window is held this long before the last one runs out. */
const EXTENSION_LEAD_SECONDS = 15;

const FORECAST_LEAD_SECONDS = 30;

/** What the size of a call's next window follows from. */
export interface WindowTerms {
  /** Granted by the windows before it. */
  heldSeconds: number;
  maxDurationSeconds: number;
  /** The call's own price of a second. */
  microsPerSecond: Micros;
  /** Sizes in seconds, where they differ from the standard ones. */
  windows?: readonly number[] | undefined;
}

/**
 * What window `index` may hold for a call: its full size, clipped to the seconds left of the maximum duration. The first
 * window is never clipped: a call needs a minute's money to start even when it may not last that long.
 * @returns seconds asked for and their price, and `last` when no window may follow; 0 seconds when there is nothing left to hold
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

/** How long before the end of a window the next is held, in ms; a quarter of windows that are shorter than a minute. */
export function extensionLeadMs(windowSeconds: number): number {
  return Math.min(EXTENSION_LEAD_SECONDS, windowSeconds / 4) * 1_000;
}

/**
 * How long before the end of a window the balance is looked at, so that an end that money will force is known in time
 * for the agent to be told 20 s before it. Windows that are shorter than a minute are held without a look ahead.
 */
export function forecastLeadMs(windowSeconds: number): number {
  return windowSeconds < 60 ? extensionLeadMs(windowSeconds) : FORECAST_LEAD_SECONDS * 1_000;
}

/**
 * The second of talk at which the next window will end the call for want of money, as things stand.
 * @returns undefined when the balance covers the whole window
 */
export function forecastEnd(window: number, terms: WindowTerms, availableMicros: Micros): number | undefined {
  const { seconds, micros } = windowRequest(window, terms);
  if (seconds === 0 || availableMicros >= micros) return undefined;
  return terms.heldSeconds + secondsCovered(availableMicros, terms.microsPerSecond);
}

/** Carriers may refuse a shorter limit of a call than a minute; shorter ends are kept by our own timers. */
const MIN_TIME_LIMIT_SECONDS = 60;

/** The limit to ask of the carrier for a call that is paid for this long, in seconds from the answer. */
export function carrierTimeLimit(heldSeconds: number): number {
  return Math.max(MIN_TIME_LIMIT_SECONDS, heldSeconds);
}
