import type { Micros } from '../../kernel/money.js';
import type { LedgerPlan, LedgerWork } from './decide.js';
import { holdKey, settlementKey } from './keys.js';
import type { LedgerAccountDocument, LedgerEntryDocument, LedgerMarker } from './model.js';
import { holdPlan, settlementPlan, tombstonePlan, type PlannedHold } from './plans.js';
import { spendingAt } from './spending.js';

/**
 * Decisions of a call in one guarded update, without reading the account and the ledger entries before. They need an
 * epoch that was read before any operation of the call could exist, and require that the account still has it. Then no
 * sweep has come since, so every operation of the call that exists is a marker in the document, and the update's filter
 * sees it. The assumptions of the plan about the account are conditions of the update, too. If anything is otherwise, nothing
 * is written, and `decide` reads and decides as usual.
 */

/** An account that covers a first hold: not frozen, and nothing spent on this day. */
function assumeAccount(work: LedgerWork, p: { ledgerAccountId: string; epoch: number; availableMicros: Micros }) {
  const { ledgerAccountId: _id, epoch, availableMicros } = p;
  const amounts = { availableMicros, heldMicros: 0, creditedMicros: 0, billedMicros: 0 };
  const account: LedgerAccountDocument = {
    _id,
    epoch,
    ...amounts,
    spendDay: 0,
    spentMicros: 0,
    markerCount: 0,
    markers: {},
  };
  return { ...account, spendDay: spendingAt(account, work.now()).day };
}

/**
 * Grants the first hold of a call if the account covers it. The ledger entry is left to the settlement or a sweep.
 * @returns null if nothing was written, because the hold may be decided already, or may not be granted
 */
export async function holdEarly(
  work: LedgerWork,
  p: { ledgerAccountId: string; epoch: number; hold: PlannedHold },
): Promise<LedgerMarker | null> {
  const { ledgerAccountId, epoch, hold } = p;
  const account = assumeAccount(work, { ledgerAccountId, epoch, availableMicros: hold.request.micros });
  const plan = holdPlan(account, hold);
  if (plan.marker.refused) return null;
  const update = updateOf(work, p, holdKey(hold.callId, hold.window), plan);
  return (await work.session.updateAccount(update)) ? update.marker : null;
}

/**
 * Settles a call that held exactly the first window: the tombstone of the second window and the settlement are one
 * update. It requires that the first window is held with these values, and that the second one is undecided. So a hold that
 * comes late finds the tombstone, and a hold that came before makes this return null.
 * @param p.firstHold what the call is believed to hold
 */
export async function settleEarly(
  work: LedgerWork,
  p: {
    ledgerAccountId: string;
    epoch: number;
    callId: string;
    billedSeconds: number;
    estimated: boolean;
    firstHold: FirstHold;
  },
): Promise<LedgerMarker | null> {
  const { ledgerAccountId, epoch, callId, firstHold } = p;
  const { session } = work;
  const account = assumeAccount(work, { ledgerAccountId, epoch, availableMicros: 0 });
  const { spendDay } = account;
  const { last, ...held } = firstHold;
  const window: LedgerMarker = { type: 'hold', callId, ...held, spendDay, epoch, at: new Date(work.now()) };
  const [first, next, key] = [holdKey(callId, 0), holdKey(callId, 1), settlementKey(callId)];
  const tombstone = { ...tombstonePlan(callId).marker, epoch, at: window.at };
  const markers = await session.updateAndRead(
    {
      ...updateOf(work, p, key, settlementPlan(account, { ...p, windows: [window] })),
      expected: { key: first, ...held, spendDay, last },
      ...(last ? {} : { also: { key: next, marker: tombstone } }),
    },
    [first, next, key],
  );
  if (markers === null) return null;
  const entries = Object.entries(markers).map(([_id, marker]): LedgerEntryDocument => ({
    _id,
    ledgerAccountId,
    ...marker,
  }));
  await session.insertEntries(entries);
  return markers[key] ?? null;
}

/** The first window of a call as its workflow knows it. */
export interface FirstHold {
  amountMicros: Micros;
  microsPerSecond: Micros;
  /** Whether no further window may follow. */
  last: boolean;
}

function updateOf(
  work: LedgerWork,
  { ledgerAccountId, epoch }: { ledgerAccountId: string; epoch: number },
  key: string,
  { marker, increments, guard }: LedgerPlan,
) {
  const planned: LedgerMarker = { ...marker, epoch, at: new Date(work.now()) };
  // A document with more markers is swept first, as `decide` does.
  const maxMarkers = work.sweepAtMarkers;
  return { kind: 'decide' as const, ledgerAccountId, epoch, key, marker: planned, increments, guard, maxMarkers };
}
