import { ServiceError } from '../../kernel/errors.js';
import { ledgerAccountId } from '../../kernel/ids.js';
import type { Micros } from '../../kernel/money.js';
import { testBalanceOf } from './accounts.js';
import type { Ledger } from '../../billing/ledger/ledger.js';
import type { AccountDocument } from './model.js';

/** Others who refill at the same moment make an attempt void; more than this many are not met. */
const MAX_ATTEMPTS = 5;

/**
 * Brings an account's available test balance back to what it began with; one that has as much or more stays as it is. The
 * payment id names the sum of all top-ups before it, so that of several refills at once one credits.
 * @returns what was credited, in micro-USD
 */
export async function refillTestBalance(
  ledger: Ledger,
  account: Pick<AccountDocument, '_id' | 'unverified'>,
): Promise<Micros> {
  const id = ledgerAccountId(account._id, 'test');
  for (let attempt = 1; ; attempt++) {
    const { availableMicros, creditedMicros } = await ledger.balance(id);
    const missing = testBalanceOf(account) - availableMicros;
    if (missing <= 0) return 0;
    try {
      await ledger.topUp({ ledgerAccountId: id, paymentId: `refill_${creditedMicros}`, amountMicros: missing });
      return missing;
    } catch (error) {
      const isOvertaken = error instanceof ServiceError && error.code === 'IDEMPOTENCY_CONFLICT';
      if (!isOvertaken || attempt === MAX_ATTEMPTS) throw error;
    }
  }
}
