import { ServiceError } from '../domain/errors.js';
import { HOLD_WINDOW_SECONDS, windowRequest } from '../domain/hold-windows.js';
import { MICROS_PER_SECOND, assertMicros, secondsCovered, type Micros } from '../domain/money.js';
import { LedgerBusyError, decide, findCell, readAccount, type LedgerWork } from './ledger-decide.js';
import { holdKey, isPaymentId, settlementKey, topUpKey } from './ledger-keys.js';
import { holdPlan, settlementPlan, tombstonePlan, topUpPlan } from './ledger-plans.js';
import type { LedgerSession } from './ledger-storage.js';
import type { LedgerAccountDocument } from './models/ledger.js';

export interface TopUpRequest {
  ledgerAccountId: string;
  paymentId: string;
  amountMicros: Micros;
}

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

export interface SettleRequest {
  ledgerAccountId: string;
  callId: string;
  /** Whole seconds; 0 voids. */
  billedSeconds: number;
  /** The seconds come from our own clocks. */
  estimated?: boolean;
}

export interface Settlement {
  billedSeconds: number;
  billedMicros: Micros;
  heldMicros: Micros;
}

/** Cells that are read along with the account; a call with more windows than these only costs more reads. */
const WINDOWS_READ_AHEAD = HOLD_WINDOW_SECONDS.length;

/** @throws ServiceError for a bad or a contradicting payment */
export async function topUp(work: LedgerWork, p: TopUpRequest): Promise<{ amountMicros: Micros }> {
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

/** Decides one window; see `holdPlan` for what it may come to. */
export async function hold(work: LedgerWork, p: HoldRequest): Promise<HoldAnswer> {
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

/** Closes the call's holds and bills, as one operation. */
export async function settle(work: LedgerWork, p: SettleRequest): Promise<Settlement> {
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
