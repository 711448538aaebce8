import type { Direction } from '../../kernel/call-state.js';
import { ledgerAccountId } from '../../kernel/ids.js';
import type { Micros } from '../../kernel/money.js';
import type { Ledger } from '../../billing/ledger/ledger.js';
import { usableLimit } from '../../identity/accounts/received-share.js';

/**
 * Checks a count of an account's live calls against a free amount per day, and only beyond it against what the day's
 * bills cover.
 * @param p.paidBy further amount that bills of this many micro-USD allow
 * @param p.fits whether the count has room below a limit
 */
export async function isCoveredBySpending(p: {
  ledger: Pick<Ledger, 'billedToday'>;
  accountId: string;
  direction: Direction;
  free: number;
  paidBy: (billed: Micros) => number;
  fits: (limit: number) => Promise<boolean>;
}): Promise<boolean> {
  const { ledger, accountId, direction, free, paidBy, fits } = p;
  if (await fits(usableLimit(free, direction))) return true;
  const billed = await ledger.billedToday(ledgerAccountId(accountId, 'live'));
  return fits(usableLimit(free + paidBy(billed), direction));
}
