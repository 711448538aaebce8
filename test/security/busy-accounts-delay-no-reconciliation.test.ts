import { createReconciliationChecks } from '../../src/calls/reconciliation/checks.js';
import { startService, type Service } from '../support/http/harness.js';

let service: Service;
beforeAll(async () => {
  service = await startService({ worker: false });
}, 60_000);
afterAll(() => service.close());
beforeEach(() => service.database.reconciliationChecks.deleteMany({}));

/** Due for longer, the lower their number. */
async function store(ledgerAccountId: string, count: number, overdueMs: number): Promise<void> {
  const rows = Array.from({ length: count }, (_, n) => ({
    _id: `estimate:${ledgerAccountId}:${String(n).padStart(5, '0')}`,
    kind: 'estimate',
    callId: `call_${n}`,
    ledgerAccountId,
    attempts: 0,
    dueAt: new Date(Date.now() - overdueMs + n),
    addedAt: new Date(),
  }));
  await service.database.reconciliationChecks.collection.insertMany(rows as never);
}

const takenBy = async (limit: number) => {
  const due = await createReconciliationChecks(service.database).due(limit);
  expect(new Set(due.map(({ _id }) => _id)).size).toBe(due.length);
  return due.map(({ ledgerAccountId }) => ledgerAccountId);
};
const timesIn = (taken: string[], id: string) => taken.filter((each) => each === id).length;

describe('an account with very many calls to be looked at again', () => {
  it('keeps no call of another account waiting, though all its own are due for longer', async () => {
    await store('busy~test', 1_000, 3_600_000);
    await store('one~live', 2, 1_000);
    await store('two~live', 60, 1_000);
    const taken = await takenBy(90);
    expect(taken).toHaveLength(90);
    expect(timesIn(taken, 'one~live')).toBe(2);
    expect(timesIn(taken, 'two~live')).toBeGreaterThanOrEqual(30);
    // In turns: a round that ends early was fair as well.
    expect(new Set(taken.slice(0, 3)).size).toBe(3);
  });

  it('has what others leave, the longest overdue first', async () => {
    await store('busy~test', 50, 3_600_000);
    await store('one~live', 1, 1_000);
    expect(timesIn(await takenBy(40), 'busy~test')).toBe(39);
    expect(timesIn(await takenBy(200), 'busy~test')).toBe(50);
  });

  it('is chosen by chance when there are more accounts than places, and not by its name or age', async () => {
    for (let n = 0; n < 12; n++) await store(`account${n}~test`, 3, 3_600_000);
    await store('late~live', 1, 1_000);
    const rounds = await Promise.all(Array.from({ length: 60 }, () => takenBy(6)));
    expect(rounds.every((taken) => taken.length === 6)).toBe(true);
    expect(rounds.some((taken) => taken.includes('late~live'))).toBe(true);
  });
});
