import { invalidReason } from '../../kernel/common-errors.js';
import { ServiceError } from '../../kernel/errors.js';
import { HOLD_WINDOW_SECONDS, windowRequest } from '../../kernel/hold-windows.js';
import { assertMicros, assertRate, rateOf, type Micros } from '../../kernel/money.js';
import { LedgerBusyError, decide, findMarker, readAccount, type LedgerWork } from './decide.js';
import { holdEarly, settleEarly, type FirstHold } from './early-decisions.js';
import { correctionKey, holdKey, isPaymentId, settlementKey, topUpKey } from './keys.js';
import { correctionPlan, holdPlan, settlementPlan, tombstonePlan, topUpPlan } from './plans.js';
import { billedSecondsOf, heldSecondsOf } from './rates.js';
import type { LedgerSession } from './storage.js';
import type { HoldRejection, LedgerAccountDocument, LedgerMarker } from './model.js';

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
  /** The call's price per second, fixed when the call is requested. Later windows use the price of the first hold. */
  microsPerSecond: Micros;
  /** Window sizes in seconds, if they differ from `HOLD_WINDOW_SECONDS`. */
  windows?: readonly number[];
  /** Maximum amount billed and held per UTC day; absent: no limit. */
  dailySpendCapMicros?: Micros;
  /** An epoch of the account that was read before the call was stored. It saves reads if the account still has it. */
  knownEpoch?: number | undefined;
}

export interface HoldResult {
  /** Seconds granted for this window; 0 if it was rejected. */
  grantedSeconds: number;
  /** Seconds granted for all windows so far, including this one. */
  heldSeconds: number;
  /** True when no further window may follow. */
  last: boolean;
  /** Why the hold was rejected, or why it covers only part of the window. */
  refusal?: HoldRejection;
}

export interface SettleRequest {
  ledgerAccountId: string;
  callId: string;
  /** Whole seconds; with 0, the call costs nothing. */
  billedSeconds: number;
  /** True when the seconds were measured by our clocks, not by the carrier. */
  estimated?: boolean;
  /** As in {@link HoldRequest}. */
  knownEpoch?: number | undefined;
  /** The first window, if the caller believes that it is the only one. It saves reads if that is true. */
  firstHold?: FirstHold | undefined;
}

export interface Settlement {
  billedSeconds: number;
  billedMicros: Micros;
  heldMicros: Micros;
}

export interface CorrectionRequest {
  ledgerAccountId: string;
  callId: string;
  /** Number of the correction within the call. Corrections are numbered from 1 without gaps. */
  number: number;
  /** Always above 0, because corrections only credit. An amount that was billed too low is never charged later. */
  amountMicros: Micros;
  /** Explanation for people. */
  reason: string;
  /** Identifies the correction when several compete for the same number. */
  reference?: string;
}

const MAX_REASON_LENGTH = 300;

/** Number of holds that are read together with the account. A call with more windows costs further reads. */
const WINDOWS_READ_AHEAD = HOLD_WINDOW_SECONDS.length;

/**
 * Credits a payment once.
 * @throws ServiceError for an invalid payment, or one that exists with another amount
 */
export async function topUp(work: LedgerWork, p: TopUpRequest): Promise<{ amountMicros: Micros }> {
  const { ledgerAccountId, paymentId } = p;
  if (!isPaymentId(paymentId)) {
    throw new ServiceError('MISSING_PARAMS', 'payment id must have 1 to 128 letters, digits, _ or -.');
  }
  assertCreditAmount(p.amountMicros);
  const entry = await decide(work, {
    ledgerAccountId,
    key: topUpKey(ledgerAccountId, paymentId),
    plan: (account) => topUpPlan(account, p.amountMicros),
  });
  if (entry.amountMicros !== p.amountMicros) {
    throw new ServiceError(
      'IDEMPOTENCY_CONFLICT',
      'This payment was credited before with a different amount. Use a new payment id.',
    );
  }
  return { amountMicros: p.amountMicros };
}

/**
 * Credits part of a call's bill.
 * @throws ServiceError for an invalid correction, one that exists with other values, or more than the call was billed
 */
