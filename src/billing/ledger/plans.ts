import type { windowRequest } from '../../kernel/hold-windows.js';
import { priceOfSeconds, rateOf, secondsCovered, secondsTouched, type Micros } from '../../kernel/money.js';
import { ServiceError } from '../../kernel/errors.js';
import type { LedgerPlan } from './decide.js';
import { addSpending, spendingAt, spendingExhausted, unspentOf } from './spending.js';
import type { HoldRejection, LedgerAccountDocument, LedgerMarker } from './model.js';

export interface PlannedHold {
  callId: string;
  window: number;
  request: ReturnType<typeof windowRequest>;
  /**
   * Price per second in the request. The marker of the first hold records this price, and later operations of the call
   * use it.
   */
  microsPerSecond: Micros;
  /** Maximum amount billed and held per UTC day. Infinity means no limit. */
  dailyCap: Micros;
  now: number;
}

/**
 * Plans the hold of a window. A first window is granted completely or not at all. A later window is granted up to the
 * whole seconds that the balance and the daily cap still cover. A rejection is recorded, too, so that a late attempt of
 * the same hold cannot succeed. A freeze rejects only first windows, so running calls continue.
 */
export function holdPlan(account: LedgerAccountDocument, hold: PlannedHold): LedgerPlan {
  const { callId, window, request, microsPerSecond, dailyCap, now } = hold;
  const isFirst = window === 0;
  const rejectWith = rejectionsOf(hold);
  if (isFirst && account.frozen) return rejectWith('ACCOUNT_FROZEN', { frozen: true });
  const notFrozen = isFirst ? { frozen: false } : {};
  const spending = spendingAt(account, now);
  const unspent = dailyCap - spending.micros;
  const available = account.availableMicros;
  const smallest = isFirst ? request.micros : Math.min(request.micros, microsPerSecond);
  if (unspent < smallest) {
    const exhausted = spendingExhausted(account, spending, smallest, dailyCap);
    return rejectWith('SPEND_LIMIT_EXCEEDED', { ...notFrozen, ...exhausted });
  }
  if (available < smallest) {
    return rejectWith('INSUFFICIENT_BALANCE', { ...notFrozen, availableMicros: { below: smallest } });
  }
  const room = Math.min(available, unspent);
  const isWhole = room >= request.micros;
  const amountMicros = isWhole
    ? request.micros
    : priceOfSeconds(secondsCovered(room, microsPerSecond), microsPerSecond);
  const isLast = request.last || !isWhole;
  const restRejection: HoldRejection = available <= unspent ? 'INSUFFICIENT_BALANCE' : 'SPEND_LIMIT_EXCEEDED';
  const spend = addSpending(account, spending, amountMicros, dailyCap);
  // If the balance now covers the whole window, a part of it must not be granted: the update then fails, and the window
  // is planned again.
  const scarce = !isWhole && available <= unspent ? { below: request.micros } : {};
  return {
    marker: {
      type: 'hold',
      callId,
      amountMicros,
      microsPerSecond,
      spendDay: spending.day,
      ...(isLast ? { last: true } : {}),
      ...(isWhole ? {} : { refusal: restRejection }),
    },
    increments: { ...spend.increments, availableMicros: -amountMicros, heldMicros: amountMicros },
    guard: { ...notFrozen, ...spend.guard, availableMicros: { atLeast: amountMicros, ...scarce } },
  };
}

/** Plans a tombstone: an empty hold that blocks the hold of a window that was undecided when its call was settled. */
export function tombstonePlan(callId: string): LedgerPlan {
  return { marker: { type: 'hold', callId, amountMicros: 0, void: true }, increments: {}, guard: {} };
}

/**
 * Plans a settlement: bills whole seconds at the price of the first window, at most the amount held, and releases the
 * rest.
 */
export function settlementPlan(
  account: LedgerAccountDocument,
  settlement: { callId: string; windows: readonly LedgerMarker[]; billedSeconds: number; estimated: boolean },
): LedgerPlan {
  const { callId, windows, billedSeconds, estimated } = settlement;
  const held = windows.reduce((sum, { amountMicros = 0 }) => sum + amountMicros, 0);
  const [first] = windows;
  const rate = rateOf(first ?? {});
  const billed = priceOfSeconds(Math.min(billedSeconds, secondsCovered(held, rate)), rate);
  const { spendDay } = account;
  const unspent = unspentOf(windows, billed, spendDay);
  return {
    marker: {
      type: 'settlement',
      callId,
      heldMicros: held,
      billedMicros: billed,
      billedSeconds,
      ...(first?.microsPerSecond === undefined ? {} : { microsPerSecond: rate }),
      spendDay,
      unspentMicros: unspent,
      ...(estimated ? { estimated } : {}),
    },
    // `0 - held` avoids storing -0.
    increments: {
      heldMicros: 0 - held,
      availableMicros: held - billed,
      billedMicros: billed,
      spentMicros: 0 - unspent,
    },
    guard: { heldMicros: { atLeast: held }, spendDay: { atLeast: spendDay, below: spendDay + 1 } },
  };
}

/**
 * Plans a top-up.
 * @throws ServiceError when the account's total would exceed the safe integers
 */
export function topUpPlan(account: LedgerAccountDocument, amountMicros: Micros): LedgerPlan {
  const room = Number.MAX_SAFE_INTEGER - amountMicros;
  if (account.creditedMicros > room) {
    throw new ServiceError(
      'MISSING_PARAMS',
      'amount is too large: the sum of all top-ups would exceed the maximum of an account.',
    );
  }
  return {
    marker: { type: 'topUp', amountMicros },
    increments: { availableMicros: amountMicros, creditedMicros: amountMicros },
    guard: { creditedMicros: { below: room + 1 } },
  };
}

/**
 * Plans the credit of an overbilled amount. The day's spending stays unchanged, because it limits risk and is not a
 * bill.
 * @param correction.microsPerSecond the price at which the call was billed
 * @param correction.correctableMicros the part of the bill that earlier corrections have not credited
 */
export function correctionPlan(correction: {
  callId: string;
  amountMicros: Micros;
  microsPerSecond: Micros;
  correctableMicros: Micros;
  reason: string;
  reference: string | undefined;
}): LedgerPlan {
  const { callId, amountMicros, microsPerSecond, correctableMicros, reason, reference } = correction;
  // A second counts as billed until it is credited completely. So the seconds of all corrections add up.
  const creditedSeconds =
    secondsTouched(correctableMicros, microsPerSecond) -
    secondsTouched(correctableMicros - amountMicros, microsPerSecond);
  return {
    marker: {
      type: 'correction',
      callId,
      amountMicros,
      microsPerSecond,
      creditedSeconds,
      reason,
      ...(reference === undefined ? {} : { reference }),
    },
    increments: { availableMicros: amountMicros, billedMicros: 0 - amountMicros },
    guard: { billedMicros: { atLeast: amountMicros } },
  };
}

function rejectionsOf({ callId, microsPerSecond }: PlannedHold) {
  return (refusal: HoldRejection, guard: LedgerPlan['guard']): LedgerPlan => ({
    marker: { type: 'hold', callId, amountMicros: 0, microsPerSecond, refused: true, refusal },
    increments: {},
    guard,
  });
}
