import { DEFAULT_MICROS_PER_SECOND } from '../../src/kernel/money.js';

/** Prices of a second that calls of one account have: the default, and some that are no multiple of each other. */
export const RATES = [DEFAULT_MICROS_PER_SECOND, DEFAULT_MICROS_PER_SECOND, 1, 833, 3_999, 10_000];
export const LEDGER_ACCOUNT_ID = 'acct_simulated~live#0';

/** What callers know, for invariants and for mutants that trust it. */
export interface CallFacts {
  /** The price that each call was asked for at. */
  rates: Map<string, number>;
  /** Windows of a call whose grant its caller has seen. */
  knownWindows: Map<string, number>;
  billedSeconds: Map<string, number>;
}

/** The price of the call that an operation is about. */
export function rateOfKey({ rates }: Pick<CallFacts, 'rates'>, key: string): number {
  return rates.get(key.slice(1).replace(/~\d+$/, '')) ?? 0;
}

/** The number at the end of a hold's key or a correction's. */
export function numberOfKey(key: string): number {
  return Number(key.slice(key.lastIndexOf('~') + 1));
}
