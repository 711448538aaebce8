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
   * Whether the account equals the sum of its operations to the last micro-USD, the day's spending included, no amount is
   * negative, and every hold and settlement is of whole seconds at the price it carries.
   */
  balanced: boolean;
  /** What the account document says. */
  account: Balance;
  /** What its operations add up to. */
  operations: Balance;
  /** How many operations were added up. */
  operationCount: number;
  /** How many of them are not of whole seconds at their own price. */
  mispriced: number;
}

/**
 * Adds up an account's operations and compares, while others go on writing. Exact without stopping anybody: the account
 * is read once, at epoch e. Operations of earlier epochs have an entry or are still among the markers read; those of
 * epoch e are all among them. So the entries before e together with the markers are exactly what had been applied.
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

/** The amounts of an account without its bookkeeping. */
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

/** What an operation adds to the spending of its day. */
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
