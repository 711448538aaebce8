export const SECOND = 2_500;
export const LEDGER_ACCOUNT_ID = 'acct_simulated~live#0';

/** What callers know, for mutants that trust it. */
export interface CallFacts {
  /** Windows of a call whose grant its caller has seen. */
  knownWindows: Map<string, number>;
  billedSeconds: Map<string, number>;
}
