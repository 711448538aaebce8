import { ledgerAccountId } from '../../../src/kernel/ids.js';
import { createAccounts } from '../../../src/identity/accounts/accounts.js';
import type { Database } from '../../../src/database.js';
import { createLedger, type Ledger } from '../../../src/billing/ledger/ledger.js';
import { refillTestBalance } from '../../../src/identity/accounts/test-balance.js';
import { newCallId, openTestDatabase } from '../../support/store/test-database.js';

const FULL = 1_000_000_000;

describe('refilling the test balance', () => {
  let database: Database;
  let ledger: Ledger;
  let accountId: string;
  beforeAll(async () => {
    database = await openTestDatabase('test_balance');
    ledger = createLedger(database);
  });
  afterAll(() => database.close());
  beforeEach(async () => {
    accountId = (await createAccounts(database).create({ name: 'Acme' }))._id;
  });
  const id = () => ledgerAccountId(accountId, 'test');

  async function spend(seconds: number): Promise<void> {
    const callId = newCallId();
    await ledger.hold({ ledgerAccountId: id(), callId, window: 0, maxDurationSeconds: 60, microsPerSecond: 2_500 });
    await ledger.settle({ ledgerAccountId: id(), callId, billedSeconds: seconds });
  }

  it('credits the missing amount, and nothing if nothing is missing', async () => {
    expect(await refillTestBalance(ledger, { _id: accountId })).toBe(0);
    await spend(60);
    expect(await refillTestBalance(ledger, { _id: accountId })).toBe(150_000);
    expect(await refillTestBalance(ledger, { _id: accountId })).toBe(0);
    await spend(60);
    expect(await refillTestBalance(ledger, { _id: accountId })).toBe(150_000);
    expect(await ledger.balance(id())).toMatchObject({ availableMicros: FULL, creditedMicros: FULL + 300_000 });
  });

  it('credits once when many refills run at once, also while calls are billed', async () => {
    await spend(60);
    await Promise.all([
      ...Array.from({ length: 10 }, () => refillTestBalance(ledger, { _id: accountId })),
      spend(30),
      spend(10),
    ]);
    await refillTestBalance(ledger, { _id: accountId });
    const { availableMicros, creditedMicros, heldMicros } = await ledger.balance(id());
    expect(heldMicros).toBe(0);
    // A refill counts held money as missing. So two holds that are released after the refill can raise the balance
    // above the full amount.
    expect(availableMicros).toBeGreaterThanOrEqual(FULL);
    expect(availableMicros).toBeLessThanOrEqual(FULL + 300_000);
    expect(creditedMicros).toBe(availableMicros + 100 * 2_500);
    expect(await ledger.audit(id())).toMatchObject({ balanced: true });
  });
});
