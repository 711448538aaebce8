import { DEFAULT_MICROS_PER_SECOND, priceOfSeconds, secondsCovered } from '../../src/kernel/money.js';
import type { AccountUpdate, LedgerSession } from '../../src/billing/ledger/storage.js';
import type { LedgerMarker } from '../../src/billing/ledger/model.js';
import type { CallFacts } from './facts.js';

type Decision = Extract<AccountUpdate, { kind: 'decide' }>;
type SessionMutant = (session: LedgerSession, facts: CallFacts) => Partial<LedgerSession>;

/**
 * Changes the markers that an operation writes to the account and to the journal, and moves the money accordingly.
 * @param change returns the changed fields of a marker; undefined to keep the marker
 */
function withCells(change: (key: string, marker: LedgerMarker) => Partial<LedgerMarker> | undefined): SessionMutant {
  const changed = (update: Decision): Decision => {
    const { key, marker } = update;
    const fields = change(key, marker);
    if (fields === undefined) return update;
    const mutant = { ...marker, ...fields };
    const { increments, guard } = movesOf(update, mutant);
    return { ...update, marker: mutant, increments, guard };
  };
  return (session) => ({
    updateAccount: (update) => session.updateAccount(update.kind === 'decide' ? changed(update) : update),
    insertEntry: (entry) => session.insertEntry({ ...entry, ...change(entry._id, entry) }),
  });
}

/** Returns how much money a changed hold or settlement moves. */
function movesOf(
  { marker, increments, guard }: Decision,
  mutant: LedgerMarker,
): Pick<Decision, 'increments' | 'guard'> {
  if (marker.type === 'hold') {
    const more = (mutant.amountMicros ?? 0) - (marker.amountMicros ?? 0);
    const add = (figure: 'availableMicros' | 'heldMicros' | 'spentMicros', micros: number) => ({
      [figure]: (increments[figure] ?? 0) + micros,
    });
    return {
      increments: {
        ...increments,
        ...add('availableMicros', -more),
        ...add('heldMicros', more),
        ...add('spentMicros', more),
      },
      guard: { ...guard, availableMicros: { atLeast: mutant.amountMicros ?? 0 } },
    };
  }
  if (marker.type !== 'settlement') return { increments, guard };
  const { heldMicros = 0, billedMicros = 0 } = mutant;
  return { increments: { ...increments, availableMicros: heldMicros - billedMicros, billedMicros }, guard };
}

const ofDefault = (seconds: number) => priceOfSeconds(seconds, DEFAULT_MICROS_PER_SECOND);
const atDefault = { microsPerSecond: DEFAULT_MICROS_PER_SECOND };

/** A mutant in which holds use the call's price, but the settlement uses the default price. */
export const settlementAtDefault = withCells((_key, { type, heldMicros = 0, billedSeconds = 0 }) =>
  type === 'settlement' ? { billedMicros: Math.min(ofDefault(billedSeconds), heldMicros), ...atDefault } : undefined,
);

/** A mutant in which the balance check and the first hold use 0.15 USD for every call, whatever its price. */
export const firstMinuteAtDefault = withCells((key, { type, amountMicros }) =>
  type === 'hold' && key.endsWith('~0') && amountMicros ? { amountMicros: ofDefault(60) } : undefined,
);

/** A mutant in which the first hold uses the call's price, but extensions use the default price. */
export const laterWindowsAtDefault = withCells((key, { type, amountMicros = 0, microsPerSecond = 1 }) =>
  type === 'hold' && !key.endsWith('~0') && amountMicros > 0
    ? { amountMicros: ofDefault(secondsCovered(amountMicros, microsPerSecond)), ...atDefault }
    : undefined,
);

export const correctionAtDefault = withCells((_key, { type, amountMicros = 0 }) =>
  type === 'correction' ? { creditedSeconds: secondsCovered(amountMicros, DEFAULT_MICROS_PER_SECOND) } : undefined,
);

/** A mutant in which the stored markers contain prices, but the code that reads the markers ignores these prices. */
export const constantSeconds: SessionMutant = (session) => {
  const blind = <T extends LedgerMarker>(cell: T): T => {
    const copy = { ...cell };
    delete copy.microsPerSecond;
    return copy;
  };
  return {
    async findAccount(id, keys) {
      const account = await session.findAccount(id, keys);
      if (!account) return account;
      const markers = Object.entries(account.markers).map(([key, marker]) => [key, blind(marker)]);
      return { ...account, markers: Object.fromEntries(markers) };
    },
    async findEntry(key) {
      const entry = await session.findEntry(key);
      return entry && blind(entry);
    },
  };
};
