import { CALL_ID_PATTERN } from '../../kernel/ids.js';

/**
 * Keys of operations. They become field names of the account document, so every part is checked to hold nothing but
 * letters, digits, `_`, `-` and the separator `~`.
 */
const LEDGER_ACCOUNT_PATTERN = /^([A-Za-z0-9_-]+~(?:live|test))#\d+$/;
const PAYMENT_ID_PATTERN = /^[A-Za-z0-9_-]{1,128}$/;

/** The decision on window `window` of a call. */
export function holdKey(callId: string, window: number): string {
  return `H${checkedCallId(callId)}~${window}`;
}

/** The one settlement (or void) of a call. */
export function settlementKey(callId: string): string {
  return `S${checkedCallId(callId)}`;
}

/** A credit that puts right what a call was billed; numbered from 1. */
export function correctionKey(callId: string, number: number): string {
  return `C${checkedCallId(callId)}~${number}`;
}

/** A payment credited to an account, whatever stripe of it. */
export function topUpKey(ledgerAccountId: string, paymentId: string): string {
  const account = LEDGER_ACCOUNT_PATTERN.exec(ledgerAccountId)?.[1];
  if (account === undefined) throw new RangeError('not a ledger account id');
  return `T${account}~${paymentId}`;
}

export function isPaymentId(paymentId: unknown): paymentId is string {
  return typeof paymentId === 'string' && PAYMENT_ID_PATTERN.test(paymentId);
}

function checkedCallId(callId: string): string {
  if (!CALL_ID_PATTERN.test(callId)) throw new RangeError('not a call id');
  return callId;
}
