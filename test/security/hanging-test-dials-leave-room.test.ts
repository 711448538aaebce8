import { ulid } from 'ulid';
import { createAccounts } from '../../src/identity/accounts/accounts.js';
import { placeCall, startHarness, type Harness } from '../integration/workflows/harness.js';

let harness: Harness;
let release = () => undefined as void;
beforeAll(async () => {
  harness = await startHarness({ realTime: true });
}, 120_000);
afterEach(() => release());
afterAll(() => harness.stop());

/**
 * Makes test calls hang while they are dialed, as script 33 of the simulated carrier does, until `release` or for 10 s.
 * Reports which dials have begun.
 */
function hangTestDials() {
  const accountOf = new Map<string, string>();
  const begun: string[] = [];
  const others: string[] = [];
  const running = new Map<string, number>();
  let most = { all: 0, ofAccount: 0 };
  const released = new Promise<void>((resolve) => (release = resolve));
  harness.carrier.onDial = async (callId) => {
    const account = accountOf.get(callId);
    // The call is a live call, or a call of an earlier test.
    if (account === undefined) return void others.push(callId);
    begun.push(callId);
    running.set(account, (running.get(account) ?? 0) + 1);
    const all = [...running.values()].reduce((sum, count) => sum + count, 0);
    most = { all: Math.max(most.all, all), ofAccount: Math.max(most.ofAccount, ...running.values()) };
    // The client of the carrier waits this long for the response.
    await Promise.race([released, new Promise((resolve) => setTimeout(resolve, 10_000).unref())]);
    running.set(account, (running.get(account) ?? 0) - 1);
  };
  return { accountOf, begun, others, most: () => most };
}

async function until(look: () => boolean, forMs: number): Promise<boolean> {
  for (const giveUpAt = Date.now() + forMs; Date.now() < giveUpAt; await new Promise((r) => setTimeout(r, 100))) {
    if (look()) return true;
  }
  return look();
}

async function placeTestCalls(calls: number, accounts: number, dials: ReturnType<typeof hangTestDials>) {
  const made: string[] = [];
  for (let n = 0; n < accounts; n += 1) {
    const { _id } = await createAccounts(harness.database).create({ name: 'Test', plan: 'scale' });
    await createAccounts(harness.database).setLimits(_id, { concurrentCalls: 100 });
    made.push(_id);
  }
  const placing = Array.from({ length: calls }, (_, n) => {
    const callId = `call_${ulid()}`;
    const accountId = String(made[n % accounts]);
    dials.accountOf.set(callId, accountId);
    return { callId, accountId };
  });
  for (let n = 0; n < placing.length; n += 10) {
    await Promise.all(
      placing.slice(n, n + 10).map((one) => placeCall(harness, { ...one, mode: 'test', answerWithinMs: 30_000 })),
    );
  }
  return placing.map(({ callId }) => callId);
}

describe('test calls whose dial hangs', () => {
  it('leave dial slots to live calls, and at most 20 of them are dialed at once', async () => {
    const dials = hangTestDials();
    await placeTestCalls(60, 6, dials);
    await until(() => dials.begun.length >= 10, 10_000);
    const { call } = await placeCall(harness, { answerWithinMs: 30_000 });
    expect(await until(() => dials.others.includes(call.callId), 8_000)).toBe(true);
    expect(dials.most().all).toBeLessThanOrEqual(20);
    expect(dials.most().ofAccount).toBeLessThanOrEqual(4);
    release();
    await call.end('busy');
    expect(await call.result()).toMatchObject({ endReason: 'busy' });
  }, 120_000);

  it('are all dialed eventually', async () => {
    const dials = hangTestDials();
    const callIds = await placeTestCalls(12, 1, dials);
    expect(await until(() => dials.begun.length >= 1, 10_000)).toBe(true);
    // This is longer than all three attempts of a dial take if the carrier rejects each attempt.
    await new Promise((resolve) => setTimeout(resolve, 7_000));
    release();
    await until(() => dials.begun.length === 12, 30_000);
    expect(dials.begun.toSorted()).toEqual(callIds.toSorted());
    expect(dials.most().ofAccount).toBeLessThanOrEqual(4);
  }, 120_000);
});
