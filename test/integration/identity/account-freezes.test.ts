import { createAccountFreezes, type AccountFreezes } from '../../../src/calls/reconciliation/account-freezes.js';
import type { Database } from '../../../src/database.js';
import { createFindings } from '../../../src/calls/reconciliation/findings.js';
import { createLedger, type Ledger } from '../../../src/billing/ledger/ledger.js';
import { newLedgerAccountId, openTestDatabase } from '../../support/store/test-database.js';

describe('an operator’s freeze', () => {
  let database: Database;
  let ledger: Ledger;
  let freezes: AccountFreezes;
  beforeAll(async () => {
    database = await openTestDatabase('freezes');
    ledger = createLedger(database);
    freezes = createAccountFreezes({ database, findings: createFindings(database), ledger });
  });
  afterAll(() => database.close());

  async function newAccount(): Promise<string> {
    const id = newLedgerAccountId();
    await ledger.open(id);
    return id;
  }
  const order = (ledgerAccountId: string, reason: string) => ({ ledgerAccountId, reason, by: 'ada' });
  const recorded = async (id: string) =>
    (await database.accountFreezes.find({ ledgerAccountId: id }).sort({ _id: 1 }).lean()).map(
      ({ action, reason, by }) => `${action} ${reason} ${by}`,
    );

  it('lasts until it is lifted, and is recorded once with operator and reason', async () => {
    const id = await newAccount();
    for (let i = 0; i < 3; i++) await freezes.freeze(order(id, 'fraud'));
    expect(await ledger.frozen(id)).toMatchObject({ reason: 'fraud' });
    expect(await freezes.lift(id)).toBe(false);
    expect(await freezes.unfreeze(order(id, 'cleared'))).toBe(true);
    expect(await freezes.unfreeze(order(id, 'cleared again'))).toBe(true);
    expect(await ledger.frozen(id)).toBeNull();
    await freezes.freeze(order(id, 'fraud'));
    expect(await recorded(id)).toEqual(['freeze fraud ada', 'unfreeze cleared ada', 'freeze fraud ada']);
  });

  it('is kept when it is ordered while a reconciliation freeze is being lifted', async () => {
    const id = await newAccount();
    await ledger.freeze(id, 'reconciliation: account_unbalanced');
    const interrupted: Ledger = {
      ...ledger,
      unfreeze: async (ledgerAccountId) => {
        await freezes.freeze(order(ledgerAccountId, 'fraud'));
        await ledger.unfreeze(ledgerAccountId);
      },
    };
    const lifting = createAccountFreezes({ database, findings: createFindings(database), ledger: interrupted });
    expect(await lifting.lift(id)).toBe(false);
    expect(await ledger.frozen(id)).not.toBeNull();
    expect(await freezes.unfreeze(order(id, 'cleared'))).toBe(true);
  });

  it.each(['', ' ', 'x'.repeat(301)])('needs a reason of 1 to 300 characters', async (reason) => {
    const id = await newAccount();
    await expect(freezes.freeze(order(id, reason))).rejects.toMatchObject({ code: 'MISSING_PARAMS' });
    await expect(freezes.unfreeze(order(id, reason))).rejects.toMatchObject({ code: 'MISSING_PARAMS' });
    expect(await recorded(id)).toEqual([]);
    expect(await ledger.frozen(id)).toBeNull();
  });
});
