/** Money is an integer number of micro-USD everywhere inside the service; USD appears only in JSON for people. */
export type Micros = number;

export const MICROS_PER_USD = 1_000_000;

/** 0.15 USD a minute is exactly 2,500 micro-USD a second, so billing by the second never rounds. */
export const MICROS_PER_SECOND: Micros = 2_500;

/** Price of whole billed seconds, in micro-USD. */
export function priceOfSeconds(seconds: number): Micros {
  return assertMicros(seconds * MICROS_PER_SECOND, 'price');
}

/** Whole seconds of talk that an amount of micro-USD covers. */
export function secondsCovered(micros: Micros): number {
  return Math.floor(micros / MICROS_PER_SECOND);
}

/** USD for JSON answers; exact, because every amount is a multiple of 2,500 micro-USD or a top-up in whole micros. */
export function usdFromMicros(micros: Micros): number {
  return micros / MICROS_PER_USD;
}

/**
 * Refuses what is not a non-negative safe integer of micro-USD.
 * @throws RangeError naming the amount
 */
export function assertMicros(micros: unknown, name = 'amount'): Micros {
  if (typeof micros !== 'number' || !Number.isSafeInteger(micros) || micros < 0) {
    throw new RangeError(`${name} must be a whole, non-negative number of micro-USD`);
  }
  return micros;
}
