import { ServiceError } from '../../kernel/errors.js';
import { ledgerAccountId } from '../../kernel/ids.js';
import type { Micros } from '../../kernel/money.js';
import { testBalanceOf } from './accounts.js';
import type { Ledger } from '../../billing/ledger/ledger.js';
import type { AccountDocument } from './model.js';

/** Maximum attempts. An attempt fails if a concurrent refill was credited first, which does not happen this often. */
const MAX_ATTEMPTS = 5;

/**
 * Refills an account's available test balance to its opening value. A higher balance stays unchanged. The payment id
 * contains the sum of all previous top-ups, so that only one of several concurrent refills is credited.
 * @returns the credited amount in micro-USD
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
      const isConflict = error instanceof ServiceError && error.code === 'IDEMPOTENCY_CONFLICT';
      if (!isConflict || attempt === MAX_ATTEMPTS) throw error;
    }
  }
}
