/** An amount in whole micro-USD, the only unit inside the service. The API shows amounts in USD, too. */
export type Micros = number;

export const MICROS_PER_USD = 1_000_000;

/** Default price per second when no rate deck sets another: 0.15 USD per minute, exactly. */
export const DEFAULT_MICROS_PER_SECOND: Micros = 2_500;

/** Maximum price per second (60 USD per minute). The price of a four-hour call then stays far below 2^53 micro-USD. */
export const MAX_MICROS_PER_SECOND: Micros = 1_000_000;

/**
 * Returns the price per second of a record (call request, ledger entry or call). Records written before rates could
 * differ have no price and use the default.
 */
export function rateOf({ microsPerSecond = DEFAULT_MICROS_PER_SECOND }: { microsPerSecond?: Micros }): Micros {
  return microsPerSecond;
}

/**
 * Returns the price of whole seconds in micro-USD.
 * @throws RangeError unless the price is a non-negative safe integer
 */
export function priceOfSeconds(seconds: number, microsPerSecond: Micros): Micros {
  return assertMicros(seconds * microsPerSecond, 'price');
}

/** Returns the whole seconds that an amount pays for. Subtracts the remainder first, so that the division is exact. */
export function secondsCovered(micros: Micros, microsPerSecond: Micros): number {
  return (micros - (micros % microsPerSecond)) / microsPerSecond;
}

/** Returns the seconds that an amount pays for, rounded up to whole seconds. */
export function secondsTouched(micros: Micros, microsPerSecond: Micros): number {
  return secondsCovered(micros, microsPerSecond) + (micros % microsPerSecond > 0 ? 1 : 0);
}

/**
 * Converts to USD for JSON bodies. Below 8 billion USD, no two amounts in micro-USD become the same double, so JSON
 * shows all six decimals exactly.
 */
export function usdFromMicros(micros: Micros): number {
  return micros / MICROS_PER_USD;
}

/** Converts a price per second to USD per minute, for display. */
export function usdPerMinute(microsPerSecond: Micros): number {
  return usdFromMicros(microsPerSecond * 60);
}

/**
 * Requires a non-negative safe integer of micro-USD.
 * @throws RangeError naming the amount
 */
export function assertMicros(micros: unknown, name = 'amount'): Micros {
  if (typeof micros !== 'number' || !Number.isSafeInteger(micros) || micros < 0) {
    throw new RangeError(`${name} must be a whole, non-negative number of micro-USD`);
  }
  return micros;
}

/**
 * Requires a price per second in whole micro-USD.
 * @throws RangeError unless it is from 1 to `MAX_MICROS_PER_SECOND`
 */
export function assertRate(microsPerSecond: unknown): Micros {
  if (assertMicros(microsPerSecond, 'rate') < 1 || (microsPerSecond as Micros) > MAX_MICROS_PER_SECOND) {
    throw new RangeError(`rate must be 1 to ${MAX_MICROS_PER_SECOND} micro-USD per second`);
  }
  return microsPerSecond as Micros;
}
