import { createReconciliationChecks } from '../../src/calls/reconciliation/checks.js';
import { startService, type Service } from '../support/http/harness.js';

let service: Service;
beforeAll(async () => {
  service = await startService({ worker: false });
}, 60_000);
afterAll(() => service.close());
beforeEach(() => service.database.reconciliationChecks.deleteMany({}));

/** Stores `count` checks that are due. Checks with a higher `overdueMs` have been due for longer. */
async function store(ledgerAccountId: string, count: number, overdueMs: number, kind = 'estimate'): Promise<void> {
  const rows = Array.from({ length: count }, (_, n) => ({
    _id: `${kind}:${ledgerAccountId}:${String(n).padStart(5, '0')}`,
    kind,
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

describe('reconciliation checks of an account with many overdue calls', () => {
  it('do not delay those of other accounts, even if all of them are due for longer', async () => {
    await store('busy~test', 1_000, 3_600_000);
    await store('one~live', 2, 1_000);
    await store('two~live', 60, 1_000);
    const taken = await takenBy(90);
    expect(taken).toHaveLength(90);
    expect(timesIn(taken, 'one~live')).toBe(2);
    expect(timesIn(taken, 'two~live')).toBeGreaterThanOrEqual(30);
    // The round takes checks of the accounts in turn, so it is fair even if it ends early.
    expect(new Set(taken.slice(0, 3)).size).toBe(3);
  });

  it('get the capacity that other accounts leave', async () => {
    await store('busy~test', 50, 3_600_000);
    await store('one~live', 1, 1_000);
    expect(timesIn(await takenBy(40), 'busy~test')).toBe(39);
    expect(timesIn(await takenBy(200), 'busy~test')).toBe(50);
  });

  it('whose data is to be deleted take no place of others', async () => {
    await store('busy~test', 1_000, 3_600_000, 'retention');
    await store('busy~test', 3, 1_000);
    await store('one~live', 2, 1_000);
    expect((await takenBy(200)).toSorted()).toEqual([...Array(3).fill('busy~test'), ...Array(2).fill('one~live')]);
    const due = await createReconciliationChecks(service.database).due(200, 'retention');
    expect(due.map(({ kind }) => kind)).toEqual(Array(200).fill('retention'));
  });

  it('are chosen at random when there are more accounts than slots, not by name or age', async () => {
    for (let n = 0; n < 12; n++) await store(`account${n}~test`, 3, 3_600_000);
    await store('late~live', 1, 1_000);
    const rounds = await Promise.all(Array.from({ length: 60 }, () => takenBy(6)));
    expect(rounds.every((taken) => taken.length === 6)).toBe(true);
    expect(rounds.some((taken) => taken.includes('late~live'))).toBe(true);
  });
});
