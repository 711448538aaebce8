/** Money is an integer number of micro-USD everywhere inside the service; USD appears only in JSON for people. */
export type Micros = number;

export const MICROS_PER_USD = 1_000_000;

/** The price of a second where no rate deck says otherwise: 0.15 USD a minute, without rounding. */
export const DEFAULT_MICROS_PER_SECOND: Micros = 2_500;

/** The highest price of a second: 60 USD a minute, so that a call of four hours stays far below 2^53 micro-USD. */
export const MAX_MICROS_PER_SECOND: Micros = 1_000_000;

/**
 * The price of a second that a record carries: a call request, a ledger entry, a call. Records from before rates could
 * differ carry none; their calls cost the default.
 */
export function rateOf({ microsPerSecond = DEFAULT_MICROS_PER_SECOND }: { microsPerSecond?: Micros }): Micros {
  return microsPerSecond;
}

/** Price of whole seconds, in micro-USD. */
export function priceOfSeconds(seconds: number, microsPerSecond: Micros): Micros {
  return assertMicros(seconds * microsPerSecond, 'price');
}

/** Whole seconds that an amount pays for. The division is between integers and leaves no remainder, so nothing is rounded. */
export function secondsCovered(micros: Micros, microsPerSecond: Micros): number {
  return (micros - (micros % microsPerSecond)) / microsPerSecond;
}

/** Seconds that an amount pays for at least in part. */
export function secondsTouched(micros: Micros, microsPerSecond: Micros): number {
  return secondsCovered(micros, microsPerSecond) + (micros % microsPerSecond > 0 ? 1 : 0);
}

/**
 * USD for JSON answers. A double is the nearest one to each whole number of micro-USD below 8 billion USD, and no other
 * amount has the same, so JSON shows exactly the six decimals that the amount has.
 */
export function usdFromMicros(micros: Micros): number {
  return micros / MICROS_PER_USD;
}

/** The price of a minute in USD, for people. */
export function usdPerMinute(microsPerSecond: Micros): number {
  return usdFromMicros(microsPerSecond * 60);
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

/** @throws RangeError unless it is a whole price of a second from 1 micro-USD to `MAX_MICROS_PER_SECOND` */
export function assertRate(microsPerSecond: unknown): Micros {
  if (assertMicros(microsPerSecond, 'rate') < 1 || (microsPerSecond as Micros) > MAX_MICROS_PER_SECOND) {
    throw new RangeError(`rate must be 1 to ${MAX_MICROS_PER_SECOND} micro-USD per second`);
  }
  return microsPerSecond as Micros;
}
