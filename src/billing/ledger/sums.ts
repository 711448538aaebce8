import type { Micros } from '../../kernel/money.js';
import { isPricedExactly } from './rates.js';
import type { LedgerMarker, LedgerSums } from './model.js';

/** Sums without the epoch up to which they are complete. */
export type Sums = Omit<LedgerSums, 'epoch'>;

export const EMPTY_SUMS: LedgerSums = {
  epoch: 0,
  creditedMicros: 0,
  heldMicros: 0,
  billedMicros: 0,
  operationCount: 0,
  mispriced: 0,
  spendDay: 0,
  spentMicros: 0,
};

const SUM_NAMES = Object.keys(EMPTY_SUMS) as (keyof LedgerSums)[];

/**
 * Adds up operations.
 * @param from sums to begin with
 * @param spendDay the day whose spending is summed up. It is that of `from` or later, because an account's day only
 * increases.
 */
export function createSums(from: LedgerSums, spendDay: number) {
  const { epoch: _, ...sums }: LedgerSums = {
    ...from,
    spendDay,
    spentMicros: from.spendDay === spendDay ? from.spentMicros : 0,
  };
  return {
    add(marker: LedgerMarker): void {
      sums.operationCount += 1;
      sums.mispriced += Number(!isPricedExactly(marker));
      addTo(sums, marker);
      if (marker.spendDay === spendDay) sums.spentMicros += spendingOf(marker);
    },
    /** @param epoch the epoch before which the sums are complete */
    read: (epoch: number): LedgerSums => ({ ...sums, epoch }),
  };
}

/** Adds two sums that count the spending of the same day. */
export function addSums(a: Sums, b: Sums): Sums {
  return {
    creditedMicros: a.creditedMicros + b.creditedMicros,
    heldMicros: a.heldMicros + b.heldMicros,
    billedMicros: a.billedMicros + b.billedMicros,
    operationCount: a.operationCount + b.operationCount,
    mispriced: a.mispriced + b.mispriced,
    spendDay: a.spendDay,
    spentMicros: a.spentMicros + b.spentMicros,
  };
}

/** Returns only the sums of a checkpoint. */
export function sumsOf(checkpoint: LedgerSums): LedgerSums {
  return Object.fromEntries(SUM_NAMES.map((name) => [name, checkpoint[name]])) as Record<keyof LedgerSums, number>;
}

/** Whether two sums are those of the same operations. */
export function areSameSums(a: LedgerSums, b: LedgerSums): boolean {
  return SUM_NAMES.every((name) => a[name] === b[name]);
}

function addTo(sums: Sums, marker: LedgerMarker): void {
  switch (marker.type) {
    case 'topUp':
      sums.creditedMicros += marker.amountMicros ?? 0;
      return;
    case 'hold':
      sums.heldMicros += marker.amountMicros ?? 0;
      return;
    case 'settlement':
      sums.heldMicros -= marker.heldMicros ?? 0;
      sums.billedMicros += marker.billedMicros ?? 0;
      return;
    case 'correction':
      sums.billedMicros -= marker.amountMicros ?? 0;
  }
}

/** Returns the amount by which an operation changes the spending of its day. */
function spendingOf({ type, amountMicros = 0, unspentMicros = 0 }: LedgerMarker): Micros {
  return type === 'hold' ? amountMicros : 0 - unspentMicros;
}
