import { ServiceError } from '../../kernel/errors.js';
import { HOLD_WINDOW_SECONDS, windowRequest } from '../../kernel/hold-windows.js';
import { assertMicros, assertRate, rateOf, type Micros } from '../../kernel/money.js';
import { LedgerBusyError, decide, findCell, readAccount, type LedgerWork } from './decide.js';
import { correctionKey, holdKey, isPaymentId, settlementKey, topUpKey } from './keys.js';
import { correctionPlan, holdPlan, settlementPlan, tombstonePlan, topUpPlan } from './plans.js';
import { billedSecondsOf, heldSecondsOf } from './rates.js';
import type { LedgerSession } from './storage.js';
import type { HoldRefusal, LedgerAccountDocument, LedgerMarker } from './model.js';

export interface TopUpRequest {
  ledgerAccountId: string;
  paymentId: string;
  amountMicros: Micros;
}

export interface HoldRequest {
  ledgerAccountId: string;
  callId: string;
  /** Index of the window, from 0. */
  window: number;
  maxDurationSeconds: number;
  /** The call's price per second, fixed at the request. Later windows use the price of the first hold. */
  microsPerSecond: Micros;
  /** Window sizes in seconds, if they differ from `HOLD_WINDOW_SECONDS`. */
  windows?: readonly number[];
  /** Maximum amount billed and held per UTC day; absent: no limit. */
  dailySpendCapMicros?: Micros;
}

export interface HoldAnswer {
  /** 0 when rejected. */
  grantedSeconds: number;
  /** Total of all windows so far, including this one. */
  heldSeconds: number;
  /** True when no window may follow. */
  last: boolean;
  /** The reason why the hold was rejected or covers only part of the window. */
  refusal?: HoldRefusal;
}

export interface SettleRequest {
  ledgerAccountId: string;
  callId: string;
  /** Whole seconds; 0 voids the call. */
  billedSeconds: number;
  /** True when the seconds come from our own clocks. */
  estimated?: boolean;
}

export interface Settlement {
  billedSeconds: number;
  billedMicros: Micros;
  heldMicros: Micros;
}

export interface CorrectionRequest {
  ledgerAccountId: string;
  callId: string;
  /** Number of the correction within the call, from 1 without gaps. */
  number: number;
  /** Above 0: corrections only credit. Underbilled amounts are written off. */
  amountMicros: Micros;
  /** Explanation for people. */
  reason: string;
  /** Identifies the correction when several compete for the same number. */
  reference?: string;
}

const MAX_REASON_LENGTH = 300;

/** Number of holds read together with the account; calls with more windows only cost extra reads. */
const WINDOWS_READ_AHEAD = HOLD_WINDOW_SECONDS.length;

/**
 * Credits a payment once.
 * @throws ServiceError for an invalid payment, or one that exists with another amount
 */
