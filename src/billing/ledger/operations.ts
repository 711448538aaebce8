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
  /** Which window, from 0. */
  window: number;
  maxDurationSeconds: number;
  /** The call's price of a second, frozen when it was asked for. Later windows go by what the first was held at. */
  microsPerSecond: Micros;
  /** Sizes of the windows in seconds, where they differ from the standard ones. */
  windows?: readonly number[];
  /** The most that the account may be billed and hold in a UTC day; absent: no limit. */
  dailySpendCapMicros?: Micros;
}

export interface HoldAnswer {
  /** 0: refused. */
  grantedSeconds: number;
  /** Granted by all windows so far, this one included. */
  heldSeconds: number;
  /** No window may follow. */
  last: boolean;
  /** Why nothing, or not the whole window, was granted. */
  refusal?: HoldRefusal;
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

export interface CorrectionRequest {
  ledgerAccountId: string;
  callId: string;
  /** Which correction of the call, from 1 without gaps. */
  number: number;
  /** Above 0: corrections give back. What was billed too little is written off. */
  amountMicros: Micros;
  /** For people. */
  reason: string;
  /** Whose correction this is, where several may want the same number. */
  reference?: string;
}

const MAX_REASON_LENGTH = 300;

/** Cells that are read along with the account; a call with more windows than these only costs more reads. */
const WINDOWS_READ_AHEAD = HOLD_WINDOW_SECONDS.length;

/** @throws ServiceError for a bad or a contradicting payment */
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

/** @throws ServiceError for a bad or a contradicting correction, or one of more than the call was billed */
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
      // Exact although it is read apart from the update: the cells it adds up never change once they are decided.
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

/** Decides one window; see `holdPlan` for what it may come to. */
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

/** What the windows before this one hold and at what price, and whether one of them was the last. */
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

/** Closes the call's holds and bills, as one operation. */
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
 * The windows that a call holds, and no more will: the first window that has no decision gets a tombstone, unless a late grant
 * is faster, which then counts. How many windows there are is never taken from a caller, and absence is never inferred
 * from a read.
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

/** @throws ServiceError unless it is a text of 1 to 300 characters */
export function checkedReason(reason: unknown): string {
  const text = typeof reason === 'string' ? reason.trim() : '';
  if (text.length > 0 && text.length <= MAX_REASON_LENGTH) return text;
  throw new ServiceError('MISSING_PARAMS', `The reason must have 1 to ${MAX_REASON_LENGTH} characters.`);
}

function assertWhole(values: readonly number[]): void {
  if (values.every((value) => Number.isSafeInteger(value) && value >= 0)) return;
  throw new RangeError('windows and seconds must be whole numbers that are not negative');
}
