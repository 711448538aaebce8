import { ContentionError, CONFLICT, retryOnConflict } from '../../platform/mongo/optimistic-update.js';
import type { AccountGuard, LedgerFigure, LedgerSession } from './storage.js';
import type { LedgerAccountDocument, LedgerEntryDocument, LedgerMarker } from './model.js';

/**
 * An account document with this many markers (operations stored in it) is swept before the next operation, because
 * large documents slow down every write.
 */
export const SWEEP_AT_MARKERS = 100;
/** Maximum number of markers in an account document, however many processes write at the same time. */
export const MAX_MARKERS = 130;
const MAX_ATTEMPTS = 40;

/** The operation could not be decided yet, for a temporary reason. It is safe to retry. */
export class LedgerBusyError extends Error {
  override readonly name = 'LedgerBusyError';
}

/**
 * The effect of an operation on the account as it was read: the marker to add, the increments, and the conditions that
 * must still hold when the update is applied.
 */
export interface LedgerPlan {
  marker: Omit<LedgerMarker, 'epoch' | 'at'>;
  increments: Partial<Record<LedgerFigure, number>>;
  guard: AccountGuard;
}

/** Dependencies of ledger operations. */
export interface LedgerWork {
  session: LedgerSession;
  /** Sweeps an account, or waits for the sweep that this process already runs. */
  sweepOnce(ledgerAccountId: string): Promise<void>;
  /** An account document with at least this many markers is swept before the next operation. */
  sweepAtMarkers: number;
  /** Returns ms since the epoch. Used only for the operation's time and for the day on which its spending counts. */
  now(): number;
  /** Waits a random time before the next attempt, so that writers do not collide again. */
  pause(tries: number): Promise<void>;
}

export interface Decision {
  ledgerAccountId: string;
  key: string;
  /** Keys of other operations that `plan` reads in the account document. */
  alsoRead?: readonly string[];
  /**
   * An epoch of the account that was read before this operation could exist. If the account still has it, no sweep has
   * come since, so there is no entry that the account document does not show, and none is looked for.
   */
  knownEpoch?: number | undefined;
  plan(account: LedgerAccountDocument): LedgerPlan | Promise<LedgerPlan>;
}

/**
 * Decides an operation exactly once and returns the same entry to every caller. All ledger operations use it.
 *
 * A decided operation is a marker in the account document, and the update's filter rejects a second marker with the
 * same key. A sweep removes the marker only after the operation has a ledger entry, and increments the account's epoch.
 *
 * A late writer must not decide the operation again after the sweep. So it reads the account, with its epoch, before it
 * looks for the entry. If the sweep came after the first read, the epoch is outdated and the filter rejects the write.
 * If the sweep came before, the writer finds the entry and returns it.
 *
 * Rejected and void operations are recorded, too, so that a late hold finds a decision.
 * @throws LedgerBusyError when other writers won every attempt
 */
export async function decide(work: LedgerWork, decision: Decision): Promise<LedgerEntryDocument> {
  const pause = (tries: number) => work.pause(tries);
  const retries = { name: 'ledger_accounts', maxAttempts: MAX_ATTEMPTS, pause } as const;
  try {
    return await retryOnConflict(retries, () => attemptDecision(work, decision));
  } catch (error) {
    if (!(error instanceof ContentionError)) throw error;
    throw new LedgerBusyError(`ledger operation ${decision.key} gave up after ${MAX_ATTEMPTS} conflicts`);
  }
}

async function attemptDecision(work: LedgerWork, decision: Decision): Promise<LedgerEntryDocument | typeof CONFLICT> {
  const { session } = work;
  const { ledgerAccountId, key } = decision;
  const account = await readAccount(session, ledgerAccountId, [key, ...(decision.alsoRead ?? [])]);
  const decided = account.epoch === decision.knownEpoch ? null : await session.findEntry(key);
  if (decided) return assertOwnedBy(ledgerAccountId, decided);
  const marker = account.markers[key];
  if (marker) return record(session, entryOf(ledgerAccountId, key, marker));
  if (account.markerCount >= work.sweepAtMarkers) {
    await work.sweepOnce(ledgerAccountId);
    return CONFLICT;
  }
  const plan = await decision.plan(account);
  const planned = { ...plan.marker, epoch: account.epoch, at: new Date(work.now()) };
  const { increments, guard } = plan;
  const update = { ledgerAccountId, epoch: account.epoch, key, marker: planned, increments, guard };
  const isApplied = await session.updateAccount({ kind: 'decide', ...update, maxMarkers: MAX_MARKERS });
  return isApplied ? record(session, entryOf(ledgerAccountId, key, planned)) : CONFLICT;
}

/**
 * Moves the operations in the account document to ledger entries: inserts the missing entries, then removes the markers
 * and increments the epoch in one update. Of two concurrent sweeps only one removes the markers.
 */
export async function sweep(session: LedgerSession, ledgerAccountId: string): Promise<void> {
  const account = await readAccount(session, ledgerAccountId, 'all');
  const keys = Object.keys(account.markers);
  if (keys.length === 0) return;
  const present = await session.findEntryKeys(keys);
  const missing = Object.entries(account.markers).filter(([key]) => !present.has(key));
  if (missing.length > 0) {
    await session.insertEntries(missing.map(([key, marker]) => entryOf(ledgerAccountId, key, marker)));
  }
  await session.updateAccount({ kind: 'sweep', ledgerAccountId, epoch: account.epoch, keys });
}

/** Returns a function that sweeps an account, or waits for the sweep of the account that this process already runs. */
export function createSharedSweeps() {
  const running = new Map<string, Promise<void>>();
  return (session: LedgerSession, ledgerAccountId: string): Promise<void> => {
    const present = running.get(ledgerAccountId);
    if (present) return present;
    const started = sweep(session, ledgerAccountId).finally(() => running.delete(ledgerAccountId));
    running.set(ledgerAccountId, started);
    return started;
  };
}

/**
 * Reads the account document with some of its markers.
 * @param keys operation keys of the markers to read
 * @throws Error when the account does not exist
 */
export async function readAccount(
  session: LedgerSession,
  ledgerAccountId: string,
  keys: readonly string[] | 'all',
): Promise<LedgerAccountDocument> {
  const account = await session.findAccount(ledgerAccountId, keys);
  if (!account) throw new Error(`ledger account ${ledgerAccountId} does not exist`);
  return account;
}

/**
 * Finds a decided operation among the account's markers, or else among the ledger entries.
 * @param knownEpoch as in {@link Decision}
 * @returns null when the operation is not decided yet
 * @throws Error when the entry belongs to another account
 */
export async function findMarker(
  session: LedgerSession,
  account: LedgerAccountDocument,
  key: string,
  knownEpoch?: number,
): Promise<LedgerMarker | null> {
  const marker = account.markers[key];
  if (marker) return marker;
  if (account.epoch === knownEpoch) return null;
  const entry = await session.findEntry(key);
  return entry && assertOwnedBy(account._id, entry);
}

function entryOf(ledgerAccountId: string, key: string, marker: LedgerMarker): LedgerEntryDocument {
  return { _id: key, ledgerAccountId, ...marker };
}

async function record(session: LedgerSession, entry: LedgerEntryDocument): Promise<LedgerEntryDocument> {
  await session.insertEntry(entry);
  return entry;
}

function assertOwnedBy(ledgerAccountId: string, entry: LedgerEntryDocument): LedgerEntryDocument {
  if (entry.ledgerAccountId === ledgerAccountId) return entry;
  throw new Error(`operation ${entry._id} does not belong to ledger account ${ledgerAccountId}`);
}
