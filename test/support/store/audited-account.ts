import { createLedgerOn, type Ledger } from '../../../src/billing/ledger/ledger.js';
import type { LedgerSession, LedgerStorage } from '../../../src/billing/ledger/storage.js';
import { newCallId } from './test-database.js';

const SECOND = 2_500;

export interface CheckpointStores {
  storage: LedgerStorage;
  /** Removes an entry, as a fault of the database may. */
  lose(key: string): Promise<unknown>;
}

/** Credits and holds so often, and moves the operations to entries. @returns the id of the call that holds */
export async function workOn(ledger: Ledger, id: string, operations: number): Promise<string> {
  const callId = newCallId();
  await ledger.topUp({ ledgerAccountId: id, paymentId: newCallId(), amountMicros: 60 * SECOND });
  await ledger.hold({ ledgerAccountId: id, callId, window: 0, maxDurationSeconds: 600, microsPerSecond: SECOND });
  for (let count = 2; count < operations; count += 1) {
    await ledger.topUp({ ledgerAccountId: id, paymentId: newCallId(), amountMicros: 1 });
  }
  await ledger.sweep(id);
  return callId;
}

/** Changes the account without an operation, as a fault of the database may. */
export async function alterAccount(storage: LedgerStorage, id: string, availableMicros: number): Promise<void> {
  await storage.consistently(async (session) => {
    const { epoch = 0 } = (await session.findAccount(id, [])) ?? {};
    const marker = { type: 'topUp', amountMicros: 0, epoch, at: new Date() } as const;
    const update = { kind: 'decide', ledgerAccountId: id, epoch, key: `T${newCallId()}`, marker } as const;
    const increments = { availableMicros };
    expect(await session.updateAccount({ ...update, increments, guard: {}, maxMarkers: 200 })).toBe(true);
  });
  await createLedgerOn(storage).sweep(id);
}

/** @param count receives the number of entries of each read */
export function countingEntries(storage: LedgerStorage, count: (entries: number) => void): LedgerStorage {
  return {
    consistently: (work) =>
      storage.consistently((session) => {
        const counting: LedgerSession = {
          ...session,
          async *entriesOf(...args) {
            for await (const entry of session.entriesOf(...args)) {
              count(1);
              yield entry;
            }
          },
          async firstEntriesOf(...args) {
            const entries = await session.firstEntriesOf(...args);
            count(entries.length);
            return entries;
          },
        };
        return work(counting);
      }),
  };
}
