import { ServiceError } from '../domain/errors.js';
import { HOLD_WINDOW_SECONDS, windowRequest } from '../domain/hold-windows.js';
import { MICROS_PER_SECOND, assertMicros, secondsCovered, type Micros } from '../domain/money.js';
import type { Database } from './database.js';
import { auditAccount, balanceOf, type Balance, type LedgerAudit } from './ledger-audit.js';
import {
  LedgerBusyError,
  createSharedSweeps,
  decide,
  findCell,
  readAccount,
  sweep,
  type LedgerWork,
} from './ledger-decide.js';
import { holdKey, isPaymentId, settlementKey, topUpKey } from './ledger-keys.js';
import { holdPlan, settlementPlan, tombstonePlan, topUpPlan } from './ledger-plans.js';
import { createLedgerStorage, type LedgerSession, type LedgerStorage } from './ledger-storage.js';
import type { LedgerAccountDocument } from './models/ledger.js';

export { LedgerBusyError } from './ledger-decide.js';
export type { Balance, LedgerAudit } from './ledger-audit.js';

export interface HoldRequest {
  ledgerAccountId: string;
  callId: string;
  /** Which window, from 0. */
  window: number;
  maxDurationSeconds: number;
  /** Sizes of the windows in seconds, where they differ from the standard ones. */
  windows?: readonly number[];
}

export interface HoldAnswer {
  /** 0: refused. */
  grantedSeconds: number;
  /** Granted by all windows so far, this one included. */
  heldSeconds: number;
  /** No window may follow. */
  last: boolean;
}

export interface Settlement {
  billedSeconds: number;
  billedMicros: Micros;
  heldMicros: Micros;
}

export interface Ledger {
  /** Opens an account with no money in it, unless it exists. */
  open(ledgerAccountId: string): Promise<void>;
  /**
   * Credits a payment once, however often it is told of.
   * @throws ServiceError IDEMPOTENCY_CONFLICT when the payment is known with another amount
   */
  topUp(p: { ledgerAccountId: string; paymentId: string; amountMicros: Micros }): Promise<{ amountMicros: Micros }>;
  /**
   * Decides window `window` of a call; the same answer on every repeat.
   * @throws LedgerBusyError (ask again) when the window before it is not decided, or the account found no quiet moment
   */
  hold(p: HoldRequest): Promise<HoldAnswer>;
  /**
   * Ends a call's holds and bills `billedSeconds` (whole; 0 voids), at most what is held. The first settlement stands:
   * every repeat gets its answer.
   * @throws LedgerBusyError (ask again)
   */
  settle(p: {
    ledgerAccountId: string;
    callId: string;
    billedSeconds: number;
    estimated?: boolean;
  }): Promise<Settlement>;
  balance(ledgerAccountId: string): Promise<Balance>;
  /** Compares the account with the sum of its operations, while others go on writing. */
  audit(ledgerAccountId: string): Promise<LedgerAudit>;
  /** The ids of every ledger account, or of one customer's. */
  accounts(accountId?: string): Promise<string[]>;
  /** Writes out the entries of an account's latest operations; happens by itself on busy accounts. */
  sweep(ledgerAccountId: string): Promise<void>;
}

/** Cells that are read along with the account; a call with more windows than these only costs more reads. */
const WINDOWS_READ_AHEAD = HOLD_WINDOW_SECONDS.length;

/** Exactly-once money on single-document atomicity, in MongoDB. See `ledger-decide.ts` for why it is exact. */
export function createLedger(database: Database): Ledger {
  return createLedgerOn(createLedgerStorage(database));
}

/** The same ledger on any storage that is atomic per document. */
export function createLedgerOn(storage: LedgerStorage): Ledger {
  const sharedSweep = createSharedSweeps();
  const onWork = <T>(operation: (work: LedgerWork) => Promise<T>) =>
    storage.consistently((session) => operation({ session, sweepOnce: (id) => sharedSweep(session, id) }));
  return {
    open: (ledgerAccountId) => storage.consistently((session) => session.insertAccount(newAccount(ledgerAccountId))),
    topUp: (p) => onWork((work) => topUp(work, p)),
    hold: (p) => onWork((work) => hold(work, p)),
    settle: (p) => onWork((work) => settle(work, p)),
    balance: (id) => storage.consistently(async (session) => balanceOf(await readAccount(session, id, []))),
    audit: (id) => storage.consistently((session) => auditAccount(session, id)),
    accounts: async (accountId) => {
      const ids = await storage.consistently((session) => session.listAccounts());
      return accountId === undefined ? ids : ids.filter((id) => id.startsWith(`${accountId}~`));
    },
    sweep: (id) => storage.consistently((session) => sweep(session, id)),
  };
}

function newAccount(ledgerAccountId: string): LedgerAccountDocument {
  const amounts = { availableMicros: 0, heldMicros: 0, creditedMicros: 0, billedMicros: 0 };
  return { _id: ledgerAccountId, epoch: 0, ...amounts, markerCount: 0, markers: {} };
}

