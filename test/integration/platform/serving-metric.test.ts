import { randomUUID } from 'node:crypto';
import { eventually } from '../../support/http/harness.js';
import { freePort, spawnRole, startRole } from '../../support/role-process';

/** Returns the samples of the metrics of a process that say whether it serves. */
async function statesOf(port: string): Promise<string[]> {
  const response = await fetch(`http://127.0.0.1:${port}/metrics`).catch(() => undefined);
  const lines = (await response?.text())?.split('\n') ?? [];
  return lines.filter((line) => /^callwright_(?:serving|dependency_up)\{/.test(line)).toSorted();
}

async function environment(): Promise<Record<string, string>> {
  const id = randomUUID();
  return {
    NODE_ENV: 'test',
    LOG_LEVEL: 'silent',
    MONGODB_URI: `${process.env.TEST_MONGODB_URI}/serving_${id}`,
    TEMPORAL_ADDRESS: String(process.env.TEST_TEMPORAL_ADDRESS),
    TEMPORAL_TASK_QUEUE: `serving-${id}`,
    API_PORT: String(await freePort()),
    METRICS_PORT: String(await freePort()),
  };
}

it('an API process that waits for MongoDB does not serve, and says which server is down', async () => {
  const env = await environment();
  const port = String(env['METRICS_PORT']);
  const api = spawnRole('api', { ...env, MONGODB_URI: `mongodb://127.0.0.1:${await freePort()}/none` });
  try {
    await eventually(async () => (await statesOf(port)).length > 1, 20_000);
    expect(await statesOf(port)).toEqual([
      'callwright_dependency_up{dependency="mongodb"} 0',
      'callwright_serving{role="api"} 0',
    ]);
  } finally {
    await api.stop();
  }
}, 60_000);

it('an API process that drains does not serve, although it still responds', async () => {
  const env = await environment();
  const port = String(env['METRICS_PORT']);
  const api = await startRole('api', { ...env, DRAIN_DELAY_SECONDS: '3' });
  let stopped;
  try {
    expect(await statesOf(port)).toContain('callwright_serving{role="api"} 1');
    stopped = api.stop();
    await eventually(async () => (await statesOf(port)).includes('callwright_serving{role="api"} 0'), 3_000);
  } finally {
    await (stopped ?? api.stop());
  }
}, 60_000);
