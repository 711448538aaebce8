import type { Micros } from '../../kernel/money.js';
import { readAccount } from './decide.js';
import { isPricedExactly } from './rates.js';
import type { LedgerSession } from './storage.js';
import type { LedgerMarker } from './model.js';

export interface Balance {
  availableMicros: Micros;
  heldMicros: Micros;
  creditedMicros: Micros;
  billedMicros: Micros;
}

export interface LedgerAudit {
  /**
   * True when the account, including the day's spending, equals the sum of its operations exactly, no amount is
   * negative, and every hold and settlement consists of whole seconds at the price recorded in it.
   */
  balanced: boolean;
  /** Amounts of the account document. */
  account: Balance;
  /** Sums over the account's operations. */
  operations: Balance;
  /** Number of operations summed up. */
  operationCount: number;
  /** Number of operations whose amount is not a number of whole seconds at the price recorded in them. */
  mispriced: number;
}

/**
 * Compares an account with the sum of its operations. An operation is a marker in the account document until a sweep
 * leaves only its ledger entry and increments the document's epoch.
 *
 * The sum is exact during concurrent writes. The account is read once, at epoch e. Every operation of an earlier epoch
 * has an entry or is among the markers read, and every operation of epoch e is among the markers. So the markers and
 * the entries of epochs before e are exactly the operations that the account contained when it was read.
 */
export async function auditAccount(session: LedgerSession, ledgerAccountId: string): Promise<LedgerAudit> {
  const { epoch, markers, ...account } = await readAccount(session, ledgerAccountId, 'all');
  let spentMicros = 0;
  const operations: Balance = { availableMicros: 0, heldMicros: 0, creditedMicros: 0, billedMicros: 0 };
  let operationCount = 0;
  let mispriced = 0;
  const add = (marker: LedgerMarker) => {
    operationCount++;
    mispriced += Number(!isPricedExactly(marker));
    addTo(operations, marker);
    if (marker.spendDay === account.spendDay) spentMicros += spendingOf(marker);
  };
  Object.values(markers).forEach(add);
  for await (const entry of session.entriesBefore(ledgerAccountId, epoch)) {
    if (!(entry._id in markers)) add(entry);
  }
  operations.availableMicros = operations.creditedMicros - operations.billedMicros - operations.heldMicros;
  const amounts = balanceOf(account);
  const balanced = isBalanced(amounts, operations) && spentMicros === account.spentMicros && mispriced === 0;
  return { balanced, account: amounts, operations, operationCount, mispriced };
}

/** Picks the four amounts of an account. */
export function balanceOf(account: Balance): Balance {
  const { availableMicros, heldMicros, creditedMicros, billedMicros } = account;
  return { availableMicros, heldMicros, creditedMicros, billedMicros };
}

function addTo(sum: Balance, marker: LedgerMarker): void {
  switch (marker.type) {
    case 'topUp':
      sum.creditedMicros += marker.amountMicros ?? 0;
      return;
    case 'hold':
      sum.heldMicros += marker.amountMicros ?? 0;
      return;
    case 'settlement':
      sum.heldMicros -= marker.heldMicros ?? 0;
      sum.billedMicros += marker.billedMicros ?? 0;
      return;
    case 'correction':
      sum.billedMicros -= marker.amountMicros ?? 0;
  }
}

/** Returns the amount by which an operation changes the spending of its day. */
function spendingOf({ type, amountMicros = 0, unspentMicros = 0 }: LedgerMarker): Micros {
  return type === 'hold' ? amountMicros : 0 - unspentMicros;
}

function isBalanced(account: Balance, operations: Balance): boolean {
  const amounts = ['availableMicros', 'heldMicros', 'creditedMicros', 'billedMicros'] as const;
  const { creditedMicros, billedMicros, availableMicros, heldMicros } = account;
  return (
    amounts.every((name) => Number.isSafeInteger(account[name]) && account[name] >= 0) &&
    amounts.every((name) => account[name] === operations[name]) &&
    creditedMicros - billedMicros === availableMicros + heldMicros
  );
}
