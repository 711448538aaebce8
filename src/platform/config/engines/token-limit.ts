/** The tokens of language models that one account may use in a minute in one media process, in each mode. */
export interface TokenLimit {
  perAccount: number;
  /** The account may use at least this many for each of its calls in progress; 0: `perAccount` is all. */
  perCall: number;
}

/** Ten requests of 4,000 tokens: a turn of the caller every six seconds, a prompt of 2,500 tokens and its history. */
const PER_ORDINARY_CALL = 40_000;
/** As many as the plan `growth` allows. */
const ORDINARY_CALLS = 50;

/** The limit by default, which ordinary calls do not reach, however many an account has. */
const DEFAULT_TOKEN_LIMIT: TokenLimit = {
  perAccount: ORDINARY_CALLS * PER_ORDINARY_CALL,
  perCall: PER_ORDINARY_CALL,
};

/** @returns undefined if there is no limit */
export function tokenLimitOf(values: { ACCOUNT_TOKENS_PER_MINUTE?: number | undefined }): TokenLimit | undefined {
  const { ACCOUNT_TOKENS_PER_MINUTE: perAccount } = values;
  if (perAccount === undefined) return DEFAULT_TOKEN_LIMIT;
  return perAccount === 0 ? undefined : { perAccount, perCall: 0 };
}
