import { ContentionError, OVERTAKEN, untilNotOvertaken } from '../../platform/mongo/optimistic-update.js';
import type { AccountGuard, LedgerFigure, LedgerSession } from './storage.js';
import type { LedgerAccountDocument, LedgerEntryDocument, LedgerMarker } from './model.js';

/** An account is swept before it carries more markers than this; far above, every write would get slow. */
export const SWEEP_AT_MARKERS = 100;
/** No write may bring an account above this, however many processes write at once. */
export const MAX_MARKERS = 130;
const MOST_TRIES = 40;

/** The operation is not decided yet for a passing reason; asking again is safe and gives the one answer. */
export class LedgerBusyError extends Error {
  override readonly name = 'LedgerBusyError';
}

/** What an operation would do to the account as it was read: its cell, the money it moves, and what must still hold. */
export interface LedgerPlan {
  marker: Omit<LedgerMarker, 'epoch' | 'at'>;
  increments: Partial<Record<LedgerFigure, number>>;
  guard: AccountGuard;
}

/** What operations work with. */
export interface LedgerWork {
  session: LedgerSession;
  /** Sweeps an account, or waits for the sweep of it that is on its way in this process. */
  sweepOnce(ledgerAccountId: string): Promise<void>;
  /** An account with this many markers is swept before anything else is decided. */
  sweepAtMarkers: number;
  /** ms since the epoch; decides nothing but the day that spending is counted to. */
  now(): number;
  /** Waits before the next try, for a random time so that writers do not meet again. */
  pause(tries: number): Promise<void>;
}

export interface Decision {
  ledgerAccountId: string;
  key: string;
  /** Further keys whose markers the plan wants to see. */
  alsoRead?: readonly string[];
  plan(account: LedgerAccountDocument): LedgerPlan | Promise<LedgerPlan>;
}

/**
 * The one primitive of the ledger: decides an operation exactly once and gives every caller the same cell.
 *
 * Why it is exact. Each operation key is applied at most once: before its marker is swept, the marker is in the
 * document and the filter refuses a second one; a sweep comes only after the entry exists and moves the epoch. A late
 * writer read the epoch first and the journal second: if the sweep was after its first read, its epoch is old and the
 * filter refuses; if before, the entry existed when it read the journal and it returned that. Hence the order of the
 * two reads is not a matter of taste. Refusals and voids are cells too, so that a hold that arrives after them finds
 * the matter decided.
 * @throws LedgerBusyError when other writers won every attempt
 */
export async function decide(work: LedgerWork, decision: Decision): Promise<LedgerEntryDocument> {
  const retries = { name: 'ledger_accounts', mostTries: MOST_TRIES, pause: (tries: number) => work.pause(tries) };
  try {
    return await untilNotOvertaken(retries, () => tryToDecide(work, decision));
  } catch (error) {
    if (!(error instanceof ContentionError)) throw error;
    throw new LedgerBusyError(`operation ${decision.key} found no quiet moment in ${MOST_TRIES} tries`);
  }
}

async function tryToDecide(work: LedgerWork, decision: Decision): Promise<LedgerEntryDocument | typeof OVERTAKEN> {
  const { session } = work;
  const { ledgerAccountId, key } = decision;
  const account = await readAccount(session, ledgerAccountId, [key, ...(decision.alsoRead ?? [])]);
  const decided = await session.findEntry(key);
  if (decided) return ownedBy(ledgerAccountId, decided);
  const marker = account.markers[key];
  if (marker) return record(session, entryOf(ledgerAccountId, key, marker));
  if (account.markerCount >= work.sweepAtMarkers) {
    await work.sweepOnce(ledgerAccountId);
    return OVERTAKEN;
  }
  const plan = await decision.plan(account);
  const planned = { ...plan.marker, epoch: account.epoch, at: new Date(work.now()) };
  const { increments, guard } = plan;
  const update = { ledgerAccountId, epoch: account.epoch, key, marker: planned, increments, guard };
  const isDone = await session.updateAccount({ kind: 'decide', ...update, maxMarkers: MAX_MARKERS });
  return isDone ? record(session, entryOf(ledgerAccountId, key, planned)) : OVERTAKEN;
}

/**
 * Moves the account's markers out: makes sure that each has its entry, then removes them and moves the epoch in one
 * step. Of two sweeps at once one does nothing.
 */
export async function sweep(session: LedgerSession, ledgerAccountId: string): Promise<void> {
  const account = await readAccount(session, ledgerAccountId, 'all');
  const keys = Object.keys(account.markers);
  if (keys.length === 0) return;
  const present = await session.findEntryKeys(keys);
  for (const [key, marker] of Object.entries(account.markers)) {
    if (!present.has(key)) await session.insertEntry(entryOf(ledgerAccountId, key, marker));
  }
  await session.updateAccount({ kind: 'sweep', ledgerAccountId, epoch: account.epoch, keys });
}

/** Lets the operations of a process share one sweep of an account instead of each doing its own. */
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

/** @throws Error when there is no such account */
export async function readAccount(
  session: LedgerSession,
  ledgerAccountId: string,
  keys: readonly string[] | 'all',
): Promise<LedgerAccountDocument> {
  const account = await session.findAccount(ledgerAccountId, keys);
  if (!account) throw new Error(`there is no ledger account ${ledgerAccountId}`);
  return account;
}

/** The decided cell of a key, from the account as read or from the journal. */
export async function findCell(
  session: LedgerSession,
  account: LedgerAccountDocument,
  key: string,
): Promise<LedgerMarker | null> {
  const marker = account.markers[key];
  if (marker) return marker;
  const entry = await session.findEntry(key);
  return entry && ownedBy(account._id, entry);
}

function entryOf(ledgerAccountId: string, key: string, marker: LedgerMarker): LedgerEntryDocument {
  return { _id: key, ledgerAccountId, ...marker };
}

async function record(session: LedgerSession, entry: LedgerEntryDocument): Promise<LedgerEntryDocument> {
  await session.insertEntry(entry);
  return entry;
}

function ownedBy(ledgerAccountId: string, entry: LedgerEntryDocument): LedgerEntryDocument {
  if (entry.ledgerAccountId === ledgerAccountId) return entry;
  throw new Error(`operation ${entry._id} belongs to another ledger account than ${ledgerAccountId}`);
}
