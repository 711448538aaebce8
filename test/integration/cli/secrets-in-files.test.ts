import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApiKeys } from '../../../src/identity/api-keys/api-keys.js';
import { createIndexes } from '../../../src/platform/mongo/indexes.js';
import { openDatabase, type Database } from '../../../src/database.js';
import { SECRET_ACCESS_KEY } from '../../support/object-storage/credentials.js';
import { createTestBucket, variablesOf, type TestBucket } from '../../support/object-storage/bucket.js';
import { likeASecret } from '../../support/production.js';
import { issueCertificate, startTlsFrontend } from '../../support/temporal-tls.js';
import { runAdmin } from './support/run-cli.js';

const NAME = 'temporal.test';
const PEPPER = likeASecret('pepper');
const ENCRYPTION_KEY = Buffer.from(likeASecret('encryption'), 'hex').toString('base64');

let folder: string;
let frontend: Awaited<ReturnType<typeof startTlsFrontend>>;
let bucket: TestBucket;
let database: Database;
let uri: string;
let env: Record<string, string>;

async function fileWith(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, `${text}\n`);
  return path;
}

/** Gives the command every secret as Kubernetes does: in files only. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'callwright-cli-files-'));
  uri = `${process.env.TEST_MONGODB_URI}/files_${randomUUID().slice(0, 8)}`;
  database = await openDatabase(uri);
  await createIndexes(database);
  bucket = await createTestBucket();
  const authority = await issueCertificate(folder, { file: 'authority', name: 'Test authority' });
  const server = await issueCertificate(folder, { file: 'server', name: NAME, issuer: authority });
  const client = await issueCertificate(folder, { file: 'client', name: 'callwright', issuer: authority });
  frontend = await startTlsFrontend({ temporal: String(process.env.TEST_TEMPORAL_ADDRESS), server, authority });
  const { RECORDING_S3_SECRET_ACCESS_KEY: _, ...store } = variablesOf(bucket.name);
  env = {
    ...store,
    MONGODB_URI_FILE: await fileWith('mongodb', uri),
    API_KEY_PEPPER_FILE: await fileWith('pepper', PEPPER),
    ENCRYPTION_KEYS_FILE: await fileWith('keys', `first:${ENCRYPTION_KEY}`),
    RECORDING_S3_SECRET_ACCESS_KEY_FILE: await fileWith('s3', SECRET_ACCESS_KEY),
    TEMPORAL_ADDRESS: frontend.address,
    TEMPORAL_TLS: 'true',
    TEMPORAL_TLS_SERVER_NAME: NAME,
    TEMPORAL_TLS_CERT_FILE: client.cert,
    TEMPORAL_TLS_KEY_FILE: client.key,
    TEMPORAL_TLS_CA_FILE: authority.cert,
  };
}, 60_000);
afterAll(async () => {
  frontend.close();
  bucket.close();
  await database.connection.dropDatabase();
  await database.close();
  await rm(folder, { recursive: true });
});

async function json(...args: string[]): Promise<Record<string, unknown>> {
  const { code, stdout, stderr } = await runAdmin([...args, '--json'], env);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout) as Record<string, unknown>;
}

describe('callwright admin with its secrets in files', () => {
  it('makes keys that the service accepts, knows the encryption keys, and erases through Temporal', async () => {
    const accountId = String((await json('accounts', 'create', 'Acme')).account_id);
    const { api_key: apiKey } = await json('keys', 'create', accountId, '--name', 'ci');
    const keys = createApiKeys({ database, pepper: PEPPER });
    expect((await keys.authenticate(String(apiKey)))?.account._id).toBe(accountId);
    expect(await json('secrets', 'reseal')).toMatchObject({ unreadable: 0, keys: [{ key_id: 'first' }] });
    expect(await json('erase', '--account', accountId, '--confirm')).toMatchObject({ workflows_left: 0 });
    expect(await database.accounts.exists({ _id: accountId })).toBeNull();
  });

  it('fails if a secret is set, too, and names both variables but no secret', async () => {
    const { code, stdout, stderr } = await runAdmin(['accounts', 'list'], { ...env, MONGODB_URI: uri });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('MONGODB_URI_FILE and MONGODB_URI are both set: remove one.');
    expect(stderr).not.toContain(uri);
  });

  it('fails if a file cannot be read', async () => {
    const { code, stderr } = await runAdmin(['accounts', 'list'], { ...env, MONGODB_URI_FILE: join(folder, 'none') });
    expect(code).toBe(1);
    expect(stderr).toContain('MONGODB_URI_FILE names a file that cannot be read (ENOENT).');
  });
});
