import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { eventually } from '../../support/http/harness.js';
import { freePort, startRole } from '../../support/role-process';
import { startGate } from '../voice/support/gate';

const HEALTHCHECK = join(__dirname, '../../../dist/deploy/healthcheck.js');

describe('a worker process', () => {
  let worker: Awaited<ReturnType<typeof startRole>>;
  let temporal: Awaited<ReturnType<typeof startGate>>;
  let env: Record<string, string>;

  beforeAll(async () => {
    temporal = await startGate(String(process.env.TEST_TEMPORAL_ADDRESS));
    const id = randomUUID();
    env = {
      NODE_ENV: 'test',
      LOG_LEVEL: 'silent',
      MONGODB_URI: `${process.env.TEST_MONGODB_URI}/worker_${id}`,
      TEMPORAL_ADDRESS: temporal.address,
      TEMPORAL_TASK_QUEUE: `worker-${id}`,
      WORKER_PORT: String(await freePort()),
    };
    worker = await startRole('worker', env);
  }, 120_000);
  afterAll(async () => {
    await worker.kill();
    await temporal.close();
  });

  const check = (path: string) =>
    fetch(`http://127.0.0.1:${env['WORKER_PORT']}${path}`, { signal: AbortSignal.timeout(3_000) }).then(
      async (response) => ({ status: response.status, body: await response.json() }),
      (error: Error) => ({ status: 0, body: error.name }),
    );

  /** The exit code of the image's health check. */
  const exitCode = () =>
    new Promise<number>((resolve) => {
      const options = { env: { PATH: process.env.PATH, ...env } };
      execFile(process.execPath, [HEALTHCHECK, 'worker'], options, (error) => resolve(Number(error?.code ?? 0)));
    });

  const READY = { status: 200, body: { status: 'ready', pollers: 'ok', temporal: 'ok' } };

  it('is ready while it asks Temporal for tasks', async () => {
    expect(await check('/health/live')).toEqual({ status: 200, body: { status: 'live' } });
    expect(await check('/health/ready')).toEqual(READY);
    expect(await exitCode()).toBe(0);
  });

  it('is neither live nor ready when it hangs, and the check of the image fails', async () => {
    process.kill(worker.pid ?? 0, 'SIGSTOP');
    try {
      expect((await check('/health/live')).status).toBe(0);
      expect(await exitCode()).toBe(1);
    } finally {
      process.kill(worker.pid ?? 0, 'SIGCONT');
    }
    await eventually(async () => (await check('/health/ready')).status === 200);
  }, 60_000);

  it('is live but not ready while Temporal is unavailable', async () => {
    temporal.shut();
    await eventually(async () => (await check('/health/ready')).status === 503);
    expect(await check('/health/ready')).toMatchObject({ body: { status: 'unavailable', temporal: 'away' } });
    expect(await check('/health/live')).toEqual({ status: 200, body: { status: 'live' } });
    temporal.open();
    await eventually(async () => (await check('/health/ready')).status === 200);
  }, 120_000);
});
