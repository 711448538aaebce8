import { DEFAULT_MICROS_PER_SECOND } from '../../src/kernel/money.js';

/** Prices per second of calls on one account: the default price, and prices that are no multiples of each other. */
export const RATES = [DEFAULT_MICROS_PER_SECOND, DEFAULT_MICROS_PER_SECOND, 1, 833, 3_999, 10_000];
export const LEDGER_ACCOUNT_ID = 'acct_simulated~live#0';

/** Facts that the simulated callers know. Invariants use them, and so do some mutants. */
export interface CallFacts {
  /** The price that the requests of each call contain. */
  rates: Map<string, number>;
  /** For each call, how many of its windows its caller knows to be granted. */
  knownWindows: Map<string, number>;
  billedSeconds: Map<string, number>;
  /** The calls whose operations know an epoch of the account that was read before the call was stored. */
  withKnownEpoch: Set<string>;
}

/** Returns the price of the call to which an operation belongs. */
export function rateOfKey({ rates }: Pick<CallFacts, 'rates'>, key: string): number {
  return rates.get(key.slice(1).replace(/~\d+$/, '')) ?? 0;
}

/** Returns the number at the end of the key of a hold or correction. */
export function numberOfKey(key: string): number {
  return Number(key.slice(key.lastIndexOf('~') + 1));
}
