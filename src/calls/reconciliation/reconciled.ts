import { isFinalStatus } from '../../kernel/call-state.js';
import type { CallsDatabase } from '../database.js';
import { compareBill, isUnfinished, readBills } from './call-bills.js';
import { CHECK_KINDS } from './model.js';

/** The checks that need the records of their call. */
const NEEDED = CHECK_KINDS.filter((kind) => kind !== 'retention');

/**
 * Returns those of the calls whose records nothing needs any more to get money right: the call has ended, its
 * settlement agrees with it, and no check of it is due. Ledger entries that are not written yet make a call unreconciled,
 * so sweep the accounts first.
 */
export async function findReconciled(
  database: CallsDatabase,
  calls: readonly { callId: string; ledgerAccountId: string }[],
): Promise<Set<string>> {
  const bills = await readBills(database, calls);
  const checkIds = calls.flatMap(({ callId }) => NEEDED.map((kind) => `${kind}:${callId}`));
  const checks = await database.reconciliationChecks
    .find({ _id: { $in: checkIds } }, { callId: 1 })
    .lean<{ callId: string }[]>();
  const isChecked = new Set(checks.map(({ callId }) => callId));
  const reconciled = bills.filter(
    (bill) =>
      bill.call !== null &&
      isFinalStatus(bill.call.status) &&
      !isUnfinished(bill) &&
      !isChecked.has(bill.callId) &&
      compareBill(bill).length === 0,
  );
  return new Set(reconciled.map(({ callId }) => callId));
}
