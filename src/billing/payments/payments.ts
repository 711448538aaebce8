import { ServiceError } from '../../kernel/errors.js';
import { ledgerAccountId, type Mode } from '../../kernel/ids.js';
import type { Micros } from '../../kernel/money.js';
import { isDuplicateKey } from '../../platform/mongo/connection.js';
import type { BillingDatabase } from '../database.js';
import type { Ledger } from '../ledger/ledger.js';
import type { PaymentDocument } from './model.js';

export interface Payment {
  /** The payment's id, from the payment provider or the operator: 1 to 128 letters, digits, `_` or `-`. */
  paymentId: string;
  accountId: string;
  mode: Mode;
  amountMicros: Micros;
  /** The amount that earlier versions credited for such a payment, if one of them may have credited it. */
  formerAmountMicros?: Micros;
}

/**
 * Credits a payment once, whether a webhook or an operator reports it. The ledger detects duplicates only within one
 * balance. The payment's row, written first, prevents a second credit to another account or mode.
 * @returns the amount that is credited: that of the first report, even if it was reported to an earlier version
 * @throws ServiceError IDEMPOTENCY_CONFLICT when the payment exists with another account, mode or amount
 */
export async function creditPayment(
  deps: { database: BillingDatabase; ledger: Ledger },
  payment: Payment,
): Promise<Micros> {
  const { paymentId, accountId, mode } = payment;
  const known = await claimed(deps.database, payment);
  const amounts = [payment.amountMicros, payment.formerAmountMicros];
  if (known.accountId !== accountId || known.mode !== mode || !amounts.includes(known.amountMicros)) {
    throw new ServiceError(
      'IDEMPOTENCY_CONFLICT',
      'This payment was credited before with a different amount or to another balance. Use a new payment id.',
    );
  }
  const { amountMicros } = known;
  await deps.ledger.topUp({ ledgerAccountId: ledgerAccountId(accountId, mode), paymentId, amountMicros });
  return amountMicros;
}

/** Records the payment. If it is already recorded, returns it as first reported. */
async function claimed({ payments }: BillingDatabase, payment: Payment): Promise<Omit<PaymentDocument, 'receivedAt'>> {
  const { paymentId: _id, accountId, mode, amountMicros } = payment;
  const fields = { accountId, mode, amountMicros };
  try {
    await payments.create([{ _id, ...fields, receivedAt: new Date() }]);
    return { _id, ...fields };
  } catch (error) {
    const known = isDuplicateKey(error) ? await payments.findById(_id).lean<PaymentDocument>() : null;
    if (known === null) throw error;
    return known;
  }
}
