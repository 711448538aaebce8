import { createLedgerOn, type Ledger } from '../../../src/billing/ledger/ledger.js';
import { describeAuditSteps } from './ledger-audit-step-rules.js';
import { alterAccount, countingEntries, workOn, type CheckpointStores } from './audited-account.js';
import { newLedgerAccountId } from './test-database.js';

const DAY_MS = 86_400_000;
/** An epoch has at most 130 operations, so a step reads at least one epoch. */
const STEP = 131;
const CHECKPOINT_EVERY = 10;

/** Tests of audits that trust the sums of earlier ones. A ledger must pass them on every storage. */
export function describeLedgerCheckpoints(getStores: () => CheckpointStores): void {
  describe('audits since a checkpoint', () => describeAudits(getStores));
  describe('audits in steps', () => describeAuditSteps(getStores));
}

function describeAudits(getStores: () => CheckpointStores): void {
  let id: string;
  let now: number;
  let entriesRead: number;
  let ledger: Ledger;
  beforeEach(async () => {
    now = Date.now();
    entriesRead = 0;
    ledger = createLedgerOn(
      countingEntries(getStores().storage, (count) => (entriesRead += count)),
      {
        now: () => now,
        checkpointEvery: CHECKPOINT_EVERY,
        recountEntries: STEP,
      },
    );
    id = newLedgerAccountId();
    await ledger.open(id);
  });

  const work = (operations: number) => workOn(ledger, id, operations);
  const alter = (availableMicros: number) => alterAccount(getStores().storage, id, availableMicros);

  const readBy = async (run: () => Promise<unknown>) => {
    entriesRead = 0;
    await run();
    return entriesRead;
  };

  async function recountAll(): Promise<boolean> {
    for (let steps = 0; steps < 10; steps += 1) if (!(await ledger.recount(id))) return false;
    return true;
  }

  it('read only the entries that were made since, and agree with the audit of all', async () => {
    await work(12);
    expect(await readBy(() => ledger.auditNew(id))).toBe(12);
    expect(await readBy(() => ledger.auditNew(id))).toBe(0);
    await work(5);
    expect(await readBy(() => ledger.auditNew(id))).toBe(5);
    expect(await ledger.auditNew(id)).toEqual(await ledger.audit(id));
    expect(await ledger.auditNew(id)).toMatchObject({ balanced: true, operationCount: 17 });
  });

  it('count the spending of the day, also across a checkpoint, and that of the next day alone', async () => {
    await work(12);
    await ledger.auditNew(id);
    await work(3);
    expect(await ledger.auditNew(id)).toMatchObject({ balanced: true });
    now += DAY_MS;
    const callId = await work(3);
    await ledger.settle({ ledgerAccountId: id, callId, billedSeconds: 7 });
    expect(await ledger.auditNew(id)).toMatchObject({ balanced: true });
    await work(12);
    expect(await ledger.auditNew(id)).toMatchObject({ balanced: true });
    expect(await readBy(() => ledger.auditNew(id))).toBe(0);
    expect(await ledger.audit(id)).toMatchObject({ balanced: true });
  });

  it('cover no operation that has no entry yet', async () => {
    await work(12);
    await ledger.topUp({ ledgerAccountId: id, paymentId: 'p1', amountMicros: 5 });
    await ledger.auditNew(id);
    await ledger.sweep(id);
    expect(await readBy(() => ledger.auditNew(id))).toBe(1);
    expect(await ledger.auditNew(id)).toMatchObject({ balanced: true, operationCount: 13 });
  });

  it('find a new entry that is lost, and do not move the checkpoint then', async () => {
    await work(12);
    await ledger.auditNew(id);
    const callId = await work(12);
    await getStores().lose(`H${callId}~0`);
    expect(await ledger.auditNew(id)).toMatchObject({ balanced: false });
    expect(await ledger.auditNew(id)).toMatchObject({ balanced: false });
  });

  it('read only new entries while a difference is the one that was found in all', async () => {
    await work(11);
    await alter(1);
    expect(await ledger.auditNew(id)).toMatchObject({ balanced: false });
    expect(await readBy(() => ledger.auditAgain(id))).toBe(12);
    expect(await readBy(() => ledger.auditNew(id))).toBe(0);
    for (const operations of [12, 17]) {
      await work(operations);
      expect(await readBy(() => ledger.auditNew(id))).toBe(operations);
      expect(await ledger.auditNew(id)).toMatchObject({ balanced: false, knownDifference: 'same' });
      // The checkpoint has moved.
      expect(await readBy(() => ledger.auditNew(id))).toBe(0);
    }
    expect(await ledger.audit(id)).toMatchObject({ balanced: false, operationCount: 41 });
  });

  it('do not take another difference for a known one, and notice its end', async () => {
    await work(11);
    await alter(1);
    await ledger.auditAgain(id);
    await alter(1);
    expect(await ledger.auditNew(id)).toMatchObject({ balanced: false });
    expect(await ledger.auditNew(id)).not.toHaveProperty('knownDifference');
    await ledger.auditAgain(id);
    expect(await ledger.auditNew(id)).toMatchObject({ balanced: false, knownDifference: 'same' });
    await alter(-2);
    expect(await ledger.auditNew(id)).toMatchObject({ balanced: true, knownDifference: 'ended' });
    expect(await ledger.auditAgain(id)).toMatchObject({ balanced: true });
    expect(await ledger.auditNew(id)).toMatchObject({ balanced: true });
    expect(await ledger.auditNew(id)).not.toHaveProperty('knownDifference');
  });

  it('are followed by recounts of an account with a known difference, too, which find a lost old entry', async () => {
    const callId = await work(100);
    await alter(1);
    await ledger.auditAgain(id);
    await getStores().lose(`H${callId}~0`);
    expect(await ledger.auditNew(id)).toMatchObject({ knownDifference: 'same' });
    now += DAY_MS;
    expect(await recountAll()).toBe(false);
    expect(await ledger.auditAgain(id)).toMatchObject({ balanced: false, operationCount: 100 });
    expect(await ledger.auditNew(id)).toMatchObject({ knownDifference: 'same' });
  });

  it('read everything once if a restored database has a checkpoint of later operations, and then only new ones', async () => {
    await work(12);
    await ledger.auditNew(id);
    await getStores().storage.consistently(async (session) => {
      const checkpoint = await session.findCheckpoint(id);
      if (checkpoint === null) throw new Error('The audit has stored no checkpoint.');
      const { epoch, creditedMicros } = checkpoint;
      await session.advanceCheckpoint(id, { ...checkpoint, epoch: epoch + 9, creditedMicros: creditedMicros + 5 });
    });
    expect(await ledger.auditNew(id)).toMatchObject({ balanced: false });
    expect(await readBy(() => ledger.auditAgain(id))).toBe(12);
    expect(await ledger.auditNew(id)).toMatchObject({ balanced: true, operationCount: 12 });
    expect(await readBy(() => ledger.auditNew(id))).toBe(0);
  });

  it('are followed by a recount of the old entries in steps, once a day, which finds one that is lost', async () => {
    const callIds = [await work(100), await work(100), await work(100)];
    await ledger.auditNew(id);
    expect(await readBy(() => ledger.recount(id))).toBe(STEP);
    expect(await recountAll()).toBe(true);
    expect(await readBy(() => ledger.recount(id))).toBe(0);

    await getStores().lose(`H${callIds[1]}~0`);
    expect(await ledger.auditNew(id)).toMatchObject({ balanced: true });
    expect(await recountAll()).toBe(true);
    now += DAY_MS;
    expect(await recountAll()).toBe(false);
    // The checkpoint is no longer trusted, so the next audit reads everything.
    expect(await ledger.auditNew(id)).toMatchObject({ balanced: false, operationCount: 299 });
  });
}
