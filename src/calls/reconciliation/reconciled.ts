import { holdKey } from '../../billing/ledger/keys.js';
import type { LedgerEntryDocument } from '../../billing/ledger/model.js';
import { isFinalStatus } from '../../kernel/call-state.js';
import type { CallsDatabase } from '../database.js';
import { compareBill, readBills, type CallBill } from './call-bills.js';
import { findingId, isResolved, type Finding } from './findings.js';
import { CHECK_KINDS, type CursorDocument, type FindingDocument } from './model.js';

/** The checks that need the records of their call. */
const NEEDED = CHECK_KINDS.filter((kind) => kind !== 'retention' && kind !== 'words');

/**
 * Returns those of the calls whose records nothing needs any more to get money right: the call has ended, its
 * settlement agrees with it or an operator has resolved the difference, and no check of it is due. A difference is also
 * that either of the two is missing. Ledger entries that are not written yet make a call unreconciled, so sweep the
 * accounts first.
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
  const ended = bills.filter((bill) => hasEnded(bill) && !isChecked.has(bill.callId));
  const unresolved = await findUnresolved(database, ended.flatMap(compareBill));
  const resolved = ended.filter(({ callId }) => !unresolved.has(callId));
  const held = await findHeld(
    database,
    resolved.filter(({ settlement }) => settlement === null).map(({ callId }) => callId),
  );
  return new Set(resolved.map(({ callId }) => callId).filter((callId) => !held.has(callId)));
}

/** Whether the call has ended: its status is final or, if there is no read model of it, it was billed. */
function hasEnded({ call, settlement }: CallBill): boolean {
  return call === null ? (settlement?.billedMicros ?? 0) > 0 : isFinalStatus(call.status);
}

/**
 * Returns those of the calls without a settlement whose hold the reconciler has not come to yet. It settles an old hold by the
 * carrier's seconds, for which it needs the request, and adds a check if it cannot.
 */
async function findHeld(database: CallsDatabase, callIds: readonly string[]): Promise<Set<string>> {
  if (callIds.length === 0) return new Set();
  const walked = await database.reconciliationCursors.findById('holds').lean<CursorDocument>();
  const callIdOf = new Map(callIds.map((callId) => [holdKey(callId, 0), callId]));
  const holds = await database.ledgerEntries
    .find({ _id: { $in: [...callIdOf.keys()] }, amountMicros: { $gt: 0 } }, { at: 1 })
    .lean<Pick<LedgerEntryDocument, '_id' | 'at'>[]>();
  const isLeft = ({ _id, at }: (typeof holds)[number]) => {
    if (walked?.at === undefined) return true;
    const difference = at.getTime() - walked.at.getTime();
    return difference === 0 ? _id > walked.id : difference > 0;
  };
  return new Set(holds.filter(isLeft).map(({ _id }) => callIdOf.get(_id) ?? ''));
}

/** Returns the ids of calls with a mismatch that no operator has resolved. Resolving one does not change the records. */
async function findUnresolved(database: CallsDatabase, found: readonly Finding[]): Promise<Set<string | undefined>> {
  if (found.length === 0) return new Set();
  const known = await database.reconciliationFindings
    .find({ _id: { $in: found.map(findingId) } })
    .lean<FindingDocument[]>();
  const isOpen = (finding: Finding) =>
    !known.some((stored) => stored._id === findingId(finding) && isResolved(stored, finding));
  return new Set(found.filter(isOpen).map(({ callId }) => callId));
}
