import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
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
function runSetup(into = database) {
  return promisify(execFile)(process.execPath, ['--import', 'tsx', join(ROOT, 'deploy', 'setup.ts')], {
    cwd: ROOT,
    timeout: 50_000,
    env: {
      PATH: process.env['PATH'],
      MONGODB_URI: `${process.env['TEST_MONGODB_URI']}/${into}`,
      TEMPORAL_ADDRESS: process.env['TEST_TEMPORAL_ADDRESS'],
      TEMPORAL_NAMESPACE: namespace,
    },
  });
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
});
