import { createLedgerOn, type Ledger, type LedgerAuditStep } from '../../../src/billing/ledger/ledger.js';
import { sumsOf } from '../../../src/billing/ledger/sums.js';
import type { LedgerSession } from '../../../src/billing/ledger/storage.js';
import type { LedgerCheckpointDocument } from '../../../src/billing/ledger/model.js';
import { alterAccount, countingEntries, workOn, type CheckpointStores } from './audited-account.js';
import { newCallId, newLedgerAccountId } from './test-database.js';

const DAY_MS = 86_400_000;
/** An epoch of these tests has 100 operations, so a step counts one epoch, and reads a part of the next in vain. */
const STEP = 131;
const MOST_STEPS = 20;

type Take = (ledger: Ledger) => Promise<LedgerAuditStep>;

/** Tests of audits of accounts with more entries than a step reads. A ledger must pass them on every storage. */
export function describeAuditSteps(getStores: () => CheckpointStores): void {
  let id: string;
  let now: number;
  let entriesRead: number;
  beforeEach(async () => {
    id = newLedgerAccountId();
    now = Date.now();
    await newLedger().open(id);
  });

  /** The ledger of a process that has just begun, which knows only what is stored. */
  function newLedger(): Ledger {
    const storage = countingEntries(getStores().storage, (count) => (entriesRead += count));
    return createLedgerOn(storage, { now: () => now, checkpointEvery: 10, auditEntries: STEP, recountEntries: STEP });
  }

  const work = async (operations: readonly number[]) => {
    const callIds = [];
    for (const count of operations) callIds.push(await workOn(newLedger(), id, count));
    return callIds;
  };
  const alter = (availableMicros: number) => alterAccount(getStores().storage, id, availableMicros);
  const onSession = <T>(change: (session: LedgerSession) => Promise<T>) => getStores().storage.consistently(change);

  async function step(take: Take = (ledger) => ledger.auditNew(id)): Promise<LedgerAuditStep> {
    entriesRead = 0;
    const audit = await take(newLedger());
    expect(entriesRead).toBeLessThanOrEqual(STEP);
    return audit;
  }

  /** Takes steps, each in another process, until the audit is finished. */
  async function finish(take?: Take): Promise<{ unfinished: number; audit: LedgerAuditStep }> {
    let audit = await step(take);
    let unfinished = 0;
    for (; audit === 'unfinished' && unfinished < MOST_STEPS; unfinished += 1) audit = await step();
    return { unfinished, audit };
  }

  const finishAgain = () => finish((ledger) => ledger.auditAgain(id));

  async function checkpoint(): Promise<LedgerCheckpointDocument> {
    const stored = await onSession((session) => session.findCheckpoint(id));
    if (stored === null) throw new Error('The audits have stored no checkpoint.');
    return stored;
  }

  it('read a limited number of entries each, and the next process continues', async () => {
    await work([100, 100, 100, 100]);
    const { unfinished, audit } = await finish();
    expect(unfinished).toBe(3);
    expect(audit).toMatchObject({ balanced: true, operationCount: 400, confirmed: true });
    expect(await step()).toEqual(await newLedger().audit(id));
    await step();
    expect(entriesRead).toBe(0);
  });

  it('find a difference when everything is counted, and nothing before', async () => {
    const callIds = await work([100, 100, 100, 100]);
    await getStores().lose(`H${callIds[0]}~0`);
    const { unfinished, audit } = await finish();
    expect(unfinished).toBe(3);
    expect(audit).toMatchObject({ balanced: false, operationCount: 399, confirmed: true });
    expect(await step()).toMatchObject({ balanced: false, knownDifference: 'same' });
    expect(await newLedger().audit(id)).toMatchObject({ balanced: false, operationCount: 399 });
  });

  it('also cover operations that are made meanwhile', async () => {
    await work([100, 100, 100]);
    expect(await step()).toBe('unfinished');
    await work([100]);
    await newLedger().topUp({ ledgerAccountId: id, paymentId: 'p1', amountMicros: 5 });
    expect((await finish()).audit).toMatchObject({ balanced: true, operationCount: 401, confirmed: true });
  });

  it('catch up with a checkpoint after many operations, and trust it', async () => {
    await work([12]);
    await step();
    await work([100, 100, 100]);
    const { unfinished, audit } = await finish();
    expect(unfinished).toBe(2);
    expect(audit).toMatchObject({ balanced: true, operationCount: 312 });
    expect(audit).not.toHaveProperty('confirmed');
  });

  it('confirm a new difference, and its end, by counting from the first entry on', async () => {
    await work([100, 100, 100]);
    await finish();
    await alter(1);
    expect(await step()).toMatchObject({ balanced: false });
    expect(await step()).not.toHaveProperty('confirmed');
    const found = await finishAgain();
    expect(found.unfinished).toBe(2);
    expect(found.audit).toMatchObject({ balanced: false, operationCount: 301, confirmed: true });
    expect(await step()).toMatchObject({ knownDifference: 'same' });
    await alter(-1);
    expect(await step()).toMatchObject({ balanced: true, knownDifference: 'ended' });
    expect((await finishAgain()).audit).toMatchObject({ balanced: true, operationCount: 302, confirmed: true });
  });

  it('adopt neither a wrong checkpoint nor what a late step has added to it', async () => {
    await work([100, 100, 100]);
    await finish();
    const stored = await checkpoint();
    const { generation } = stored;
    const wrong = { ...stored, creditedMicros: stored.creditedMicros + 5 };
    await onSession((session) => session.replaceCheckpoint(wrong, { generation }));
    expect(await step()).toMatchObject({ balanced: false });
    expect(await step((ledger) => ledger.auditAgain(id))).toBe('unfinished');
    const late = { ...sumsOf(wrong), epoch: wrong.epoch + 1 };
    await onSession((session) => session.advanceCheckpoint(id, late, generation));
    await onSession((session) => session.saveRecount(wrong, { counted: late, expected: late }, new Date(now)));
    expect((await finish()).audit).toMatchObject({ balanced: true, operationCount: 300, confirmed: true });
    expect(await checkpoint()).not.toHaveProperty('recount');
  });

  it('begin again if the account went back, as with a restored database', async () => {
    await work([100, 100, 100]);
    expect(await step()).toBe('unfinished');
    const stored = await checkpoint();
    const { generation, epoch, creditedMicros } = stored;
    const later = { ...stored, epoch: epoch + 9, creditedMicros: creditedMicros + 5 };
    await onSession((session) => session.replaceCheckpoint(later, { generation, counting: true }));
    expect((await finish()).audit).toMatchObject({ balanced: true, operationCount: 300, confirmed: true });
  });

  it('count everything after a recount that fails', async () => {
    const callIds = await work([100, 100, 100]);
    await finish();
    await getStores().lose(`H${callIds[1]}~0`);
    now += DAY_MS;
    let isSame = true;
    for (let steps = 0; isSame && steps < MOST_STEPS; steps += 1) isSame = await newLedger().recount(id);
    expect(isSame).toBe(false);
    const { unfinished, audit } = await finish();
    expect(unfinished).toBe(2);
    expect(audit).toMatchObject({ balanced: false, operationCount: 299, confirmed: true });
  });

  it('are not disturbed by a recount before everything is counted', async () => {
    await work([100, 100, 100]);
    expect(await step()).toBe('unfinished');
    const stored = await checkpoint();
    expect(await newLedger().recount(id)).toBe(true);
    expect(await checkpoint()).toEqual(stored);
  });

  it('continue with the checkpoint of an earlier release, and its difference', async () => {
    await work([100, 100]);
    await alter(1);
    await finish();
    const { generation, ...former } = await checkpoint();
    await onSession((session) => session.replaceCheckpoint(former, { generation }));
    expect(await checkpoint()).toEqual(former);
    expect(await step()).toMatchObject({ balanced: false, knownDifference: 'same' });
    expect(entriesRead).toBe(0);
    await work([100]);
    expect(await step()).toMatchObject({ balanced: false, knownDifference: 'same', operationCount: 301 });
    await alter(1);
    expect((await finishAgain()).audit).toMatchObject({ balanced: false, operationCount: 302, confirmed: true });
  });

  it('read an epoch as a whole that a fault has filled with more entries than a step reads', async () => {
    await work([100, 100]);
    const empty = { ledgerAccountId: id, type: 'topUp', amountMicros: 0, epoch: 0, at: new Date(now) } as const;
    const added = Array.from({ length: 2 * STEP }, () => ({ _id: `T${newCallId()}`, ...empty }));
    await onSession((session) => session.insertEntries(added));
    expect(await newLedger().auditNew(id)).toBe('unfinished');
    expect((await finish()).audit).toMatchObject({ balanced: true, operationCount: 200 + 2 * STEP, confirmed: true });
    expect(await newLedger().audit(id)).toMatchObject({ balanced: true, operationCount: 200 + 2 * STEP });
  });
}
