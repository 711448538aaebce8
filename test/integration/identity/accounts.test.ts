import { createInboundAgents } from '../../../src/agents/inbound-agent.js';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseConfig } from '../../../src/platform/config/config.js';
import { ledgerAccountId } from '../../../src/kernel/ids.js';
import { createAccounts, limitsOf } from '../../../src/identity/accounts/accounts.js';
import { createAgents } from '../../../src/agents/agents.js';
import type { Database } from '../../../src/database.js';
import { createLedger } from '../../../src/billing/ledger/ledger.js';
import { createPhoneNumbers } from '../../../src/agents/numbers/phone-numbers.js';
import { openTestDatabase } from '../../support/store/test-database.js';
import { PRODUCTION } from '../../support/production.js';

const tool = {
  name: 'look_up',
  description: 'Looks up an order.',
  method: 'GET' as const,
  url: 'https://example.com/orders',
  parameters: '{"type":"object","properties":{"order":{"type":"string"}},"required":["order"]}',
};

describe('accounts, agents and numbers', () => {
  let database: Database;
  let accounts: ReturnType<typeof createAccounts>;
  let agents: ReturnType<typeof createAgents>;
  let numbers: ReturnType<typeof createPhoneNumbers>;
  let accountId: string;
  let otherAccountId: string;
  beforeAll(async () => {
    database = await openTestDatabase('accounts');
    accounts = createAccounts(database);
    agents = createAgents(database);
    numbers = createPhoneNumbers(database);
    accountId = (await accounts.create({ name: 'Acme' }))._id;
    otherAccountId = (await accounts.create({ name: 'Other' }))._id;
  });
  afterAll(() => database.close());

  const agent = (fields: object = {}) =>
    agents.create({
      accountId,
      name: 'Amber',
      instruction: 'Be polite.',
      voice: 'amber',
      language: 'en-US',
      ...fields,
    });

  describe('an account', () => {
    it('starts with no live money and 1,000 USD of test money', async () => {
      const ledger = createLedger(database);
      expect(await ledger.balance(ledgerAccountId(accountId, 'live'))).toMatchObject({ availableMicros: 0 });
      expect(await ledger.balance(ledgerAccountId(accountId, 'test'))).toMatchObject({
        availableMicros: 1_000_000_000,
      });
    });

    it.each([
      ['trial', 60, 2],
      ['standard', 300, 10],
      ['growth', 1_200, 50],
      ['scale', 3_000, 500],
    ] as const)('has the limits of the plan %s', async (plan, requestsPerMinute, concurrentCalls) => {
      const account = await accounts.create({ name: 'Limits', plan });
      expect(limitsOf(account, 'live', undefined)).toEqual({ requestsPerMinute, concurrentCalls });
      const testCalls = plan === 'trial' ? 20 : 100;
      expect(limitsOf(account, 'test', undefined)).toEqual({ requestsPerMinute: 600, concurrentCalls: testCalls });
    });

    it('can have its own limits and return to those of its plan', async () => {
      const { _id } = await accounts.create({ name: 'Limits' });
      const own = await accounts.setLimits(_id, { requestsPerMinute: 5, concurrentCalls: 0 });
      expect(limitsOf(own, 'live', undefined)).toEqual({ requestsPerMinute: 5, concurrentCalls: 0 });
      const capped = await accounts.setLimits(_id, { dailySpendCapMicros: 150_000 });
      expect(limitsOf(capped, 'test', undefined).dailySpendCapMicros).toBe(150_000);
      await accounts.setLimits(_id, { dailySpendCapMicros: null });
      const back = await accounts.setLimits(_id, { requestsPerMinute: null, concurrentCalls: null, plan: 'growth' });
      expect(limitsOf(back, 'live', undefined)).toEqual({ requestsPerMinute: 1_200, concurrentCalls: 50 });
    });

    it('rejects invalid limits, prefixes, names and plans', async () => {
      const rejection = { code: 'MISSING_PARAMS' };
      await expect(accounts.setLimits(accountId, { requestsPerMinute: -1 })).rejects.toMatchObject(rejection);
      await expect(accounts.setLimits(accountId, { concurrentCalls: 1.5 })).rejects.toMatchObject(rejection);
      for (const dailySpendCapMicros of [-1, 0.5, Number.NaN, 2 ** 53]) {
        await expect(accounts.setLimits(accountId, { dailySpendCapMicros })).rejects.toMatchObject(rejection);
      }
      await expect(accounts.setLimits(accountId, { allowedCountryPrefixes: ['44'] })).rejects.toMatchObject(rejection);
      await expect(accounts.create({ name: '' })).rejects.toMatchObject(rejection);
      await expect(accounts.create({ name: 'x', plan: 'gold' as 'scale' })).rejects.toMatchObject(rejection);
      await expect(accounts.setLimits('acct_none', { plan: 'scale' })).rejects.toMatchObject({ code: 'NOT_FOUND' });
    });

    it('accepts only its own agents as the inbound agent', async () => {
      const { _id: agentId } = await agent();
      expect((await createInboundAgents(database).set(accountId, agentId)).inboundAgentId).toBe(agentId);
      await expect(createInboundAgents(database).set(otherAccountId, agentId)).rejects.toMatchObject({
        code: 'AGENT_NOT_FOUND',
      });
      expect((await createInboundAgents(database).set(accountId, null)).inboundAgentId).toBeUndefined();
    });
  });

  describe('an agent', () => {
    it('has a maximum duration of 600 s and a ring timeout of 30 s by default', async () => {
      expect(await agent()).toMatchObject({ maxDurationSeconds: 600, ringTimeoutSeconds: 30 });
    });

    it.each([
      ['name', { name: '' }],
      ['instruction', { instruction: ' ' }],
      ['instruction', { instruction: 'x'.repeat(32_769) }],
      ['language', { language: 'not a tag' }],
      ['voice', { voice: '../x' }],
      ['voice', { voice: 'jade' }],
      ['language', { language: 'tlh' }],
      ['language', { engine: 'offline-demo', language: 'de-DE' }],
      ['engine', { engine: 'magic' }],
      ['ai_disclosure', { aiDisclosure: 'no' }],
      ['voicemail_action', { voicemailAction: 'sing' }],
      ['voicemail_message', { voicemailMessage: 'x'.repeat(1_001) }],
      ['transfer_numbers', { transferNumbers: ['2025550100'] }],
      ['transfer_numbers', { transferNumbers: ['+1911'] }],
      ['transfer_numbers', { transferNumbers: Array.from({ length: 21 }, () => '+12025550100') }],
      ['tools', { tools: [{ ...tool, name: 'end_call' }] }],
      ['tools', { tools: [{ ...tool, name: 'Look Up' }] }],
      ['tools', { tools: [{ ...tool, method: 'DELETE' }] }],
      ['tools', { tools: [{ ...tool, url: 'ftp://example.com' }] }],
      ['tools', { tools: [{ ...tool, parameters: '{"type":"object","properties":{"a":{"$ref":"#"}}}' }] }],
      ['tools', { tools: [{ ...tool, secret: 'x' }] }],
      ['tools', { tools: [tool, tool] }],
      ['max_duration_seconds', { maxDurationSeconds: 29 }],
      ['max_duration_seconds', { maxDurationSeconds: 14_401 }],
      ['max_duration_seconds', { maxDurationSeconds: 60.5 }],
      ['ring_timeout_seconds', { ringTimeoutSeconds: 4 }],
      ['ring_timeout_seconds', { ringTimeoutSeconds: 121 }],
      ['output_parameters', { outputParameters: '[]' }],
      ['output_parameters', { outputParameters: '{"a":{}}' }],
      ['output_parameters', { outputParameters: 'nonsense' }],
      ['output_parameters', { outputParameters: `{"a":"${'x'.repeat(16_384)}"}` }],
      ['webhook_url', { webhookUrl: 'ftp://example.com' }],
      ['webhook_url', { webhookUrl: `https://example.com/${'x'.repeat(2_048)}` }],
      ['phone_number', { phoneNumber: '12025550100' }],
      ['phone_number', { phoneNumber: '+12025550111' }],
    ])('is rejected with a bad %s', async (name, fields) => {
      await expect(agent(fields)).rejects.toMatchObject({
        code: 'MISSING_PARAMS',
        message: expect.stringContaining(name) as string,
      });
    });

    it('is created with all its abilities', async () => {
      const abilities = {
        engine: 'openai-realtime' as const,
        language: 'de-de',
        aiDisclosure: false,
        voicemailAction: 'leave_message' as const,
        voicemailMessage: 'Please call us back.',
        transferNumbers: ['+12025550143'],
        tools: [tool],
      };
      const { _id } = await agent(abilities);
      expect(await agents.find(_id)).toMatchObject({ ...abilities, language: 'de-DE' });
    });

    it('can be changed in other fields when its voice no longer exists', async () => {
      const { _id } = await agent();
      await database.agents.updateOne({ _id }, { voice: 'jade' });
      expect(await agents.update(_id, { name: 'Old', voice: 'jade' })).toMatchObject({ name: 'Old', voice: 'jade' });
      await expect(agents.update(_id, { language: 'en-GB' })).rejects.toMatchObject({
        code: 'MISSING_PARAMS',
        message: expect.stringMatching(/^voice: jade is not available/) as string,
      });
      expect(await agents.update(_id, { voice: 'amber' })).toMatchObject({ voice: 'amber' });
    });

    describe('on a service with its configuration', () => {
      const policy = parseConfig(PRODUCTION);
      const offered = () => createAgents(database, policy);
      const fields = { name: 'A', instruction: 'B', voice: 'amber', language: 'en-US' };

      it.each([
        ['engine: pipeline is not configured', { engine: 'pipeline' as const }],
        ['language: the voice amber does not speak de-DE on the engine offline-demo', { language: 'de-DE' }],
        ['tools: the url of look_up must be publicly reachable', { tools: [{ ...tool, url: 'http://10.0.0.1/' }] }],
      ])('is rejected with %s', async (message, wrong) => {
        const rejection = { code: 'MISSING_PARAMS', message: expect.stringContaining(message) as string };
        await expect(offered().create({ accountId, ...fields, ...wrong })).rejects.toMatchObject(rejection);
        const { _id } = await offered().create({ accountId, ...fields });
        await expect(offered().update(_id, wrong)).rejects.toMatchObject(rejection);
      });

      it('removes an engine that is no longer configured by null', async () => {
        const { _id } = await agent({ engine: 'pipeline' });
        expect((await offered().update(_id, { engine: null })).engine).toBeUndefined();
      });
    });

    it('keeps the fields that a change does not name, and removes an optional field by null', async () => {
      const { _id } = await agent({ webhookUrl: 'https://example.com/hook', outputParameters: '{"ok":false}' });
      const changed = await agents.update(_id, { name: 'Jade', webhookUrl: null });
      expect(changed).toMatchObject({ name: 'Jade', instruction: 'Be polite.', outputParameters: '{"ok":false}' });
      expect(changed.webhookUrl).toBeUndefined();
      await expect(agents.update(_id, { maxDurationSeconds: 1 })).rejects.toMatchObject({ code: 'MISSING_PARAMS' });
      await expect(agents.update('agent_none', { name: 'x' })).rejects.toMatchObject({ code: 'AGENT_NOT_FOUND' });
    });

    it('is not found after it is archived, nor by a value that is not an id', async () => {
      const { _id } = await agent();
      expect(await agents.find(_id)).toMatchObject({ _id });
      await database.agents.updateOne({ _id }, { archivedAt: new Date() });
      expect(await agents.find(_id)).toBeNull();
      expect(await agents.find({ $ne: '' } as unknown as string)).toBeNull();
      expect((await agents.list(accountId)).map((each) => each._id)).not.toContain(_id);
    });
  });

  describe('a number', () => {
    it('belongs to one account', async () => {
      const first = await numbers.add({ number: '+12025550120', accountId });
      expect(await numbers.add({ number: '+12025550120', accountId })).toMatchObject({ createdAt: first.createdAt });
      await expect(numbers.add({ number: '+12025550120', accountId: otherAccountId })).rejects.toMatchObject({
        code: 'MISSING_PARAMS',
      });
      expect(await numbers.find('+12025550120')).toMatchObject({ accountId });
    });

    it('may have an agent of its account, which may then call from it', async () => {
      await numbers.add({ number: '+12025550121', accountId });
      const { _id } = await agent({ phoneNumber: '+12025550121' });
      expect(await numbers.setAgent('+12025550121', _id)).toMatchObject({ agentId: _id });
      expect((await numbers.setAgent('+12025550121', null)).agentId).toBeUndefined();
      await expect(
        numbers.add({ number: '+12025550122', accountId: otherAccountId, agentId: _id }),
      ).rejects.toMatchObject({
        code: 'AGENT_NOT_FOUND',
      });
    });

    it('must be in E.164 format', async () => {
      await expect(numbers.add({ number: '2025550120', accountId })).rejects.toMatchObject({ code: 'MISSING_PARAMS' });
      expect(await numbers.find('2025550120')).toBeNull();
      await expect(numbers.setAgent('+12025550999', null)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    });

    it('is listed in the order of adding: calls are placed from the first', async () => {
      const { _id } = await accounts.create({ name: 'Order' });
      await numbers.add({ number: '+12025550131', accountId: _id });
      await sleep(5);
      await numbers.add({ number: '+12025550130', accountId: _id });
      expect((await numbers.list(_id)).map((each) => each._id)).toEqual(['+12025550131', '+12025550130']);
    });
  });
});