async function topUp(work: LedgerWork, p: Parameters<Ledger['topUp']>[0]): Promise<{ amountMicros: Micros }> {
  const { ledgerAccountId, paymentId } = p;
  if (!isPaymentId(paymentId)) {
    throw new ServiceError('MISSING_PARAMS', 'The payment id must have 1 to 128 letters, digits, _ or -.');
  }
  if (!Number.isSafeInteger(p.amountMicros) || p.amountMicros <= 0) {
    throw new ServiceError('MISSING_PARAMS', 'The amount must be a whole number of micro-USD above 0.');
  }
  const entry = await decide(work, {
    ledgerAccountId,
    key: topUpKey(ledgerAccountId, paymentId),
    plan: (account) => topUpPlan(account, p.amountMicros),
  });
  if (entry.amountMicros !== p.amountMicros) {
    throw new ServiceError('IDEMPOTENCY_CONFLICT', 'This payment was credited before, with another amount.');
  }
  return { amountMicros: p.amountMicros };
}

async function hold(work: LedgerWork, p: HoldRequest): Promise<HoldAnswer> {
  const { ledgerAccountId, callId, window } = p;
  const windows = p.windows ?? HOLD_WINDOW_SECONDS;
  assertWhole([window, p.maxDurationSeconds, ...windows]);
  if (window >= windows.length) throw new RangeError('there is no such window');
  const before = window === 0 ? { heldSeconds: 0, closed: false } : await windowsBefore(work.session, p);
  const { heldSeconds } = before;
  const request = windowRequest(window, heldSeconds, p.maxDurationSeconds, windows);
  if (before.closed || request.seconds === 0) return { grantedSeconds: 0, heldSeconds, last: true };
  const cell = await decide(work, {
    ledgerAccountId,
    key: holdKey(callId, window),
    plan: (account) => holdPlan(callId, window, request, account.availableMicros),
  });
  const grantedSeconds = secondsCovered(cell.amountMicros ?? 0);
  return {
    grantedSeconds,
    heldSeconds: heldSeconds + grantedSeconds,
    last: cell.last === true || grantedSeconds === 0,
  };
}

/** What the windows before this one hold, and whether one of them was the last. */
async function windowsBefore(
  session: LedgerSession,
  p: HoldRequest,
): Promise<{ heldSeconds: number; closed: boolean }> {
  const keys = Array.from({ length: p.window }, (_, index) => holdKey(p.callId, index));
  const account = await readAccount(session, p.ledgerAccountId, keys);
  let heldSeconds = 0;
  for (const key of keys) {
    const cell = await findCell(session, account, key);
    if (!cell) throw new LedgerBusyError(`hold ${key} must be decided before the next window`);
    heldSeconds += secondsCovered(cell.amountMicros ?? 0);
    if (isLastCell(cell)) return { heldSeconds, closed: true };
  }
  return { heldSeconds, closed: false };
}

async function settle(work: LedgerWork, p: Parameters<Ledger['settle']>[0]): Promise<Settlement> {
  const { ledgerAccountId, callId, billedSeconds } = p;
  assertWhole([billedSeconds]);
  const cell = await decide(work, {
    ledgerAccountId,
    key: settlementKey(callId),
    alsoRead: Array.from({ length: WINDOWS_READ_AHEAD }, (_, window) => holdKey(callId, window)),
    plan: async (account) =>
      settlementPlan(callId, await closeHolds(work, account, callId), billedSeconds, p.estimated ?? false),
  });
  const billedMicros = cell.billedMicros ?? 0;
  return { billedSeconds: billedMicros / MICROS_PER_SECOND, billedMicros, heldMicros: cell.heldMicros ?? 0 };
}

/**
 * Sums up what a call holds, and closes it: the first window that has no decision gets a tombstone, unless a late grant
 * is faster, which then counts. How many windows there are is never taken from a caller, and absence is never inferred
 * from a read.
 */
async function closeHolds(work: LedgerWork, account: LedgerAccountDocument, callId: string): Promise<Micros> {
  let held = 0;
  for (let window = 0; ; window++) {
    const key = holdKey(callId, window);
    const cell =
      (await findCell(work.session, account, key)) ??
      (await decide(work, { ledgerAccountId: account._id, key, plan: () => tombstonePlan(callId) }));
    held += assertMicros(cell.amountMicros, 'held amount');
    if (isLastCell(cell)) return held;
  }
}

function isLastCell(cell: { amountMicros?: Micros; last?: boolean }): boolean {
  return cell.last === true || !cell.amountMicros;
}

function assertWhole(values: readonly number[]): void {
  if (values.every((value) => Number.isSafeInteger(value) && value >= 0)) return;
  throw new RangeError('windows and seconds must be whole numbers that are not negative');
}