export async function correct(work: LedgerWork, p: CorrectionRequest): Promise<{ amountMicros: Micros }> {
  const { ledgerAccountId, callId, number, amountMicros, reference } = p;
  assertCreditAmount(amountMicros);
  const reason = validateReason(p.reason);
  if (!Number.isSafeInteger(number) || number < 1) {
    throw new ServiceError('MISSING_PARAMS', 'number must be a whole number, at least 1.');
  }
  const before = Array.from({ length: number - 1 }, (_, index) => correctionKey(callId, index + 1));
  const entry = await decide(work, {
    ledgerAccountId,
    key: correctionKey(callId, number),
    alsoRead: [settlementKey(callId), ...before],
    plan: async (account) => {
      // The settlement can be read before the update, because decided operations never change.
      const settlement = await readDecidedMarker(work, account, settlementKey(callId));
      let correctableMicros = assertMicros(settlement.billedMicros, 'billedMicros');
      for (const key of before) {
        correctableMicros -= assertMicros((await readDecidedMarker(work, account, key)).amountMicros, 'amountMicros');
      }
      if (amountMicros > correctableMicros) {
        throw new ServiceError(
          'MISSING_PARAMS',
          'amount must not exceed the bill of the call minus its earlier corrections.',
        );
      }
      const microsPerSecond = rateOf(settlement);
      return correctionPlan({ callId, amountMicros, microsPerSecond, correctableMicros, reason, reference });
    },
  });
  if (entry.amountMicros !== amountMicros || entry.reference !== reference) {
    throw new ServiceError(
      'IDEMPOTENCY_CONFLICT',
      'A correction with this number exists, but with a different amount or reference.',
    );
  }
  return { amountMicros };
}

async function readDecidedMarker(work: LedgerWork, account: LedgerAccountDocument, key: string): Promise<LedgerMarker> {
  const marker = await findMarker(work.session, account, key);
  if (!marker)
    throw new ServiceError(
      'MISSING_PARAMS',
      'The call cannot be corrected: it is not settled yet, or an earlier correction number is missing.',
    );
  return marker;
}

/** Decides the hold of one window. `holdPlan` describes the possible results. */
export async function hold(work: LedgerWork, p: HoldRequest): Promise<HoldResult> {
  const { ledgerAccountId, callId, window, maxDurationSeconds, knownEpoch } = p;
  const windows = p.windows ?? HOLD_WINDOW_SECONDS;
  assertWholeNumbers([window, maxDurationSeconds, ...windows]);
  assertRate(p.microsPerSecond);
  const dailyCap = p.dailySpendCapMicros === undefined ? Infinity : assertMicros(p.dailySpendCapMicros, 'daily cap');
  if (window >= windows.length) throw new RangeError(`window must be below ${windows.length}`);
  const { heldSeconds, closed, microsPerSecond } = await sumEarlierWindows(work.session, p);
  const request = windowRequest(window, { heldSeconds, maxDurationSeconds, microsPerSecond, windows });
  if (closed || request.seconds === 0) return { grantedSeconds: 0, heldSeconds, last: true };
  const planned = () => ({ callId, window, request, microsPerSecond, dailyCap, now: work.now() });
  const early =
    knownEpoch === undefined || window > 0
      ? null
      : await holdEarly(work, { ledgerAccountId, epoch: knownEpoch, hold: planned() });
  const marker =
    early ??
    (await decide(work, {
      ledgerAccountId,
      key: holdKey(callId, window),
      knownEpoch,
      plan: (account) => holdPlan(account, planned()),
    }));
  const grantedSeconds = heldSecondsOf(marker);
  return {
    grantedSeconds,
    heldSeconds: heldSeconds + grantedSeconds,
    last: marker.last === true || grantedSeconds === 0,
    ...(marker.refusal === undefined ? {} : { refusal: marker.refusal }),
  };
}

