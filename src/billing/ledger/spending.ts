import type { Micros } from '../../kernel/money.js';
import type { AccountGuard, LedgerFigure } from './storage.js';
import type { LedgerAccountDocument, LedgerMarker } from './model.js';

const MS_PER_DAY = 86_400_000;

/**
 * An account's spending of one UTC day: what is held of the windows that were held that day, and what is billed of them.
 *
 * What counts to which day. A hold counts to the day on which it was decided, by the clock of the process that decided
 * it, or to the day the counter has reached, if that is later; its cell says to which. A settlement bills the windows in
 * the order they were held and takes what is left of each off the day it was counted to, if that is still the counter's.
 * So a second that is talked after midnight may count to the day on which it was held, never to both and never to none.
 *
 * Why no clock is in the proof. The day is part of the counter and only grows; every change of the counter is part of
 * its operation's one guarded update and asks for the very day it was planned on. A clock that is wrong moves spending to
 * a neighbouring day, or the counter ahead; it cannot lose or double any, and the audit finds the sum exact.
 */
export interface Spending {
  day: number;
  micros: Micros;
}

/** The spending that a hold decided now would add to. */
export function spendingAt(account: LedgerAccountDocument, now: number): Spending {
  const day = Math.max(Math.floor(now / MS_PER_DAY), account.spendDay);
  return { day, micros: day === account.spendDay ? account.spentMicros : 0 };
}

interface Step {
  increments: Partial<Record<LedgerFigure, number>>;
  guard: AccountGuard;
}

/** Counts `micros` more to a day, no further than `cap`; the first of a day replaces the counter of the day before. */
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

/** What must hold for a refusal to be true: the day's spending leaves less than `micros` below the cap. */
export function spendingExhausted(account: LedgerAccountDocument, spending: Spending, micros: Micros, cap: Micros) {
  if (spending.day !== account.spendDay) return {};
  return {
    spendDay: { atLeast: spending.day, below: spending.day + 1 },
    spentMicros: { atLeast: Math.max(0, cap - micros + 1) },
  };
}

/** What a settlement of these windows, in their order, takes off the counter's day. */
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
