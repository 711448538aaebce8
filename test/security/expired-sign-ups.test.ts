import { reconcileNow } from '../../src/calls/reconciliation/schedule.js';
import { ledgerAccountId } from '../../src/kernel/ids.js';
import { createEmailLinks } from '../../src/identity/people/email-links.js';
import { createLedger } from '../../src/billing/ledger/ledger.js';
import { createLogger } from '../../src/platform/telemetry/logger.js';
import { createMembers } from '../../src/identity/people/members.js';
import { createSignUpExpiry } from '../../src/calls/sign-up-expiry.js';
import { expectError, startService, type Customer, type Service } from '../support/http/harness.js';
import { createBrowser, resetRateLimits, PASSWORD } from '../support/http/portal-support.js';
import { managementOf } from '../support/http/management-support.js';
import { startMailServer } from '../support/mail-server.js';

const DAY_MS = 24 * 3_600_000;
const HOUR_MS = 3_600_000;

let mail: Awaited<ReturnType<typeof startMailServer>>;
let service: Service;
let make: ReturnType<typeof managementOf>;
beforeAll(async () => {
  mail = await startMailServer();
  service = await startService({ env: mail.env });
  make = managementOf(service);
}, 60_000);
afterAll(async () => {
  await service.close();
  await mail.close();
});
beforeEach(() => resetRateLimits(service));

const erased: string[] = [];
const unerasable = new Set<string>();
const log: string[] = [];
const expiry = () =>
  createSignUpExpiry({
    database: service.database,
    logger: createLogger({ role: 'test', level: 'error', destination: { write: (line) => void log.push(line) } }),
    eraseCall: async ({ callId }) => {
      if (unerasable.has(callId)) throw new Error('the connection timed out');
      erased.push(callId);
      await service.database.calls.updateOne({ _id: callId }, { $set: { erasedAt: new Date() } });
    },
  });
const runNowAndLater = async () => (await expiry().run()) + (await expiry().run(Date.now() + 2 * HOUR_MS));
const signUp = async (daysAgo: number) => {
  const browser = createBrowser(service);
  const email = await browser.signUp();
  const { json } = await browser.post('/api_keys', { name: 'k' });
  const { member, account } = (await browser.get('/portal/session')).json as {
    member: { user_id: string };
    account: { account_id: string };
  };
  const at = new Date(Date.now() - daysAgo * DAY_MS);
  await service.database.unverifiedUsers.updateOne({ _id: member.user_id }, { $set: { createdAt: at } });
  return { browser, email, key: String(json['secret']), userId: member.user_id, accountId: account.account_id };
};
const logIn = async (email: string) =>
  (await createBrowser(service).post('/portal/log-in', { email, password: PASSWORD })).status;
const countLeft = async ({ userId, accountId }: { userId: string; accountId: string }) => {
  const { database } = service;
  const counts = await Promise.all([
    database.unverifiedUsers.countDocuments({ _id: userId }),
    database.sessions.countDocuments({ userId }),
    database.accounts.countDocuments({ _id: accountId }),
    database.apiKeys.countDocuments({ accountId }),
    database.agents.countDocuments({ accountId }),
    database.phoneNumbers.countDocuments({ accountId }),
  ]);
  return counts.reduce((sum, count) => sum + count);
};

/** Returns the names of the collections that have a document with this text. */
async function findCollectionsWith(text: string): Promise<string[]> {
  const { connection } = service.database;
  const db = connection.getClient().db(connection.name);
  const found: string[] = [];
  for (const { name } of await db.listCollections().toArray()) {
    const documents = await db.collection(name).find().toArray();
    if (JSON.stringify(documents).includes(text)) found.push(name);
  }
  return found;
}

