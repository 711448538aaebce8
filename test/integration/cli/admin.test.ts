import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApiKeys } from '../../../src/identity/api-keys/api-keys.js';
import { createIndexes } from '../../../src/platform/mongo/indexes.js';
import { openDatabase, type Database } from '../../../src/database.js';
import { runAdmin } from './support/run-cli.js';
import { PRODUCTION } from '../../support/production.js';

const PEPPER = 'a-pepper-for-tests-a-pepper-for-tests';

type Fields = Record<string, unknown>;

describe('callwright admin', () => {
  const uri = `${process.env.TEST_MONGODB_URI}/cli_${randomUUID().slice(0, 8)}`;
  const env = { MONGODB_URI: uri, API_KEY_PEPPER: PEPPER };
  let database: Database;
  let folder: string;
  beforeAll(async () => {
    database = await openDatabase(uri);
    await createIndexes(database);
    folder = await mkdtemp(join(tmpdir(), 'callwright-cli-'));
  });
  afterAll(async () => {
    await database.close();
    await rm(folder, { recursive: true, force: true });
  });

  /** Runs a command that must succeed, and parses the JSON that it prints. */
  async function json<T = Fields>(...args: string[]): Promise<T> {
    const { code, stdout, stderr } = await runAdmin([...args, '--json'], env);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return JSON.parse(stdout) as T;
  }

  async function failure(...args: string[]): Promise<{ code: number; message: string }> {
    const { code, stdout, stderr } = await runAdmin(args, env);
    expect(stdout).toBe('');
    expect(stderr).not.toMatch(/^\s+at /m);
    return { code, message: stderr };
  }

  const newAccount = async (...options: string[]) =>
    String((await json('accounts', 'create', 'Acme', ...options)).account_id);

  const newAgent = async (accountId: string, ...options: string[]) =>
    json('agents', 'create', accountId, '--name', 'Amber', '--instruction', 'Be polite.', ...options);

  describe('accounts', () => {
    it('are created, listed, shown and limited', async () => {
      const created = await json('accounts', 'create', 'Acme', '--plan', 'growth');
      expect(created).toEqual({
        account_id: expect.stringMatching(/^acct_/) as string,
        name: 'Acme',
        plan: 'growth',
        requests_per_minute: 1_200,
        concurrent_calls: 50,
        created_at: expect.stringMatching(/^\d{4}-.*Z$/) as string,
      });
      const id = String(created.account_id);
      expect(await json<Fields[]>('accounts', 'list')).toContainEqual(created);
      expect(await json('accounts', 'show', id)).toEqual(created);
      const limits = ['--requests-per-minute', '7', '--concurrent-calls', '1', '--allowed-country-prefixes', '+1,+44'];
      expect(await json('accounts', 'limits', id, ...limits)).toMatchObject({
        requests_per_minute: 7,
        concurrent_calls: 1,
        allowed_country_prefixes: ['+1', '+44'],
      });
      const back = ['--requests-per-minute', 'default', '--concurrent-calls', 'default', '--plan', 'scale'];
      expect(await json('accounts', 'limits', id, ...back, '--allowed-country-prefixes', 'all')).toEqual({
        ...created,
        plan: 'scale',
        requests_per_minute: 3_000,
        concurrent_calls: 500,
      });
    });

    it('have rules for destinations, written as they are shown', async () => {
      const id = await newAccount();
      const rules = '+1900:5/hour:20/day,+4470:allow,+4487:block,+7:0/day';
      const set = await json('accounts', 'limits', id, '--destination-caps', rules);
      expect(set.destination_caps).toEqual(rules.split(','));
      const shown = await json('accounts', 'limits', id);
      expect((shown.destination_caps as string[]).join(',')).toBe(rules);
      expect(await json('accounts', 'limits', id, '--destination-caps', 'none')).not.toHaveProperty('destination_caps');
    });

    it.each(['+1900:5/week', '1900:block', '+1900:block,+1900:allow', '+1900:10001/day'])(
      'reject the destination rule %s',
      async (rules) => {
        const id = await newAccount();
        expect(await failure('accounts', 'limits', id, '--destination-caps', rules)).toMatchObject({ code: 2 });
      },
    );

    it('have an agent for inbound calls', async () => {
      const id = await newAccount();
      const { agent_id: agentId } = await newAgent(id);
      const set = await json('accounts', 'inbound-agent', id, String(agentId));
      expect(set.inbound_agent_id).toBe(agentId);
      expect(await json('accounts', 'inbound-agent', id, 'none')).not.toHaveProperty('inbound_agent_id');
      expect(await failure('accounts', 'inbound-agent', id, 'agent_none')).toMatchObject({ code: 1 });
    });
  });

  describe('keys', () => {
    it('work from creation, are shown once, and end when revoked', async () => {
      const id = await newAccount();
      const created = await json('keys', 'create', id, '--name', 'ci', '--mode', 'test', '--expires', '30d');
      const secret = String(created.api_key);
      const keys = createApiKeys({ database, pepper: PEPPER });
      expect((await keys.authenticate(secret))?.account._id).toBe(id);
      const days = (Date.parse(String(created.expires_at)) - Date.now()) / 86_400_000;
      expect(days).toBeGreaterThan(29.9);
      expect(days).toBeLessThanOrEqual(30);
      const listed = await json<Fields[]>('keys', 'list', id);
      expect(listed).toMatchObject([{ key_id: created.key_id, name: 'ci', mode: 'test', state: 'active' }]);
      expect(JSON.stringify(listed)).not.toContain(secret.slice(12, -4));
      expect(await json('keys', 'revoke', String(created.key_id))).toMatchObject({ state: 'revoked' });
      expect(await keys.authenticate(secret)).toBeNull();
    });

    it.each([
      ['no name', []],
      ['an expiry that is not a date', ['--name', 'x', '--expires', 'soon']],
      ['an expiry in the past', ['--name', 'x', '--expires', '2020-01-01']],
      ['an unknown mode', ['--name', 'x', '--mode', 'dead']],
    ])('are rejected with %s', async (_name, options) => {
      expect(await failure('keys', 'create', await newAccount(), ...options)).toMatchObject({ code: 2 });
    });
  });

  describe('agents', () => {
    it('are created with every field, shown, listed and changed', async () => {
      const id = await newAccount();
      await json('numbers', 'add', id, '+12025550140');
      const file = join(folder, 'instruction.txt');
      await writeFile(file, 'Ask for the order number.\nSay goodbye.');
      const template = '{"order":null,"satisfied":false}';
      const conversation = ['--name', 'Amber', '--instruction-file', file, '--voice', 'slate', '--language', 'en-US'];
      const limits = ['--max-duration', '120', '--ring-timeout', '20'];
      const contact = ['--webhook-url', 'https://example.com/hook', '--phone-number', '+12025550140'];
      const data = ['--output-parameters', template];
      const created = await json('agents', 'create', id, ...conversation, ...limits, ...contact, ...data);
      expect(created).toMatchObject({
        agent_id: expect.stringMatching(/^agent_[0-9A-Z]{26}$/) as string,
        name: 'Amber',
        instruction: 'Ask for the order number.\nSay goodbye.',
        voice: 'slate',
        language: 'en-US',
        output_parameters: template,
        max_duration_seconds: 120,
        ring_timeout_seconds: 20,
        webhook_url: 'https://example.com/hook',
        phone_number: '+12025550140',
      });
      const agentId = String(created.agent_id);
      expect(await json('agents', 'show', agentId)).toEqual(created);
      expect(await json('agents', 'list', id)).toEqual([created]);
      const changed = await json('agents', 'update', agentId, '--name', 'Jade', '--clear', 'webhook-url');
      expect(changed).toMatchObject({ name: 'Jade', voice: 'slate' });
      expect(changed).not.toHaveProperty('webhook_url');
    });

    it.each([
      ['webhook_url', ['--webhook-url', 'http://user:secret@example.com']],
      ['output_parameters', ['--output-parameters', '{"a":[]}']],
      ['max_duration_seconds', ['--max-duration', '29']],
      ['ring_timeout_seconds', ['--ring-timeout', '121']],
      ['phone_number', ['--phone-number', '+12025550149']],
      ['max-duration', ['--max-duration', 'long']],
    ])('are rejected with a bad %s', async (field, options) => {
      const id = await newAccount();
      const args = ['agents', 'create', id, '--name', 'A', '--instruction', 'B', ...options];
      expect(await failure(...args)).toEqual({ code: 2, message: expect.stringContaining(field) as string });
    });

    it('are created with all abilities, which can be cleared', async () => {
      const id = await newAccount();
      const file = join(folder, 'tools.json');
      const parameters = { type: 'object', properties: { order: { type: 'string' } }, required: ['order'] };
      const tool = { name: 'look_up', description: 'Looks up.', method: 'GET', url: 'https://example.com/orders' };
      await writeFile(file, JSON.stringify([{ ...tool, parameters }]));
      const brief = ['--name', 'A', '--instruction', 'B', '--engine', 'offline-demo', '--no-ai-disclosure'];
      const voicemail = ['--voicemail', 'leave_message', '--voicemail-message', 'Call us.'];
      const abilities = ['--transfer-number', '+12025550141', '+12025550142', '--tools-file', file];
      const created = await json('agents', 'create', id, ...brief, ...voicemail, ...abilities);
      const stored = { ...tool, parameters: JSON.stringify(parameters) };
      expect(created).toMatchObject({
        engine: 'offline-demo',
        ai_disclosure: false,
        voicemail_action: 'leave_message',
        voicemail_message: 'Call us.',
        transfer_numbers: ['+12025550141', '+12025550142'],
        tools: [stored],
      });
      const agentId = String(created.agent_id);
      expect(await json('agents', 'update', agentId, '--ai-disclosure')).toMatchObject({ ai_disclosure: true });
      const clear = ['engine', 'voicemail', 'voicemail-message', 'transfer-numbers', 'tools'];
      const cleared = await json('agents', 'update', agentId, '--clear', ...clear);
      expect(cleared).toMatchObject({ ai_disclosure: true, voicemail_action: 'hang_up' });
      for (const gone of ['engine', 'voicemail_message', 'transfer_numbers', 'tools']) {
        expect(cleared).not.toHaveProperty(gone);
      }
    });

    it.each([
      ['voice', ['--voice', 'jade']],
      ['language', ['--language', 'de-DE']],
      ['engine', ['--engine', 'pipeline']],
      ['engine', ['--engine', 'magic']],
      ['voicemail', ['--voicemail', 'sing']],
      ['transfer_numbers', ['--transfer-number', '+1911']],
      ['tools', ['--tools-file', 'does-not-exist.json']],
    ])('are rejected with an invalid %s', async (field, options) => {
      const id = await newAccount();
      const args = ['agents', 'create', id, '--name', 'A', '--instruction', 'B', ...options];
      expect(await failure(...args)).toEqual({ code: 2, message: expect.stringContaining(field) as string });
      expect(await json<Fields[]>('agents', 'list', id)).toEqual([]);
    });

    it('cannot have a private webhook address in production', async () => {
      const id = await newAccount();
      const args = ['agents', 'create', id, '--name', 'A', '--instruction', 'B', '--webhook-url', 'http://10.0.0.1/'];
      const production = { ...PRODUCTION, ...env };
      const { code, stderr } = await runAdmin(args, production);
      expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('webhook_url') as string });
    });
  });

  describe('numbers', () => {
    it('are added, listed and assigned to an agent', async () => {
      const id = await newAccount();
      const { agent_id: agentId } = await newAgent(id);
      expect(await json('numbers', 'add', id, '+12025550150')).toMatchObject({ phone_number: '+12025550150' });
      expect(await json('numbers', 'agent', '+12025550150', String(agentId))).toMatchObject({ agent_id: agentId });
      expect(await json('numbers', 'list', id)).toMatchObject([{ phone_number: '+12025550150', agent_id: agentId }]);
      expect(await json('numbers', 'agent', '+12025550150', 'none')).not.toHaveProperty('agent_id');
      expect(await failure('numbers', 'add', id, '2025550150')).toMatchObject({ code: 2 });
      expect(await failure('numbers', 'add', await newAccount(), '+12025550150')).toMatchObject({ code: 2 });
    });
  });

  describe('operators', () => {
    it('are members, identified by their e-mail address, that are added, listed and removed', async () => {
      const user = { email: 'ada@example.com', name: 'Ada', accountId: await newAccount(), passwordHash: 'none' };
      await database.users.create([{ _id: 'user_ada', ...user, role: 'viewer', createdAt: new Date() }]);
      const view = { email: user.email, name: 'Ada', user_id: 'user_ada', account_id: user.accountId };
      expect(await json<Fields[]>('operators', 'list')).toEqual([]);
      expect(await json('operators', 'add', 'Ada@example.com')).toEqual(view);
      expect(await json<Fields[]>('operators', 'list')).toEqual([view]);
      expect(await json('operators', 'remove', 'ada@example.com')).toEqual(view);
      expect(await json<Fields[]>('operators', 'list')).toEqual([]);
      const rejected = await failure('operators', 'add', 'nobody@example.com');
      expect(rejected).toEqual({ code: 1, message: expect.stringContaining('nobody@example.com') as string });
    });
  });

  describe('money', () => {
    it('is credited exactly, and once per payment', async () => {
      const id = await newAccount();
      const topUp = () => json('topup', id, '0.150001', '--payment-id', 'pi_1');
      expect(await topUp()).toMatchObject({ amount_micros: 150_001, available_micros: 150_001, payment_id: 'pi_1' });
      expect(await topUp()).toMatchObject({ available_micros: 150_001 });
      expect(await failure('topup', id, '2', '--payment-id', 'pi_1')).toMatchObject({ code: 1 });
      await json('topup', id, '5', '--mode', 'test');
      expect(await json('balance', id)).toMatchObject([
        { mode: 'live', available_usd: 0.150001, available_micros: 150_001, held_micros: 0, billed_micros: 0 },
        { mode: 'test', available_usd: 1_005, credited_micros: 1_005_000_000 },
      ]);
      expect(await json('balance', id, '--mode', 'live')).toHaveLength(1);
    });

    it.each(['0', '-1', '1.2345678', '1e3', 'ten', '1,5', ''])('rejects the amount "%s"', async (amount) => {
      expect(await failure('topup', 'acct_any', amount)).toMatchObject({ code: 2 });
    });

    it('is audited: exits 0 if every account equals its operations, otherwise 1', async () => {
      const id = await newAccount();
      await json('topup', id, '3');
      expect(await json<Fields[]>('audit', id)).toMatchObject([
        { ledger_account_id: `${id}~live#0`, balanced: true, equation: '3.00 - 0.00 = 3.00 + 0.00' },
        { ledger_account_id: `${id}~test#0`, balanced: true },
      ]);
      expect((await runAdmin(['audit'], env)).code).toBe(0);
      await database.ledgerAccounts.updateOne({ _id: `${id}~live#0` }, { $inc: { availableMicros: 1 } });
      const wrong = await runAdmin(['audit'], env);
      expect(wrong.code).toBe(1);
      expect(wrong.stderr).toMatch(/^error: 1 of \d+ ledger accounts do not match their operations/);
      await database.ledgerAccounts.updateOne({ _id: `${id}~live#0` }, { $inc: { availableMicros: -1 } });
    });
  });

  describe('as a command line', () => {
    it('shows its help without a database', async () => {
      const { code, stdout } = await runAdmin(['--help'], {});
      expect(code).toBe(0);
      for (const command of [
        'accounts',
        'keys',
        'agents',
        'numbers',
        'topup',
        'balance',
        'refill',
        'ledger',
        'usage',
        'audit',
        'reconcile',
        'findings',
      ]) {
        expect(stdout).toContain(`  ${command}`);
      }
    });

    it.each([
      [['nonsense']],
      [['accounts']],
      [['accounts', 'show']],
      [['balance', 'x', '--mode', 'dead']],
      [['--nope']],
    ])('exits 2 on wrong usage: %p', async (args) => {
      expect((await runAdmin(args, env)).code).toBe(2);
    });

    it('finds the database of the service that runs from this folder', async () => {
      await writeFile(join(folder, 'runtime.json'), JSON.stringify({ mongodb_uri: uri }));
      const { code, stdout } = await runAdmin(['accounts', 'list', '--json'], { CALLWRIGHT_DATA_DIR: folder });
      expect(code).toBe(0);
      expect(Array.isArray(JSON.parse(stdout))).toBe(true);
    });

    it.each([
      ['no database is configured', {}, /^error: No database found: set MONGODB_URI/],
      [
        'the database does not respond',
        { MONGODB_URI: 'mongodb://me:secret@127.0.0.1:1/x' },
        /^error: The database at .* does not respond/,
      ],
      [
        'the address of the database is invalid',
        { MONGODB_URI: 'nonsense' },
        /^error: The database at .* does not respond/,
      ],
      ['the configuration is invalid', { MONGODB_URI: uri, API_PORT: 'x' }, /^error: The configuration is invalid/],
    ])('explains in one line when %s, and exits 1', async (_name, environment, sentence) => {
      const { code, stdout, stderr } = await runAdmin(['accounts', 'list'], environment, folder);
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toMatch(sentence);
      expect(stderr.trim().split('\n')).toHaveLength(1);
      expect(stderr).not.toContain('secret');
    });

    it('reports failures as an error object with --json', async () => {
      const { code, stderr } = await runAdmin(['accounts', 'show', 'acct_none', '--json'], env);
      expect(code).toBe(1);
      expect(JSON.parse(stderr)).toEqual({
        success: false,
        message: 'There is no account acct_none.',
        error_code: 'NOT_FOUND',
      });
    });

    it('shows tables by default', async () => {
      const id = await newAccount();
      expect((await runAdmin(['balance', id], env)).stdout).toMatch(/│ test +│ 1000\.00 +│/);
      expect((await runAdmin(['keys', 'list', id], env)).stdout).toBe('None.\n');
    });
  });
});
