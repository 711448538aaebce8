import type { Micros } from '../../kernel/money.js';
import type { AccountGuard, LedgerFigure } from './storage.js';
import type { LedgerAccountDocument, LedgerMarker } from './model.js';

const MS_PER_DAY = 86_400_000;

/**
 * An account's spending on one UTC day: the held and billed amounts of the windows that were held that day.
 *
 * An account stores one counter: a day and its spending. A hold counts on the day it was decided, by the clock of the
 * deciding process, or on the counter's day if that is later. The hold's marker records the day. A settlement bills the
 * windows in the order they were held and subtracts the unused part of the windows held on the counter's day. So a
 * second of talk after midnight may count on the day it was held, but always on exactly one day.
 *
 * Clocks need not be right. The counter's day only increases, and an operation changes the counter in its own guarded
 * update, which requires the day for which the operation was planned. A wrong clock can count spending on a neighboring
 * day or move the counter ahead. It cannot lose or double spending, and the audit still finds the exact sum.
 */
export interface Spending {
  day: number;
  micros: Micros;
}

/**
 * Returns the day's spending to which a hold decided now would be added.
 * @param now ms since the epoch
 */
export function spendingAt(account: LedgerAccountDocument, now: number): Spending {
  const day = Math.max(Math.floor(now / MS_PER_DAY), account.spendDay);
  return { day, micros: day === account.spendDay ? account.spentMicros : 0 };
}

/**
 * The holds of a call are divided by this to estimate what the call will be billed at least. A new hold window raises
 * the holds of a call to at most four times the earlier ones, shortly before those are used up. So a call that continues
 * beyond its first window has used about a quarter of its holds or more.
 */
const HELD_PER_USED = 4;

/**
 * Returns the day's bills and a quarter of the holds of calls in progress. The holds may include some of the previous
 * day, so after midnight the result may be too low.
 */
export function billedAt(account: LedgerAccountDocument, now: number): Micros {
  const { micros } = spendingAt(account, now);
  const held = Math.min(micros, account.heldMicros);
  return micros - held + Math.floor(held / HELD_PER_USED);
}

interface Step {
  increments: Partial<Record<LedgerFigure, number>>;
  guard: AccountGuard;
}

/**
 * Plans to add `micros` to a day's spending, up to `cap`. The first hold of a new day replaces the previous day's
 * counter.
 */
export function addSpending(account: LedgerAccountDocument, spending: Spending, micros: Micros, cap: Micros): Step {
  const onDay = { atLeast: account.spendDay, below: account.spendDay + 1 };
  if (spending.day === account.spendDay) {
    return {
      increments: { spentMicros: micros },
      guard: { spendDay: onDay, ...(cap === Infinity ? {} : { spentMicros: { below: cap - micros + 1 } }) },
    };
  }
  const { spendDay, spentMicros } = account;
  return {
    increments: { spendDay: spending.day - spendDay, spentMicros: micros - spentMicros },
    guard: { spendDay: onDay, spentMicros: { atLeast: spentMicros, below: spentMicros + 1 } },
  };
}

/** Condition of the update that rejects a hold: less than `micros` is left below the cap on that day. */
export function spendingExhausted(account: LedgerAccountDocument, spending: Spending, micros: Micros, cap: Micros) {
  if (spending.day !== account.spendDay) return {};
  return {
    spendDay: { atLeast: spending.day, below: spending.day + 1 },
    spentMicros: { atLeast: Math.max(0, cap - micros + 1) },
  };
}

/** Returns the amount by which settling these windows, in the given order, reduces the spending of `day`. */
export function unspentOf(windows: readonly LedgerMarker[], billed: Micros, day: number): Micros {
  let unbilled = 0;
  let toBill = billed;
  for (const { amountMicros = 0, spendDay } of windows) {
    const billedHere = Math.min(toBill, amountMicros);
    toBill -= billedHere;
    if (spendDay === day) unbilled += amountMicros - billedHere;
  }
  return unbilled;
}
