import { randomUUID } from 'node:crypto';
import { parseConfig } from '../../src/platform/config/config.js';
import { newToken } from '../../src/platform/config/carriers/simulated-accounts.js';
import { sign } from '../../src/telephony/twilio/signature.js';
import { openDatabase, type Database } from '../../src/database.js';
import { needsDeploymentTokens, withDeploymentTokens } from '../../src/platform/secrets/deployment-tokens.js';
import { expectError, startService, type Service } from '../support/http/harness.js';
import { PRODUCTION } from '../support/production.js';
import { newSid } from '../support/sids.js';

/** The tokens of development mode, which the documentation publishes. */
const PUBLISHED = {
  live: { carrierAccountId: 'AC00000000000000000000000000000001', authToken: '11111111111111111111111111111111' },
  test: { carrierAccountId: 'AC00000000000000000000000000000002', authToken: '22222222222222222222222222222222' },
};

describe('published tokens of the simulated carrier are not valid in production', () => {
  let service: Service;
  beforeAll(async () => {
    service = await startService({ worker: false, env: { ...PRODUCTION, TRUST_PROXY: 'true' } });
  });
  afterAll(() => service.close());

  it.each(['live', 'test'] as const)(
    'a forged inbound call in %s mode is rejected and stores nothing',
    async (mode) => {
      const { carrierAccountId } = service.config.carriers[mode];
      for (const AccountSid of [carrierAccountId, PUBLISHED[mode].carrierAccountId]) {
        const params = { AccountSid, CallSid: newSid('CA'), From: '+12025550143', To: '+12025550199' };
        const url = `${service.config.publicBaseUrl}/inbound_call`;
        const { authToken } = PUBLISHED[mode];
        const response = await service.request('/inbound_call', {
          method: 'POST',
          headers: { 'X-Twilio-Signature': sign({ authToken, url, params }), 'X-Forwarded-Proto': 'https' },
          body: new URLSearchParams(params),
        });
        expectError(response, 401, 'UNAUTHORIZED');
        const status = await service.request('/carrier/status', {
          method: 'POST',
          headers: {
            'X-Twilio-Signature': sign({ authToken, url: `${service.config.publicBaseUrl}/carrier/status`, params }),
          },
          body: new URLSearchParams(params),
        });
        expectError(status, 403, 'FORBIDDEN');
      }
      expect(await service.database.callRequests.countDocuments()).toBe(0);
      expect(await service.database.carrierBindings.countDocuments()).toBe(0);
    },
  );

  it.each(['SIMULATOR_AUTH_TOKEN', 'SIMULATOR_TEST_AUTH_TOKEN'])(
    '%s is rejected if it is a published token',
    (name) => {
      for (const { authToken } of Object.values(PUBLISHED)) {
        expect(() => parseConfig({ ...PRODUCTION, [name]: authToken })).toThrow(new RegExp(`${name} .*published`));
      }
      expect(() => parseConfig({ ...PRODUCTION, [name]: 'short' })).toThrow(new RegExp(`${name} .*characters`));
      expect(() => parseConfig({ [name]: PUBLISHED.live.authToken })).not.toThrow();
    },
  );

  it.each(['SIMULATOR_ACCOUNT_SID', 'SIMULATOR_TEST_ACCOUNT_SID'])('%s is rejected if it is published', (name) => {
    for (const { carrierAccountId } of Object.values(PUBLISHED)) {
      expect(() => parseConfig({ ...PRODUCTION, [name]: carrierAccountId })).toThrow(new RegExp(`${name} .*published`));
    }
  });

  it('the two modes never share a token or an account', () => {
    const token = newToken();
    const shared = { ...PRODUCTION, SIMULATOR_AUTH_TOKEN: token, SIMULATOR_TEST_AUTH_TOKEN: token };
    expect(() => parseConfig(shared)).toThrow(/SIMULATOR_TEST_AUTH_TOKEN must differ/);
    const sid = newSid('AC');
    const same = { ...PRODUCTION, SIMULATOR_ACCOUNT_SID: sid, SIMULATOR_TEST_ACCOUNT_SID: sid };
    expect(() => parseConfig(same)).toThrow(/SIMULATOR_TEST_ACCOUNT_SID must differ/);
  });
});

describe('the generated tokens of a deployment', () => {
  let database: Database;
  const ACCOUNT = /^AC[0-9a-f]{32}$/;
  beforeAll(async () => {
    database = await openDatabase(`${process.env.TEST_MONGODB_URI}/tokens_${randomUUID()}`);
  });
  afterAll(async () => {
    await database.connection.dropDatabase();
    await database.close();
  });

  it('are the same for all roles, whichever starts first, and are stored encrypted', async () => {
    const roles = Array.from({ length: 8 }, () => parseConfig(PRODUCTION));
    const settled = await Promise.all(roles.map((config) => withDeploymentTokens(config, database)));
    const accounts = settled.map(({ carriers }) => carriers);
    for (const carriers of accounts) expect(carriers).toEqual(accounts[0]);
    const { live, test } = accounts[0] ?? parseConfig({}).carriers;
    expect(new Set([live.authToken, test.authToken, ...tokensOf(PUBLISHED)]).size).toBe(4);
    expect(live.carrierAccountId).toMatch(ACCOUNT);
    expect(test.carrierAccountId).toMatch(ACCOUNT);
    expect(live.carrierAccountId).not.toBe(test.carrierAccountId);
    const stored = JSON.stringify(await database.deploymentSecrets.find().lean());
    for (const token of [live.authToken, test.authToken]) expect(stored).not.toContain(token);
  });

  it('are random until they are read from the database', async () => {
    const [first, second] = [parseConfig(PRODUCTION), parseConfig(PRODUCTION)];
    expect(first.carriers.live.authToken).not.toBe(second.carriers.live.authToken);
    expect(needsDeploymentTokens(first)).toBe(true);
  });

  it('are not used or read if tokens are configured', async () => {
    const [live, test] = [newToken(), newToken()];
    const config = parseConfig({ ...PRODUCTION, SIMULATOR_AUTH_TOKEN: live, SIMULATOR_TEST_AUTH_TOKEN: test });
    expect(needsDeploymentTokens(config)).toBe(false);
    expect(tokensOf(config.carriers)).toEqual([live, test]);
    expect(config.carriers.live.carrierAccountId).toMatch(ACCOUNT);
  });
});

function tokensOf({ live, test }: Record<'live' | 'test', { authToken: string }>): string[] {
  return [live.authToken, test.authToken];
}
