import { createCipheriv, createHmac, randomBytes, randomUUID } from 'node:crypto';
import { parseConfig, type Config } from '../../src/platform/config/config.js';
import { createIndexes } from '../../src/platform/mongo/indexes.js';
import { openDatabase, type Database } from '../../src/database.js';
import { resealSecrets } from '../../src/cli/admin/resealing.js';
import { createSecretBox } from '../../src/platform/secrets/secret-box.js';
import { openToolHeaders, storedTools } from '../../src/agents/tool-headers.js';
import { createWebhookSecretBox, createWebhookSecrets } from '../../src/webhooks/signing/secrets.js';
import { runAdmin } from '../integration/cli/support/run-cli.js';
import { likeASecret } from '../support/production.js';

const keyText = (id: string) => `${id}:${Buffer.from(likeASecret(id), 'hex').toString('base64')}`;
const configOf = (...ids: string[]): Config =>
  parseConfig({ ENCRYPTION_KEYS: ids.map(keyText).join(','), API_KEY_PEPPER: likeASecret('pepper') });

const OLD = configOf('old');
const BOTH = configOf('new', 'old');
const NEW = configOf('new');
const AGENTS = 120;
const TOOL = {
  name: 'look_up',
  description: 'Looks up an order.',
  method: 'GET' as const,
  url: 'https://shop.example.com/orders',
  parameters: '{"type":"object","properties":{}}',
};

let uri: string;
let database: Database;
beforeEach(async () => {
  uri = `${process.env.TEST_MONGODB_URI}/rotation_${randomUUID().slice(0, 8)}`;
  database = await openDatabase(uri);
  await createIndexes(database);
});
afterEach(async () => {
  await database.connection.dropDatabase();
  await database.close();
});

const toolsOf = (accountId: string, config: Config) =>
  storedTools({
    tools: [TOOL, { ...TOOL, name: 'buy', headers: { Authorization: `Bearer ${accountId}`, 'X-Shop': '7' } }],
    present: [],
    accountId,
    box: createSecretBox(config.encryptionKeys),
  });

const insert = (name: string, documents: object[]) => database.connection.collection(name).insertMany(documents);

/**
 * Stores every kind of secret as a deployment with this configuration would: two secrets of an account, two for each
 * agent and call with tools, and one of the deployment.
 */
async function fill(config: Config, agents = 2): Promise<void> {
  const box = createWebhookSecretBox(config);
  const ids = Array.from({ length: agents }, (_, index) => `acct_${index}`);
  const pepperKey = createHmac('sha256', config.apiKeyPepper).update('webhook secrets').digest();
  const nonce = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', pepperKey, nonce).setAAD(Buffer.from('acct_0'));
  const byPepper = Buffer.concat([cipher.update(Buffer.alloc(32, 7)), cipher.final()]);
  const legacy = Buffer.concat([nonce, cipher.getAuthTag(), byPepper]).toString('base64');
  await insert('accounts', [
    { _id: 'acct_none', name: 'without' },
    {
      _id: 'acct_0',
      name: 'with',
      webhookSecrets: [
        { id: 'whs_2', sealed: box.seal('acct_0', 'whs_2', Buffer.alloc(32, 9)), createdAt: new Date() },
        { id: 'whs_1', sealed: legacy, createdAt: new Date() },
      ],
    },
  ] as object[]);
  await insert(
    'agents',
    ids.map((id) => ({ _id: `agent_${id}`, accountId: id, tools: toolsOf(id, config) })),
  );
  await insert('call_requests', [
    { _id: 'call_0', accountId: 'acct_0', agent: { agentId: 'agent_acct_0', tools: toolsOf('acct_0', config) } },
    { _id: 'call_1', accountId: 'acct_0', agent: { agentId: 'agent_acct_0' } },
  ] as object[]);
  const sealed = createSecretBox(config.encryptionKeys).seal('deployment:simulator-token:live', 'token');
  await insert('deployment_secrets', [{ _id: 'simulator-token:live', sealed, createdAt: new Date() }] as object[]);
}

/** Reads every secret in the way the service does, and asserts that this succeeds. */
async function expectAllReadable(config: Config, agents = 2): Promise<void> {
  const keys = await createWebhookSecrets({ database, config }).keys('acct_0');
  expect(keys).toEqual([Buffer.alloc(32, 9), Buffer.alloc(32, 7)]);
  const box = createSecretBox(config.encryptionKeys);
  const stored = await database.agents.find().lean();
  expect(stored).toHaveLength(agents);
  const call = await database.callRequests.findById('call_0').lean();
  const tools = [
    ...stored.map((agent) => ({ accountId: agent.accountId, tool: agent.tools?.[1] })),
    { accountId: 'acct_0', tool: call?.agent.tools?.[1] },
  ];
  for (const { accountId, tool } of tools) {
    const headers = tool && openToolHeaders(tool, accountId, box);
    expect(headers).toEqual({ Authorization: `Bearer ${accountId}`, 'X-Shop': '7' });
  }
  const token = await database.deploymentSecrets.findById('simulator-token:live').lean();
  expect(box.open('deployment:simulator-token:live', token?.sealed ?? '')).toBe('token');
}

