import { ledgerAccountId } from '../../../src/kernel/ids.js';
import { createAccounts } from '../../../src/identity/accounts/accounts.js';
import { createAgents } from '../../../src/agents/agents.js';
import { createApiKeys } from '../../../src/identity/api-keys/api-keys.js';
import type { Database } from '../../../src/database.js';
import { createLedger } from '../../../src/billing/ledger/ledger.js';
import { createPhoneNumbers } from '../../../src/agents/numbers/phone-numbers.js';
import { createMembers } from '../../../src/identity/people/members.js';
import { createPasswords } from '../../../src/identity/people/passwords.js';
import { seedDemo, seedDemoOwner } from '../../../src/dev/seed.js';
import { openTestDatabase } from '../../support/store/test-database.js';

const PEPPER = 'a-pepper-for-tests-a-pepper-for-tests';

describe('the demo account', () => {
  let database: Database;
  beforeEach(async () => {
    database = await openTestDatabase('seed');
  });
  afterEach(() => database.close());

  const seed = (options: { webhookUrl?: string; reissueKeys?: boolean } = {}) =>
    seedDemo({ database, pepper: PEPPER, webhookUrl: 'http://127.0.0.1:9000/inbox', ...options });

  it('has keys of both modes, 100 USD, an inbound agent and a number', async () => {
    const demo = await seed();
    const keys = createApiKeys({ database, pepper: PEPPER });
    expect((await keys.authenticate(demo.liveApiKey ?? ''))?.account.inboundAgentId).toBe(demo.agentId);
    expect((await keys.authenticate(demo.testApiKey ?? ''))?.key.mode).toBe('test');
    const balance = await createLedger(database).balance(ledgerAccountId(demo.accountId, 'live'));
    expect(balance.availableMicros).toBe(100_000_000);
    expect(await createPhoneNumbers(database).find(demo.phoneNumber)).toMatchObject({ accountId: demo.accountId });
    expect(await createAgents(database).find(demo.agentId)).toMatchObject({
      webhookUrl: 'http://127.0.0.1:9000/inbox',
      phoneNumber: demo.phoneNumber,
    });
  });

  it('is created once: a second start creates nothing and cannot show the keys', async () => {
    const first = await seed();
    const second = await seed();
    expect(second).toEqual({ ...first, liveApiKey: null, testApiKey: null });
    expect(await createAccounts(database).list()).toHaveLength(1);
    expect(await database.apiKeys.countDocuments()).toBe(2);
    const balance = await createLedger(database).balance(ledgerAccountId(first.accountId, 'live'));
    expect(balance.availableMicros).toBe(100_000_000);
  });

  it('gets new keys when their secrets were lost, and the old ones are revoked', async () => {
    const first = await seed();
    const second = await seed({ reissueKeys: true });
    const keys = createApiKeys({ database, pepper: PEPPER });
    expect(await keys.authenticate(first.liveApiKey ?? '')).toBeNull();
    expect(await keys.authenticate(second.liveApiKey ?? '')).not.toBeNull();
  });

  it('updates its webhook to the inbox’s new port, but keeps a webhook that someone set', async () => {
    const { agentId } = await seed();
    await seed({ webhookUrl: 'http://127.0.0.1:9001/inbox' });
    const agents = createAgents(database);
    expect((await agents.find(agentId))?.webhookUrl).toBe('http://127.0.0.1:9001/inbox');
    await agents.update(agentId, { webhookUrl: 'https://example.com/hook' });
    await seed();
    expect((await agents.find(agentId))?.webhookUrl).toBe('https://example.com/hook');
  });
});

describe('the demo account’s member', () => {
  it('is created once, as an owner whose password only that start receives', async () => {
    const database = await openTestDatabase('seed');
    const { accountId } = await seedDemo({ database, pepper: PEPPER, webhookUrl: 'http://127.0.0.1:9000/inbox' });
    const owners = (await Promise.all([1, 2].map(() => seedDemoOwner(database)))).filter((owner) => owner !== null);
    expect(owners).toHaveLength(1);
    expect(await seedDemoOwner(database)).toBeNull();
    const [owner] = owners;
    const user = await createMembers(database).findByEmail(String(owner?.email));
    expect(user).toMatchObject({ accountId, role: 'owner', operator: true });
    expect(await createPasswords().verify(String(owner?.password), user?.passwordHash)).toBe(true);
    await database.close();
  });
});
