import { CALL_ID_PATTERN } from '../../kernel/ids.js';

/**
 * Pattern of a ledger account id. Operation keys contain parts of it and become field names of the account document, so
 * every part is restricted to letters, digits, `_`, `-` and the separator `~`.
 */
const LEDGER_ACCOUNT_PATTERN = /^([A-Za-z0-9_-]+~(?:live|test))#\d+$/;
const PAYMENT_ID_PATTERN = /^[A-Za-z0-9_-]{1,128}$/;

/** Key of the hold for window number `window` (from 0) of a call. */
export function holdKey(callId: string, window: number): string {
  return `H${checkedCallId(callId)}~${window}`;
}

/** Key of a call's settlement. A call has only one, even if it is billed nothing. */
export function settlementKey(callId: string): string {
  return `S${checkedCallId(callId)}`;
}

/** Key of a correction of a call's bill. Corrections are numbered from 1. */
export function correctionKey(callId: string, number: number): string {
  return `C${checkedCallId(callId)}~${number}`;
}

/**
 * Key of a payment credited to an account. It leaves out the number at the end of the ledger account's id, so that a
 * payment counts only once per account and mode.
 */
export function topUpKey(ledgerAccountId: string, paymentId: string): string {
  const account = LEDGER_ACCOUNT_PATTERN.exec(ledgerAccountId)?.[1];
  if (account === undefined) throw new RangeError('invalid ledger account id');
  return `T${account}~${paymentId}`;
}

export function isPaymentId(paymentId: unknown): paymentId is string {
  return typeof paymentId === 'string' && PAYMENT_ID_PATTERN.test(paymentId);
}

function checkedCallId(callId: string): string {
  if (!CALL_ID_PATTERN.test(callId)) throw new RangeError('callId must be a valid call id');
  return callId;
}