describe('an unverified sign-up', () => {
  it('cannot be used after seven days, and everything except its ledger is deleted an hour later', async () => {
    const person = await signUp(7);
    const agent = { name: 'A', instruction: 'B', voice: 'amber', language: 'en-US' };
    expect((await person.browser.post('/agents', agent)).status).toBe(200);
    const customer = { account: { _id: person.accountId }, agent: { _id: 'agent', name: 'A' } } as Customer;
    const callId = await make.endedCall(customer, { mode: 'test' });
    await expiry().run();
    expectError(await person.browser.get('/portal/session'), 401, 'UNAUTHORIZED');
    expectError(await service.request('/balance', { key: person.key }), 401, 'UNAUTHORIZED');
    expect(await logIn(person.email)).toBe(401);
    expect(await service.database.accounts.exists({ _id: person.accountId })).not.toBeNull();
    await expiry().run(Date.now() + 2 * HOUR_MS);
    expect(await countLeft(person)).toBe(0);
    expect(erased).toContain(callId);
    const ledger = createLedger(service.database);
    expect((await ledger.audit(ledgerAccountId(person.accountId, 'test'))).balanced).toBe(true);
  });

  it('is kept for seven days, and for good once it is verified, invited or paid for', async () => {
    const young = await signUp(6.9);
    const verified = await signUp(8);
    const token = await createEmailLinks(service.database).issue(verified.email, 'verify');
    expect((await verified.browser.post('/portal/verify-email', { token })).status).toBe(200);
    const invited = await signUp(8);
    await service.database.unverifiedUsers.updateOne({ _id: invited.userId }, { $set: { invited: true } });
    const paid = await signUp(8);
    const live = ledgerAccountId(paid.accountId, 'live');
    await createLedger(service.database).topUp({ ledgerAccountId: live, paymentId: 'p', amountMicros: 5_000_000 });
    expect(await runNowAndLater()).toBe(0);
    for (const { browser, key } of [young, verified, invited, paid]) {
      expect((await browser.get('/portal/session')).status).toBe(200);
      expect((await service.request('/balance', { key })).status).toBe(200);
    }
  });

  it('cannot be verified after it expired, and does not expire during a verification', async () => {
    const late = await signUp(8);
    const members = createMembers(service.database);
    await expiry().run();
    await expect(members.verify({ _id: late.userId })).rejects.toMatchObject({ code: 'NOT_FOUND' });
    const inTime = await signUp(8);
    // Stores the state that a crash during a verification leaves.
    await service.database.unverifiedUsers.updateOne({ _id: inTime.userId }, { $set: { verifyingSince: new Date() } });
    await runNowAndLater();
    await members.verify({ _id: inTime.userId });
    expect(await members.findById(inTime.userId)).not.toHaveProperty('unverified');
  });

  it('is kept while one of its calls runs, and its deletion continues after an interrupted run', async () => {
    const person = await signUp(8);
    const customer = { account: { _id: person.accountId }, agent: { _id: 'agent', name: 'A' } } as Customer;
    const callId = await make.endedCall(customer, { mode: 'test' });
    await service.database.calls.updateOne({ _id: callId }, { $set: { status: 'IN_PROGRESS' } });
    await runNowAndLater();
    expect(await service.database.accounts.exists({ _id: person.accountId })).not.toBeNull();
    await service.database.calls.updateOne({ _id: callId }, { $set: { status: 'COMPLETED' } });
    await service.database.accounts.deleteOne({ _id: person.accountId });
    await expiry().run(Date.now() + 2 * HOUR_MS);
    expect(await countLeft(person)).toBe(0);
  });

  it('is deleted without the account if the account has other members', async () => {
    const person = await signUp(8);
    const member = {
      accountId: person.accountId,
      email: 'colleague@example.com',
      role: 'owner',
      name: 'Grace',
    } as const;
    await createMembers(service.database).addMember({ ...member, passwordHash: 'none' });
    await runNowAndLater();
    expect(await service.database.unverifiedUsers.exists({ _id: person.userId })).toBeNull();
    expect((await service.request('/balance', { key: person.key })).status).toBe(200);
  });

  it('leaves its e-mail address in no collection, with or without other members', async () => {
    const { database } = service;
    for (const others of [false, true]) {
      const person = await signUp(8);
      const entries = () => database.auditEntries.find({ accountId: person.accountId }).lean();
      expect((await entries()).map(({ actorName }) => actorName)).toContain(person.email);
      if (others) {
        const colleague = { email: `colleague-${person.userId}@example.com`, role: 'owner', name: 'Grace' } as const;
        const added = { accountId: person.accountId, passwordHash: 'none', ...colleague };
        await createMembers(database).addMember(added);
      }
      await database.emailLinks.updateMany({ subject: person.email }, { $set: { expiresAt: new Date(0) } });
      const kept = (await entries()).length;
      await runNowAndLater();
      expect(await entries()).toHaveLength(kept);
      expect(await findCollectionsWith(person.email)).toEqual([]);
    }
  });

  it('that cannot be deleted does not stop the deletion of others', async () => {
    const [first, ...others] = [await signUp(30), await signUp(20), await signUp(10)];
    const customer = { account: { _id: first.accountId }, agent: { _id: 'agent', name: 'A' } } as Customer;
    unerasable.add(await make.endedCall(customer, { mode: 'test' }));
    await runNowAndLater();
    for (const other of others) expect(await countLeft(other)).toBe(0);
    expect(await countLeft(first)).toBeGreaterThan(0);
    expect(log.map((line) => JSON.parse(line) as object)).toEqual([
      expect.objectContaining({ msg: 'sign-up could not be expired', userId: first.userId }),
    ]);
    expect(log.join('')).not.toContain('@');
    unerasable.clear();
    await expiry().run(Date.now() + 2 * HOUR_MS);
    expect(await countLeft(first)).toBe(0);
  });

  it('that cannot be deleted is tried again after 100 others, so 100 such sign-ups do not block the rest', async () => {
    const { unverifiedUsers, calls } = service.database;
    const expiredAt = new Date(Date.now() - 30 * DAY_MS);
    const stuck = Array.from({ length: 100 }, (_, n) => ({
      _id: `user_stuck_${n}`,
      email: `stuck${n}@example.com`,
      name: 'Stuck',
      accountId: `acct_stuck_${n}`,
      role: 'owner' as const,
      passwordHash: 'none',
      unverified: true as const,
      createdAt: expiredAt,
      expiredAt,
    }));
    await unverifiedUsers.insertMany(stuck);
    const call = { sequence: 1, mode: 'test', direction: 'outbound', status: 'IN_PROGRESS', createdAt: expiredAt };
    const running = stuck.map(({ accountId }, n) => ({
      ...call,
      _id: `call_stuck_${n}`,
      accountId,
      updatedAt: expiredAt,
    }));
    await calls.collection.insertMany(running as never);
    const person = await signUp(8);
    await runNowAndLater();
    await expiry().run(Date.now() + 2 * HOUR_MS);
    expect(await countLeft(person)).toBe(0);
    await unverifiedUsers.deleteMany({ name: 'Stuck' });
    await calls.deleteMany({ _id: /^call_stuck_/ });
  }, 60_000);

  it('is deleted by reconciliation', async () => {
    const person = await signUp(8);
    await reconcileNow(service.config, 60_000);
    expectError(await person.browser.get('/portal/session'), 401, 'UNAUTHORIZED');
    const longAgo = { $set: { expiredAt: new Date(Date.now() - 2 * HOUR_MS) } };
    await service.database.unverifiedUsers.updateOne({ _id: person.userId }, longAgo);
    await reconcileNow(service.config, 60_000);
    expect(await countLeft(person)).toBe(0);
  }, 130_000);
});
