import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client, Connection } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time';
import { SEARCH_ATTRIBUTES } from '../../../src/platform/temporal/search-attributes.js';
import { openDatabase } from '../../../src/database.js';

const ROOT = join(__dirname, '../../..');
const database = `setup_${randomUUID()}`;
const namespace = `setup-${randomUUID()}`;

/** Runs the setup that `docker compose` runs before the roles. */
function runSetup(
  into = database,
  temporalAddress = process.env['TEST_TEMPORAL_ADDRESS'],
  more: Record<string, string> = {},
) {
  return promisify(execFile)(process.execPath, ['--import', 'tsx', join(ROOT, 'deploy', 'setup.ts')], {
    cwd: ROOT,
    timeout: 50_000,
    env: {
      PATH: process.env['PATH'],
      MONGODB_URI: `${process.env['TEST_MONGODB_URI']}/${into}`,
      TEMPORAL_ADDRESS: temporalAddress,
      TEMPORAL_NAMESPACE: namespace,
      ...more,
    },
  });
}

/** Starts a server of gRPC that permits nothing, and keeps the namespace that the header of each request names. */
async function startStrictServer() {
  const namespaces = new Map<string, unknown>();
  const server = createServer();
  server.on('stream', (stream, { ':path': path = '', 'temporal-namespace': named }) => {
    namespaces.set(path.slice(path.lastIndexOf('/') + 1), named);
    // UNIMPLEMENTED, which the SDK accepts for its first request, or PERMISSION_DENIED.
    const status = path.endsWith('/GetSystemInfo') ? '12' : '7';
    stream.respond(
      { ':status': 200, 'content-type': 'application/grpc', 'grpc-status': status, 'grpc-message': 'not permitted' },
      { endStream: true },
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { address: `127.0.0.1:${port}`, namespaces, close: () => server.close() };
}

describe('deploy/setup', () => {
  let connection: Connection;
  beforeAll(async () => {
    connection = await Connection.connect({ address: process.env['TEST_TEMPORAL_ADDRESS'] ?? '' });
    await connection.workflowService.registerNamespace({
      namespace,
      workflowExecutionRetentionPeriod: msToTs('1 day'),
    });
  });
  afterAll(() => connection.close());

  it('builds the indexes, registers the search attributes, schedules the reconciler, and can be repeated', async () => {
    for (let run = 0; run < 2; run++) {
      const { stdout } = await runSetup();
      expect(stdout).toMatch(/MongoDB is prepared\.\n(?:.*\n)*Temporal is prepared\.\n$/);
    }
    const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
    expect(Object.keys(customAttributes ?? {})).toEqual(expect.arrayContaining(Object.keys(SEARCH_ATTRIBUTES)));
    const reconciler = new Client({ connection, namespace }).schedule.getHandle('reconcile-ledger');
    expect((await reconciler.describe()).policies.overlap).toBe('SKIP');
    await reconciler.delete();

    const prepared = await openDatabase(`${process.env['TEST_MONGODB_URI']}/${database}`);
    try {
      const attempt = { callId: 'call_1', number: 1, startedAt: new Date() };
      await prepared.webhookAttempts.create({ _id: 'a', ...attempt });
      await expect(prepared.webhookAttempts.create({ _id: 'b', ...attempt })).rejects.toMatchObject({ code: 11_000 });
    } finally {
      await prepared.connection.dropDatabase();
      await prepared.close();
    }
  });

  it('gives the namespace the retention of the configuration, and leaves it without one', async () => {
    const name = `setup_${randomUUID()}`;
    const days = async () => {
      const { config } = await connection.workflowService.describeNamespace({ namespace });
      return Number(config?.workflowExecutionRetentionTtl?.seconds) / 86_400;
    };
    expect(await days()).toBe(1);
    const { stdout } = await runSetup(name, undefined, { TEMPORAL_RETENTION_DAYS: '9' });
    expect(stdout).toContain(`Temporal now keeps the histories of ${namespace} for 9 days.`);
    expect(await days()).toBe(9);
    await runSetup(name);
    expect(await days()).toBe(9);
    await new Client({ connection, namespace }).schedule.getHandle('reconcile-ledger').delete();
    const prepared = await openDatabase(`${process.env['TEST_MONGODB_URI']}/${name}`);
    await prepared.connection.dropDatabase();
    await prepared.close();
  });

  it('takes the address of the database from a file', async () => {
    const name = `setup_${randomUUID()}`;
    const folder = await mkdtemp(join(tmpdir(), 'callwright-setup-'));
    const uri = `${process.env['TEST_MONGODB_URI']}/${name}`;
    const file = join(folder, 'mongodb');
    await writeFile(file, `${uri}\n`);
    const { stdout } = await runSetup(name, undefined, { MONGODB_URI: '', MONGODB_URI_FILE: file });
    expect(stdout).toContain('MongoDB is prepared.');
    const prepared = await openDatabase(uri);
    try {
      expect(Object.keys(await prepared.ledgerEntries.collection.indexInformation())).not.toEqual(['_id_']);
    } finally {
      const { schedule } = new Client({ connection, namespace });
      await schedule.getHandle('reconcile-ledger').delete();
      await prepared.connection.dropDatabase();
      await prepared.close();
      await rm(folder, { recursive: true });
    }
  });

  it('ends at once if waiting does not help', async () => {
    const name = `setup_${randomUUID()}`;
    const spoilt = await openDatabase(`${process.env['TEST_MONGODB_URI']}/${name}`);
    try {
      const attempts = ['a', 'b'].map((_id) => ({ _id, callId: 'call_1', number: 1, startedAt: new Date() }));
      await spoilt.webhookAttempts.create(attempts);
      const began = performance.now();
      await expect(runSetup(name)).rejects.toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/^MongoDB could not be prepared: .*duplicate key/i) as string,
      });
      expect(performance.now() - began).toBeLessThan(30_000);
    } finally {
      await spoilt.connection.dropDatabase();
      await spoilt.close();
    }
  });

  it('names the namespace where an endpoint for many namespaces looks for it, and ends at once if it may not list attributes', async () => {
    const temporal = await startStrictServer();
    try {
      await expect(runSetup(database, temporal.address)).rejects.toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/^Temporal could not be prepared: .*not permitted/i) as string,
      });
      expect(temporal.namespaces.get('ListSearchAttributes')).toBe(namespace);
    } finally {
      temporal.close();
      const prepared = await openDatabase(`${process.env['TEST_MONGODB_URI']}/${database}`);
      await prepared.connection.dropDatabase();
      await prepared.close();
    }
  });
});
