import { ServiceError } from '../../kernel/errors.js';
import { CALL_ID_PATTERN, ledgerAccountId } from '../../kernel/ids.js';
import { usdFromMicros, type Micros } from '../../kernel/money.js';
import { correctOnce } from '../../billing/call-corrections.js';
import { createCallRequests } from '../../calls/call-requests.js';
import { createLedger } from '../../billing/ledger/ledger.js';
import type { AdminConnection } from './connect.js';
import { formatUsd, type Output } from '../output.js';

/**
 * Refunds part of a call's bill as a separate ledger entry. Repeating it with the same reference refunds nothing more.
 */
export async function correctCall(
  { database }: AdminConnection,
  out: Output,
  callId: string,
  amountMicros: Micros,
  options: { reason: string; reference: string },
) {
  const request = CALL_ID_PATTERN.test(callId) ? await createCallRequests(database).find(callId) : null;
  if (!request) throw new ServiceError('CALL_NOT_FOUND', `There is no call ${callId}.`);
  const { accountId, mode } = request;
  const ledger = createLedger(database);
  const id = ledgerAccountId(accountId, mode);
  const { entryId, repeated } = await correctOnce(database, ledger, {
    ledgerAccountId: id,
    callId,
    amountMicros,
    ...options,
  });
  const { availableMicros } = await ledger.balance(id);
  const sentence = repeated
    ? 'This correction already exists; nothing was credited.'
    : `Credited ${formatUsd(amountMicros)} USD. Repeating the command with this reference credits nothing more.`;
  await out.record(sentence, {
    call_id: callId,
    account_id: accountId,
    mode,
    entry_id: entryId,
    reference: options.reference,
    reason: options.reason.trim(),
    amount_usd: usdFromMicros(amountMicros),
    amount_micros: amountMicros,
    repeated,
    available_usd: usdFromMicros(availableMicros),
    available_micros: availableMicros,
  });
}
