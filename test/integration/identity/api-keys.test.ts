import { setTimeout as sleep } from 'node:timers/promises';
import { createAccounts } from '../../../src/identity/accounts/accounts.js';
import { isWellFormed, newSecret, pepperIdOf } from '../../../src/identity/api-keys/api-key-secret.js';
import { createApiKeys, type ApiKeys } from '../../../src/identity/api-keys/api-keys.js';
import type { Database } from '../../../src/database.js';
import { openTestDatabase } from '../../support/store/test-database.js';

const PEPPER = 'a-pepper-for-tests-a-pepper-for-tests';

describe('API keys', () => {
  let database: Database;
  let keys: ApiKeys;
  let accountId: string;
  beforeAll(async () => {
    database = await openTestDatabase('keys');
    keys = createApiKeys({ database, pepper: PEPPER });
    accountId = (await createAccounts(database).create({ name: 'Keys' }))._id;
  });
  afterAll(() => database.close());

  const create = (options: { mode?: 'live' | 'test'; expiresAt?: Date } = {}) =>
    keys.create({ accountId, mode: 'live', name: 'a key', ...options });

  it.each(['live', 'test'] as const)('have the form sk_%s_ with 32 random characters and a checksum', async (mode) => {
    const { secret } = await create({ mode });
    expect(secret).toMatch(new RegExp(`^sk_${mode}_[0-9A-Za-z]{38}$`));
    expect(isWellFormed(secret)).toBe(true);
  });

  it('identify their account and mode', async () => {
    const { secret, key } = await create({ mode: 'test' });
    const found = await keys.authenticate(secret);
    expect(found?.key).toMatchObject({ keyId: key.keyId, mode: 'test', accountId });
    expect(found?.account._id).toBe(accountId);
  });

  it('are not stored: the database has an HMAC, the first 12 and the last 4 characters', async () => {
    const { secret, key } = await create();
    const stored = await database.apiKeys.findOne({ keyId: key.keyId }).lean();
    expect(JSON.stringify(stored)).not.toContain(secret.slice(12, -4));
    expect(stored).toMatchObject({ prefix: secret.slice(0, 12), lastFour: secret.slice(-4) });
    const otherPepper = createApiKeys({ database, pepper: `${PEPPER}!` });
    expect(await otherPepper.authenticate(secret)).toBeNull();
  });

  it('keep working while the pepper changes, twice, and after the former peppers are removed', async () => {
    const [second, third] = [`${PEPPER}2`, `${PEPPER}3`];
    const [used, unused] = [await create(), await create()];
    const secondOf = (formerPeppers: string[] = []) => createApiKeys({ database, pepper: second, formerPeppers });
    const listed = async (pepper: string) =>
      (await keys.listOfOtherPeppers(pepperIdOf(pepper))).map(({ keyId }) => keyId);
    expect(await listed(second)).toEqual(expect.arrayContaining([used.key.keyId, unused.key.keyId]));
    expect((await secondOf([PEPPER]).authenticate(used.secret))?.key.keyId).toBe(used.key.keyId);
    expect(await listed(second)).not.toContain(used.key.keyId);
    // A process that has not been restarted yet still knows the key.
    expect((await keys.authenticate(used.secret))?.key.keyId).toBe(used.key.keyId);
    expect((await secondOf().authenticate(used.secret))?.key.keyId).toBe(used.key.keyId);
    expect(await secondOf().authenticate(unused.secret)).toBeNull();

    // Builds of 0.3.0 before its release stored one hash, as a text.
    const { keyId } = used.key;
    const stored = await database.apiKeys.findOne({ keyId }).lean();
    await database.apiKeys.collection.updateOne({ keyId }, { $set: { rehashed: stored?.rehashed?.[0] } });
    const thirdOf = (formerPeppers: string[] = []) => createApiKeys({ database, pepper: third, formerPeppers });
    expect((await thirdOf([second, PEPPER]).authenticate(used.secret))?.key.keyId).toBe(used.key.keyId);
    database.credentials.cache.dropAll();
    // Requests in progress have looked for the hash under the third pepper, and look for that under the second one now.
    expect((await secondOf().authenticate(used.secret))?.key.keyId).toBe(used.key.keyId);
    expect((await thirdOf().authenticate(used.secret))?.key.keyId).toBe(used.key.keyId);
    await keys.revoke(used.key.keyId);
    for (const each of [keys, secondOf([PEPPER]), thirdOf([second, PEPPER]), thirdOf()]) {
      expect(await each.authenticate(used.secret)).toBeNull();
    }
  });

  it.each(['made', 'stored'])(
    'are of the new pepper in the end, if one that was %s under it is used at a process without a restart',
    async (how) => {
      const second = `${PEPPER}2`;
      const restarted = () => createApiKeys({ database, pepper: second, formerPeppers: [PEPPER] });
      const waiting = createApiKeys({ database, pepper: PEPPER, formerPeppers: [second] });
      const { secret, key } = await (how === 'made' ? restarted() : waiting).create({
        accountId,
        mode: 'live',
        name: 'ci',
      });
      await restarted().authenticate(secret);
      expect((await waiting.authenticate(secret))?.key.keyId).toBe(key.keyId);
      database.credentials.cache.dropAll();
      await restarted().authenticate(secret);
      const left = await restarted().listOfOtherPeppers(pepperIdOf(second));
      expect(left.map(({ keyId }) => keyId)).not.toContain(key.keyId);
      database.credentials.cache.dropAll();
      expect((await createApiKeys({ database, pepper: second }).authenticate(secret))?.key.keyId).toBe(key.keyId);
    },
  );

  it('are rejected from the moment they are revoked, and revoking again keeps the first time', async () => {
    const { secret, key } = await create();
    expect(await keys.authenticate(secret)).not.toBeNull();
    const revoked = await keys.revoke(key.keyId);
    expect(await keys.authenticate(secret)).toBeNull();
    await sleep(5);
    expect((await keys.revoke(key.keyId)).revokedAt).toEqual(revoked.revokedAt);
  });

  it('are rejected after they have expired', async () => {
    const { secret } = await create({ expiresAt: new Date(Date.now() + 500) });
    expect(await keys.authenticate(secret)).not.toBeNull();
    await sleep(600);
    expect(await keys.authenticate(secret)).toBeNull();
  });

  it.each([new Date(Date.now() - 1_000), new Date(Number.NaN)])('cannot be created expired (%p)', async (expiresAt) => {
    await expect(create({ expiresAt })).rejects.toMatchObject({ code: 'MISSING_PARAMS' });
  });

  it('are rejected without a database query if the checksum is wrong', async () => {
    const closedDatabase = await openTestDatabase('keys_away');
    const keysWithoutDatabase = createApiKeys({ database: closedDatabase, pepper: PEPPER });
    await closedDatabase.close();
    const secret = newSecret('live');
    const last = secret.endsWith('0') ? '1' : '0';
    expect(await keysWithoutDatabase.authenticate(secret.slice(0, -1) + last)).toBeNull();
    expect(await keysWithoutDatabase.authenticate('')).toBeNull();
    expect(await keysWithoutDatabase.authenticate('sk_live_')).toBeNull();
    await expect(keysWithoutDatabase.authenticate(secret)).rejects.toThrow(/connect|closed/i);
  });

  it('store the minute of their last use', async () => {
    const { secret, key } = await create();
    const lastUse = async () => (await database.apiKeys.findOne({ keyId: key.keyId }).lean())?.lastUsedAt;
    await keys.authenticate(secret);
    for (let i = 0; i < 100 && !(await lastUse()); i++) await sleep(20);
    const first = await lastUse();
    expect(first).toBeInstanceOf(Date);
    await keys.authenticate(secret);
    await sleep(100);
    expect(await lastUse()).toEqual(first);
  });

  it('need a name and an account', async () => {
    await expect(keys.create({ accountId, mode: 'live', name: ' ' })).rejects.toMatchObject({ code: 'MISSING_PARAMS' });
    await expect(keys.create({ accountId: 'acct_none', mode: 'live', name: 'x' })).rejects.toMatchObject({
      code: 'NOT_FOUND',
    });
    await expect(keys.revoke('key_none')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });
});
