import { createLedgerOn, type FirstHold, type Ledger } from '../../../src/billing/ledger/ledger.js';
import type { LedgerSession, LedgerStorage } from '../../../src/billing/ledger/storage.js';
import { newCallId, newLedgerAccountId } from './test-database.js';

const SECOND = 2_500;
const FIRST: FirstHold = { amountMicros: 60 * SECOND, microsPerSecond: SECOND, last: false };
const EARLY_HOLD = ['updateAccount'];
const EARLY_SETTLEMENT = ['updateAndRead', 'insertEntries'];

/** Tests of operations that know an epoch from before their call. A ledger must pass them on every storage. */
export function describeEarlyDecisions(getStorage: () => LedgerStorage): void {
  describe('operations that know an epoch from before their call', () => describeOperations(getStorage));
}

function describeOperations(getStorage: () => LedgerStorage): void {
  let id: string;
  let callId: string;
  let knownEpoch: number;
  let steps: string[];
  let ledger: Ledger;
  beforeEach(async () => {
    steps = [];
    ledger = createLedgerOn(recordingSteps(getStorage(), steps));
    id = newLedgerAccountId();
    callId = newCallId();
    await ledger.open(id);
    await credit(600);
    knownEpoch = (await ledger.balanceAtEpoch(id)).epoch;
    steps.splice(0);
  });

  const credit = (seconds: number) =>
    ledger.topUp({ ledgerAccountId: id, paymentId: newCallId(), amountMicros: seconds * SECOND });
  const hold = (more: object = {}) =>
    ledger.hold({
      ledgerAccountId: id,
      callId,
      window: 0,
      maxDurationSeconds: 600,
      microsPerSecond: SECOND,
      knownEpoch,
      ...more,
    });
  const settle = (billedSeconds: number, more: object = {}) =>
    ledger.settle({ ledgerAccountId: id, callId, billedSeconds, knownEpoch, firstHold: FIRST, ...more });
  const expectBalance = async (available: number, held: number) => {
    expect(await ledger.balance(id)).toMatchObject({ availableMicros: available * SECOND, heldMicros: held * SECOND });
    expect(await ledger.audit(id)).toMatchObject({ balanced: true });
  };
  const stepsOf = async (work: () => Promise<unknown>) => {
    steps.splice(0);
    await work();
    return [...steps];
  };

  it('hold and settle a short call without a read', async () => {
    // The first hold of a day reads the account, because it begins the count of the day's spending.
    await ledger.hold({
      ledgerAccountId: id,
      callId: newCallId(),
      window: 0,
      maxDurationSeconds: 600,
      microsPerSecond: SECOND,
    });
    expect(await stepsOf(() => hold())).toEqual(EARLY_HOLD);
    await expectBalance(480, 120);
    expect(await stepsOf(() => settle(7))).toEqual(EARLY_SETTLEMENT);
    await expectBalance(533, 60);
    const late = await hold({ window: 1 });
    expect(late).toMatchObject({ grantedSeconds: 0, last: true });
    await ledger.sweep(id);
    await expectBalance(533, 60);
  });

  it('answer a repeated request in the same way, with and without the epoch, and after a sweep', async () => {
    const held = await hold();
    const settled = await settle(7);
    for (const more of [{}, { knownEpoch: undefined, firstHold: undefined }]) {
      expect(await hold(more)).toEqual(held);
      expect(await settle(7, more)).toEqual(settled);
    }
    await ledger.sweep(id);
    for (const more of [{}, { knownEpoch: undefined }]) {
      expect(await hold(more)).toEqual(held);
      expect(await settle(9, more)).toEqual(settled);
    }
    await expectBalance(593, 0);
  });

  it('look for an entry after a sweep has come between', async () => {
    const held = await hold();
    await ledger.sweep(id);
    expect(await stepsOf(() => hold())).toContain('findEntry');
    expect(await hold()).toEqual(held);
    await expectBalance(540, 60);
    expect(await settle(60)).toMatchObject({ billedSeconds: 60, heldMicros: 60 * SECOND });
    await expectBalance(540, 0);
  });

  it('cover windows that the caller does not know', async () => {
    await hold();
    expect(await hold({ window: 1 })).toMatchObject({ heldSeconds: 240 });
    expect(await settle(100)).toEqual({ billedSeconds: 100, billedMicros: 100 * SECOND, heldMicros: 240 * SECOND });
    await expectBalance(500, 0);
  });

  it('settle a call without a hold, or with another one than the caller believes, as it is', async () => {
    expect(await settle(10)).toEqual({ billedSeconds: 0, billedMicros: 0, heldMicros: 0 });
    callId = newCallId();
    await hold();
    const firstHold = { ...FIRST, amountMicros: 30 * SECOND };
    expect(await settle(45, { firstHold })).toMatchObject({ billedSeconds: 45, heldMicros: 60 * SECOND });
    callId = newCallId();
    await hold();
    expect(await settle(45, { firstHold: { ...FIRST, last: true } })).toMatchObject({ heldMicros: 60 * SECOND });
    expect(await hold({ window: 1 })).toMatchObject({ grantedSeconds: 0 });
    await expectBalance(510, 0);
  });

  it('hold nothing that the account, its daily limit or a freeze rejects', async () => {
    expect(await hold({ dailySpendCapMicros: 60 * SECOND - 1 })).toMatchObject({
      grantedSeconds: 0,
      refusal: 'SPEND_LIMIT_EXCEEDED',
    });
    callId = newCallId();
    await ledger.freeze(id, 'a test');
    expect(await hold()).toMatchObject({ grantedSeconds: 0, refusal: 'ACCOUNT_FROZEN' });
    await ledger.unfreeze(id);
    for (const _ of Array.from({ length: 10 })) {
      callId = newCallId();
      expect(await hold()).toMatchObject({ grantedSeconds: 60 });
    }
    callId = newCallId();
    expect(await hold()).toMatchObject({ grantedSeconds: 0, refusal: 'INSUFFICIENT_BALANCE' });
    await expectBalance(0, 600);
  });
}

/** Lists the names of the operations that a ledger sends to its storage. */
function recordingSteps(storage: LedgerStorage, steps: string[]): LedgerStorage {
  return {
    consistently: (work) =>
      storage.consistently((session) => {
        const recorded = new Proxy(session, {
          get(target, name: keyof LedgerSession) {
            const operation = target[name] as (...given: unknown[]) => unknown;
            return (...given: unknown[]) => {
              steps.push(name);
              return operation.apply(target, given);
            };
          },
        });
        return work(recorded);
      }),
  };
}