describe('resealing secrets after an encryption key rotation', () => {
  it('makes every stored secret readable without the old key', async () => {
    await fill(OLD);
    await expectAllReadable(BOTH);
    await expect(expectAllReadable(NEW)).rejects.toThrow(/encrypted with the key "old"/);
    expect(await resealSecrets({ database, config: BOTH })).toEqual({
      resealed: 9,
      unreadable: 0,
      keys: [
        { keyId: 'new', secrets: 9, configured: true },
        { keyId: 'old', secrets: 0, configured: true },
      ],
    });
    await expectAllReadable(NEW);
  });

  it('changes nothing when it is repeated', async () => {
    await fill(OLD);
    await resealSecrets({ database, config: BOTH });
    const before = await database.connection.collection('agents').find().toArray();
    expect(await resealSecrets({ database, config: BOTH })).toMatchObject({ resealed: 0, unreadable: 0 });
    expect(await database.connection.collection('agents').find().toArray()).toEqual(before);
  });

  it('loses nothing when the command dies halfway, and the next run finishes it', async () => {
    await fill(OLD, AGENTS);
    const dying = await openDatabase(uri);
    const run = resealSecrets({ database: dying, config: BOTH });
    const first = { 'tools.1.headers.0.sealed': /^new\./ };
    while ((await database.agents.countDocuments(first)) < 3) await new Promise((resolve) => setTimeout(resolve, 5));
    await dying.connection.close(true);
    await expect(run).rejects.toBeInstanceOf(Error);
    expect(await database.agents.countDocuments(first)).toBeLessThan(AGENTS);
    await expectAllReadable(BOTH, AGENTS);
    expect(await resealSecrets({ database, config: BOTH })).toMatchObject({ unreadable: 0 });
    await expectAllReadable(NEW, AGENTS);
  });

  it('never overwrites concurrent changes', async () => {
    await fill(OLD, AGENTS);
    const run = resealSecrets({ database, config: BOTH });
    const accounts = createWebhookSecrets({ database, config: BOTH });
    const { stored } = await accounts.rotate('acct_0', 0);
    await database.agents.updateOne({ _id: `agent_acct_${AGENTS - 1}` }, { $unset: { tools: '' } });
    await run;
    expect((await accounts.list('acct_0')).map(({ id }) => id)).toEqual([stored.id]);
    expect(await database.agents.findById(`agent_acct_${AGENTS - 1}`).lean()).not.toHaveProperty('tools');
  });

  it('reports a secret that cannot be read, and leaves it as it is', async () => {
    await fill(OLD);
    const sealed = 'lost.AAAA';
    await database.deploymentSecrets.updateOne({ _id: 'simulator-token:live' }, { $set: { sealed } });
    const found = await resealSecrets({ database, config: BOTH });
    expect(found).toMatchObject({ resealed: 8, unreadable: 1 });
    expect(found.keys).toContainEqual({ keyId: 'lost', secrets: 1, configured: false });
    expect((await database.deploymentSecrets.findById('simulator-token:live').lean())?.sealed).toBe(sealed);
  });

  it('prints only counts on the command line', async () => {
    await fill(OLD);
    const env = {
      MONGODB_URI: uri,
      ENCRYPTION_KEYS: `${keyText('new')},${keyText('old')}`,
      API_KEY_PEPPER: likeASecret('pepper'),
    };
    const { code, stdout, stderr } = await runAdmin(['secrets', 'reseal', '--json'], env);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(JSON.parse(stdout)).toEqual({
      resealed: 9,
      unreadable: 0,
      keys: [
        { key_id: 'new', secrets: 9, state: 'encrypts new secrets' },
        { key_id: 'old', secrets: 0, state: 'unused: may be removed' },
      ],
    });
    await expectAllReadable(NEW);
    const removed = { ...env, ENCRYPTION_KEYS: keyText('third') };
    const failed = await runAdmin(['secrets', 'reseal'], removed);
    expect(failed).toMatchObject({ code: 1, stderr: expect.stringMatching(/9 secrets cannot be read/) as string });
    expect(failed.stdout).toContain('add the key again');
    for (const text of [stdout, failed.stdout, failed.stderr]) expect(text).not.toMatch(/Bearer|AAAA|acct_/);
  });
});