/** Returns the seconds of all earlier windows, their price, and whether one of them was the last. */
async function sumEarlierWindows(
  session: LedgerSession,
  p: HoldRequest,
): Promise<{ heldSeconds: number; closed: boolean; microsPerSecond: Micros }> {
  if (p.window === 0) return { heldSeconds: 0, closed: false, microsPerSecond: p.microsPerSecond };
  const keys = Array.from({ length: p.window }, (_, index) => holdKey(p.callId, index));
  const account = await readAccount(session, p.ledgerAccountId, keys);
  let { microsPerSecond } = p;
  let heldSeconds = 0;
  for (const [window, key] of keys.entries()) {
    const marker = await findMarker(session, account, key, p.knownEpoch);
    if (!marker) throw new LedgerBusyError(`hold ${key} must be decided before the next window`);
    if (window === 0) microsPerSecond = rateOf(marker);
    heldSeconds += heldSecondsOf(marker);
    if (isLastWindow(marker)) return { heldSeconds, closed: true, microsPerSecond };
  }
  return { heldSeconds, closed: false, microsPerSecond };
}

/** Ends the call's holds and bills the call in one operation. */
export async function settle(work: LedgerWork, p: SettleRequest): Promise<Settlement> {
  const { ledgerAccountId, callId, billedSeconds, estimated = false, knownEpoch, firstHold } = p;
  assertWholeNumbers([billedSeconds]);
  const early =
    knownEpoch === undefined || firstHold === undefined
      ? null
      : await settleEarly(work, { ledgerAccountId, epoch: knownEpoch, callId, billedSeconds, estimated, firstHold });
  const marker =
    early ??
    (await decide(work, {
      ledgerAccountId,
      key: settlementKey(callId),
      alsoRead: Array.from({ length: WINDOWS_READ_AHEAD }, (_, window) => holdKey(callId, window)),
      knownEpoch,
      plan: async (account) => {
        const windows = await closeHolds(work, account, { callId, knownEpoch });
        return settlementPlan(account, { callId, windows, billedSeconds, estimated });
      },
    }));
  const billedMicros = marker.billedMicros ?? 0;
  return { billedSeconds: billedSecondsOf(marker), billedMicros, heldMicros: marker.heldMicros ?? 0 };
}

/**
 * Returns all decided windows of a call and prevents further ones. It goes through the windows and writes a tombstone
 * for the first undecided one. A late hold may be granted before the tombstone is written; then it counts, and the
 * search continues. Neither a count in the request nor a read that finds no hold would prove that there are no more
 * windows.
 */
async function closeHolds(
  work: LedgerWork,
  account: LedgerAccountDocument,
  { callId, knownEpoch }: Pick<SettleRequest, 'callId' | 'knownEpoch'>,
): Promise<LedgerMarker[]> {
  const windows: LedgerMarker[] = [];
  for (let window = 0; ; window++) {
    const key = holdKey(callId, window);
    const marker =
      (await findMarker(work.session, account, key, knownEpoch)) ??
      (await decide(work, { ledgerAccountId: account._id, key, knownEpoch, plan: () => tombstonePlan(callId) }));
    assertMicros(marker.amountMicros, 'held amount');
    windows.push(marker);
    if (isLastWindow(marker)) return windows;
  }
}

function isLastWindow(marker: { amountMicros?: Micros; last?: boolean }): boolean {
  return marker.last === true || !marker.amountMicros;
}

function assertCreditAmount(amountMicros: Micros): void {
  if (Number.isSafeInteger(amountMicros) && amountMicros > 0) return;
  throw new ServiceError('MISSING_PARAMS', 'amount must be a whole number of micro-USD above 0.');
}

/**
 * Trims and validates a reason.
 * @throws ServiceError unless it has 1 to 300 characters
 */
export function validateReason(reason: unknown): string {
  const text = typeof reason === 'string' ? reason.trim() : '';
  if (text.length > 0 && text.length <= MAX_REASON_LENGTH) return text;
  throw invalidReason(MAX_REASON_LENGTH);
}

function assertWholeNumbers(values: readonly number[]): void {
  if (values.every((value) => Number.isSafeInteger(value) && value >= 0)) return;
  throw new RangeError('windows and seconds must be non-negative whole numbers');
}