export async function topUp(work: LedgerWork, p: TopUpRequest): Promise<{ amountMicros: Micros }> {
  const { ledgerAccountId, paymentId } = p;
  if (!isPaymentId(paymentId)) {
    throw new ServiceError('MISSING_PARAMS', 'The payment id must have 1 to 128 letters, digits, _ or -.');
  }
  checkCredit(p.amountMicros);
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

/**
 * Credits part of a call's bill.
 * @throws ServiceError for an invalid correction, one that exists with other values, or more than the call was billed
 */
export async function correct(work: LedgerWork, p: CorrectionRequest): Promise<{ amountMicros: Micros }> {
  const { ledgerAccountId, callId, number, amountMicros, reference } = p;
  checkCredit(amountMicros);
  const reason = checkedReason(p.reason);
  if (!Number.isSafeInteger(number) || number < 1) {
    throw new ServiceError('MISSING_PARAMS', 'Corrections of a call are numbered from 1.');
  }
  const before = Array.from({ length: number - 1 }, (_, index) => correctionKey(callId, index + 1));
  const entry = await decide(work, {
    ledgerAccountId,
    key: correctionKey(callId, number),
    alsoRead: [settlementKey(callId), ...before],
    plan: async (account) => {
      // Correct although read outside the update: decided operations never change.
      const settlement = await decidedCell(work, account, settlementKey(callId));
      let correctableMicros = assertMicros(settlement.billedMicros, 'billedMicros');
      for (const key of before) {
        correctableMicros -= assertMicros((await decidedCell(work, account, key)).amountMicros, 'amountMicros');
      }
      if (amountMicros > correctableMicros) {
        throw new ServiceError('MISSING_PARAMS', 'A call cannot be given back more than it was billed.');
      }
      const microsPerSecond = rateOf(settlement);
      return correctionPlan({ callId, amountMicros, microsPerSecond, correctableMicros, reason, reference });
    },
  });
  if (entry.amountMicros !== amountMicros || entry.reference !== reference) {
    throw new ServiceError(
      'IDEMPOTENCY_CONFLICT',
      'This correction was written before, with another amount or reference.',
    );
  }
  return { amountMicros };
}

async function decidedCell(work: LedgerWork, account: LedgerAccountDocument, key: string): Promise<LedgerMarker> {
  const cell = await findCell(work.session, account, key);
  if (!cell) throw new ServiceError('MISSING_PARAMS', 'Only a settled call is corrected, one number after the other.');
  return cell;
}

/** Decides one window; see `holdPlan` for the possible results. */
export async function hold(work: LedgerWork, p: HoldRequest): Promise<HoldAnswer> {
  const { ledgerAccountId, callId, window, maxDurationSeconds } = p;
  const windows = p.windows ?? HOLD_WINDOW_SECONDS;
  assertWhole([window, maxDurationSeconds, ...windows]);
  assertRate(p.microsPerSecond);
  const dailyCap = p.dailySpendCapMicros === undefined ? Infinity : assertMicros(p.dailySpendCapMicros, 'daily cap');
  if (window >= windows.length) throw new RangeError('there is no such window');
  const { heldSeconds, closed, microsPerSecond } = await windowsBefore(work.session, p);
  const request = windowRequest(window, { heldSeconds, maxDurationSeconds, microsPerSecond, windows });
  if (closed || request.seconds === 0) return { grantedSeconds: 0, heldSeconds, last: true };
  const cell = await decide(work, {
    ledgerAccountId,
    key: holdKey(callId, window),
    plan: (account) => holdPlan(account, { callId, window, request, microsPerSecond, dailyCap, now: work.now() }),
  });
  const grantedSeconds = heldSecondsOf(cell);
  return {
    grantedSeconds,
    heldSeconds: heldSeconds + grantedSeconds,
    last: cell.last === true || grantedSeconds === 0,
    ...(cell.refusal === undefined ? {} : { refusal: cell.refusal }),
  };
}

/** Sums up the earlier windows: their seconds, their price, and whether one of them was the last. */
async function windowsBefore(
  session: LedgerSession,
  p: HoldRequest,
): Promise<{ heldSeconds: number; closed: boolean; microsPerSecond: Micros }> {
  if (p.window === 0) return { heldSeconds: 0, closed: false, microsPerSecond: p.microsPerSecond };
  const keys = Array.from({ length: p.window }, (_, index) => holdKey(p.callId, index));
  const account = await readAccount(session, p.ledgerAccountId, keys);
  let { microsPerSecond } = p;
  let heldSeconds = 0;
  for (const [window, key] of keys.entries()) {
    const cell = await findCell(session, account, key);
    if (!cell) throw new LedgerBusyError(`hold ${key} must be decided before the next window`);
    if (window === 0) microsPerSecond = rateOf(cell);
    heldSeconds += heldSecondsOf(cell);
    if (isLastCell(cell)) return { heldSeconds, closed: true, microsPerSecond };
  }
  return { heldSeconds, closed: false, microsPerSecond };
}

/** Closes the call's holds and bills it in one operation. */
export async function settle(work: LedgerWork, p: SettleRequest): Promise<Settlement> {
  const { ledgerAccountId, callId, billedSeconds } = p;
  assertWhole([billedSeconds]);
  const cell = await decide(work, {
    ledgerAccountId,
    key: settlementKey(callId),
    alsoRead: Array.from({ length: WINDOWS_READ_AHEAD }, (_, window) => holdKey(callId, window)),
    plan: async (account) => {
      const windows = await closeHolds(work, account, callId);
      return settlementPlan(account, { callId, windows, billedSeconds, estimated: p.estimated ?? false });
    },
  });
  const billedMicros = cell.billedMicros ?? 0;
  return { billedSeconds: billedSecondsOf(cell), billedMicros, heldMicros: cell.heldMicros ?? 0 };
}

/**
 * Returns all decided windows of a call and prevents further ones: the first undecided window gets a tombstone, unless
 * a late hold is granted first, which then counts. Neither the caller's count nor a read that finds nothing proves how
 * many windows there are.
 */
async function closeHolds(work: LedgerWork, account: LedgerAccountDocument, callId: string): Promise<LedgerMarker[]> {
  const windows: LedgerMarker[] = [];
  for (let window = 0; ; window++) {
    const key = holdKey(callId, window);
    const cell =
      (await findCell(work.session, account, key)) ??
      (await decide(work, { ledgerAccountId: account._id, key, plan: () => tombstonePlan(callId) }));
    assertMicros(cell.amountMicros, 'held amount');
    windows.push(cell);
    if (isLastCell(cell)) return windows;
  }
}

function isLastCell(cell: { amountMicros?: Micros; last?: boolean }): boolean {
  return cell.last === true || !cell.amountMicros;
}

function checkCredit(amountMicros: Micros): void {
  if (Number.isSafeInteger(amountMicros) && amountMicros > 0) return;
  throw new ServiceError('MISSING_PARAMS', 'The amount must be a whole number of micro-USD above 0.');
}

/**
 * Trims and validates a reason.
 * @throws ServiceError unless it has 1 to 300 characters
 */
export function checkedReason(reason: unknown): string {
  const text = typeof reason === 'string' ? reason.trim() : '';
  if (text.length > 0 && text.length <= MAX_REASON_LENGTH) return text;
  throw new ServiceError('MISSING_PARAMS', `The reason must have 1 to ${MAX_REASON_LENGTH} characters.`);
}

function assertWhole(values: readonly number[]): void {
  if (values.every((value) => Number.isSafeInteger(value) && value >= 0)) return;
  throw new RangeError('windows and seconds must be whole numbers that are not negative');
}
