import { Registry } from 'prom-client';
import { createLogger } from '../../../src/platform/telemetry/logger.js';
import { startMetricsServer } from '../../../src/platform/telemetry/metrics/metrics-server.js';

const logger = createLogger({ role: 'test', level: 'silent' });

async function readiness(checkReadiness?: () => Promise<void>): Promise<number> {
  const server = await startMetricsServer({
    registry: new Registry(),
    host: '127.0.0.1',
    port: 0,
    logger,
    checkReadiness,
  });
  const { status } = await fetch(`http://127.0.0.1:${server.port}/health/ready`);
  server.close();
  return status;
}

it('a role that has another port for it does not say here whether it is ready', async () => {
  expect(await readiness()).toBe(404);
});

it('the exporter is ready while it can read the state', async () => {
  expect(await readiness(() => Promise.resolve())).toBe(200);
  expect(await readiness(() => Promise.reject(new Error('MongoDB does not respond.')))).toBe(503);
});
