import { createLedgerOn } from '../../src/billing/ledger/ledger.js';
import { createAccountAudits } from '../../src/calls/reconciliation/account-audits.js';
import type { Finding } from '../../src/calls/reconciliation/findings.js';
import { workOn } from '../support/store/audited-account.js';
import { createMemoryLedgerStorage } from '../support/store/memory-ledger-storage.js';
import { newLedgerAccountId } from '../support/store/test-database.js';

const EPOCH = 20;
/** Epochs of the large account. A step counts one, and takes a second. */
const EPOCHS = 30;
/** A round has time for 15 steps. An account is interrupted after three if others wait. */
const SECOND_MS = 1_000;

let clock: number;
beforeEach(() => {
  clock = Date.now();
  jest.spyOn(Date, 'now').mockImplementation(() => clock);
});
afterEach(() => jest.restoreAllMocks());

/** Three accounts and rounds that audit them in this order. The first account has many entries. */
async function createRounds() {
  const storage = createMemoryLedgerStorage();
  const ledger = createLedgerOn(storage, { auditEntries: EPOCH + 1, recountEntries: EPOCH + 1 });
  const ids = [newLedgerAccountId(), newLedgerAccountId(), newLedgerAccountId()] as const;
  for (const id of ids) await ledger.open(id);
  const callId = await workOn(ledger, ids[0], EPOCH);
  for (let epoch = 1; epoch < EPOCHS; epoch += 1) await workOn(ledger, ids[0], EPOCH);
  for (const id of ids.slice(1)) await workOn(ledger, id, EPOCH);

  const seen = { steps: [] as string[], reported: [] as Finding[], ended: [] as string[], logged: [] as unknown[] };
  const audits = createAccountAudits({
    ledger: {
      ...ledger,
      auditNew(id) {
        clock += SECOND_MS;
        seen.steps.push(id);
        return ledger.auditNew(id);
      },
    },
    walks: { nextAccounts: async () => ({ ids: [...ids], hasMore: false, advance: async () => undefined }) },
    findings: { end: async (id) => void seen.ended.push(id) },
    report: async (finding) => seen.reported.push(finding) === 1,
    logger: { info: (fields: unknown) => void seen.logged.push(fields) },
  });
  const round = async () => {
    seen.steps.length = 0;
    return audits.auditLedgerAccounts();
  };
  return { storage, ids, callId, seen, round };
}

describe('rounds of audits with an account that has more entries than a round reads', () => {
  it('audit the other accounts in each round, and this one with the time that is left', async () => {
    const { ids, seen, round } = await createRounds();
    const [large, second, third] = ids;
    expect(await round()).toEqual({ audited: 2, found: 0 });
    expect(seen.steps.slice(0, 6)).toEqual([large, large, large, second, third, large]);
    expect(seen.steps).toHaveLength(15);
    expect(seen.logged).toEqual([{ ledgerAccountId: large }]);
    expect(await round()).toEqual({ audited: 2, found: 0 });
    expect(await round()).toEqual({ audited: 3, found: 0 });
    expect(seen.steps.filter((id) => id === large)).toHaveLength(EPOCHS - 26);
    expect(seen.logged).toHaveLength(2);
    expect(await round()).toEqual({ audited: 3, found: 0 });
    expect(seen.steps).toEqual(ids);
    expect(seen.reported).toEqual([]);
  });

  it('report a difference in it after everything was counted, and not before', async () => {
    const { storage, ids, callId, seen, round } = await createRounds();
    storage.entries.delete(`H${callId}~0`);
    for (let rounds = 0; rounds < 2; rounds += 1) {
      expect(await round()).toEqual({ audited: 2, found: 0 });
      expect(seen.reported).toEqual([]);
    }
    expect(await round()).toEqual({ audited: 3, found: 1 });
    const minute = 60 * 2_500;
    const [expected, actual] = [{ heldMicros: (EPOCHS - 1) * minute }, { heldMicros: EPOCHS * minute }];
    expect(seen.reported).toMatchObject([{ kind: 'account_unbalanced', ledgerAccountId: ids[0], expected, actual }]);
    expect(await round()).toEqual({ audited: 3, found: 0 });
    expect(seen.steps).toEqual(ids);
    expect(seen.ended).toEqual([]);
  });

  it('end a finding only after everything was counted', async () => {
    const { storage, ids, seen, round } = await createRounds();
    const account = storage.accounts.get(ids[0]);
    if (account) account.availableMicros += 1;
    for (let rounds = 0; rounds < 3; rounds += 1) await round();
    expect(seen.reported).toHaveLength(1);
    if (account) account.availableMicros -= 1;
    for (let rounds = 0; rounds < 2; rounds += 1) await round();
    expect(seen.ended).toEqual([]);
    await round();
    expect(seen.ended).toEqual([`account_unbalanced:${ids[0]}`]);
    expect(seen.reported).toHaveLength(1);
  });
});
