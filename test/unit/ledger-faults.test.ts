import { createLedgerOn, type Ledger } from '../../src/store/ledger.js';
import type { LedgerSession, LedgerStorage } from '../../src/store/ledger-storage.js';
import { createMemoryLedgerStorage } from '../store/support/memory-ledger-storage.js';
import { newCallId, newLedgerAccountId } from '../store/support/test-database.js';

const SECOND = 2_500;
const BALANCE_SECONDS = 700;
const SEEDS = 150;

class Lost extends Error {}

/** A small seeded generator (mulberry32), so that a violation can be run again. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Loses one write in seven: it is never sent, or its reply is lost, or it is executed long after its sender gave up. */
function faulty(storage: LedgerStorage, random: () => number): LedgerStorage & { late: (() => Promise<unknown>)[] } {
  const late: (() => Promise<unknown>)[] = [];
  const write = async <T>(execute: () => Promise<T>): Promise<T> => {
    const chance = random();
    if (chance < 0.05) throw new Lost('not sent');
    if (chance < 0.1) {
      await execute();
      throw new Lost('reply lost');
    }
    if (chance < 0.15) {
      late.push(execute);
      throw new Lost('executed later');
    }
    return execute();
  };
  return {
    late,
    consistently: (work) =>
      storage.consistently((session) =>
        work({
          ...session,
          updateAccount: (update) => write(() => session.updateAccount(update)),
          insertEntry: (entry) => write(() => session.insertEntry(entry)),
        }),
      ),
  };
}

/** Runs a few calls whose every step is tried by two at once, with sweeps between; tells what came out wrong. */
async function violationsOf(seed: number, change: (session: LedgerSession) => Partial<LedgerSession> = () => ({})) {
  const random = randomOf(seed);
  const memory = createMemoryLedgerStorage();
  const changed: LedgerStorage = {
    consistently: (work) => memory.consistently((session) => work({ ...session, ...change(session) })),
  };
  const storage = faulty(changed, random);
  const ledger = createLedgerOn(storage, async () => undefined);
  const calm = createLedgerOn(memory, async () => undefined);
  const id = newLedgerAccountId();
  await calm.open(id);
  await calm.topUp({ ledgerAccountId: id, paymentId: 'p', amountMicros: BALANCE_SECONDS * SECOND });
  const violations: string[] = [];

  const insistently = async <T>(operation: (on: Ledger) => Promise<T>): Promise<T> => {
    for (;;) {
      try {
        return await operation(ledger);
      } catch (error) {
        if (!(error instanceof Lost)) throw error;
        if (random() < 0.3) await insistently((on) => on.sweep(id));
        if (random() < 0.3) await storage.late.shift()?.();
      }
    }
  };
  const twice = async <T>(operation: (on: Ledger) => Promise<T>): Promise<T> => {
    const [one, other] = await Promise.all([insistently(operation), insistently(operation)]);
    if (JSON.stringify(one) !== JSON.stringify(other)) violations.push('two answers');
    return one;
  };

  let billed = 0;
  const runCall = async () => {
    const p = { ledgerAccountId: id, callId: newCallId(), maxDurationSeconds: 14_400 };
    const seconds = Math.floor(random() * 300);
    const extensions = async () => {
      for (let window = 0; window < 3; window++) {
        if ((await twice((on) => on.hold({ ...p, window }))).last) return;
      }
    };
    const settlement = () => twice((on) => on.settle({ ...p, billedSeconds: seconds }));
    // One call in three ends while its holds are still being decided.
    const [end] =
      random() < 0.33 ? await Promise.all([settlement(), extensions()]) : [await extensions().then(settlement)];
    billed += end.billedSeconds;
  };
  await Promise.all(Array.from({ length: 5 }, runCall));
  await calm.sweep(id);
  for (const execute of storage.late) await execute();

  const { availableMicros, heldMicros, billedMicros } = await calm.balance(id);
  if (heldMicros !== 0) violations.push('a hold leaked');
  if (billedMicros !== billed * SECOND) violations.push('billed otherwise than answered');
  if (availableMicros !== (BALANCE_SECONDS - billed) * SECOND) violations.push('money was lost or made');
  if (!(await calm.audit(id)).balanced) violations.push('the audit fails');
  return violations.map((violation) => `seed ${seed}: ${violation}`);
}

async function search(change?: (session: LedgerSession) => Partial<LedgerSession>): Promise<string[]> {
  const found: string[] = [];
  for (let seed = 1; seed <= SEEDS; seed++) found.push(...(await violationsOf(seed, change).catch(asViolation)));
  return found;
}

/** An operation that cannot come to an end any more is a violation too. */
function asViolation(error: unknown): string[] {
  return [String(error)];
}

describe('the ledger when writes are lost, repeated and late', () => {
  it('answers all alike, leaks nothing and equals its operations', async () => {
    expect(await search()).toEqual([]);
  });

  it.each<[string, (session: LedgerSession) => Partial<LedgerSession>]>([
    [
      'the epoch is not checked',
      (session) => ({
        async updateAccount(update) {
          const account = await session.findAccount(update.ledgerAccountId, []);
          return session.updateAccount({ ...update, epoch: account?.epoch ?? 0 });
        },
      }),
    ],
    ['a sweep writes no entries', () => ({ findEntryKeys: async (keys) => new Set(keys) })],
    [
      'guards are not checked',
      (session) => ({
        updateAccount: (update) => session.updateAccount(update.kind === 'decide' ? { ...update, guard: {} } : update),
      }),
    ],
  ])('would not when %s: this test can fail', async (_name, mutant) => {
    expect(await search(mutant)).not.toEqual([]);
  });
});
