import { setTimeout as sleep } from 'node:timers/promises';
import { rm } from 'node:fs/promises';
import { PID_GROUPS, readRuntime, type Runtime } from '../../../src/dev/runtime-file.js';
import { launch, newDataFolder, type Launched } from '../../support/dev-stack.js';

jest.setTimeout(240_000);

const STOP_WITHIN_MS = 10_000;

describe('the launcher', () => {
  let first: Launched;
  let runtime: Runtime;
  const otherLaunchers: Launched[] = [];

  const launchAnother = async (options?: Parameters<typeof launch>[0]) => {
    const launched = await launch(options);
    otherLaunchers.push(launched);
    return launched;
  };

  beforeAll(async () => {
    first = await launch();
    runtime = await first.runtime();
  });
  afterEach(async () => {
    for (const other of otherLaunchers.splice(0)) await other.destroy();
  });
  afterAll(() => first.destroy());

  it('writes all addresses, keys and process ids to runtime.json', async () => {
    expect(Object.keys(runtime).join(' ')).toBe(
      'base_url stream_url portal_url carrier_url temporal_address temporal_ui_url mongodb_uri live_api_key ' +
        'test_api_key agent_id carrier_account_sid carrier_auth_token test_carrier_account_sid ' +
        'test_carrier_auth_token webhook_inbox_url pids',
    );
    expect(runtime.live_api_key).toMatch(/^sk_live_/);
    expect(runtime.test_api_key).toMatch(/^sk_test_/);
    expect(runtime.pids.media).toHaveLength(2);
    for (const group of ['api', 'worker', 'simulator', 'temporal', 'mongodb'] as const) {
      expect(runtime.pids[group]).toHaveLength(1);
    }
    for (const url of [runtime.portal_url, runtime.temporal_ui_url, runtime.webhook_inbox_url]) {
      await expect(fetch(url)).resolves.toMatchObject({ ok: true });
    }
    await expect(statusOfUnknownCall(runtime)).resolves.toBe(404);
  });

  it('prints a test call of the person who answers the demo agent, and the log-in of the portal', async () => {
    const printed = first.output();
    const command = /curl -s -X POST \S+outbound_call[^]*?}'/.exec(printed)?.[0];
    expect(command).toContain(`Bearer ${runtime.test_api_key}`);
    expect(command).toContain('+12025550111');
    expect(printed).toMatch(/portal log-in {2}demo@callwright\.local\n {2}password {7}[\w-]{16} \(shown this once\)/);
    const home = await fetch(`${runtime.base_url}/`, { redirect: 'manual' });
    expect([home.status, home.headers.get('Location')]).toEqual([302, '/portal']);
  });

  it('rejects a second start, and a reset, on the data folder that it uses', async () => {
    const second = await launchAnother({ dataFolder: first.dataFolder });
    await expect(second.exited).resolves.toBe(1);
    expect(second.output()).toContain(`as process ${first.child.pid}`);
    const reset = await launchAnother({ command: 'reset', dataFolder: first.dataFolder });
    await expect(reset.exited).resolves.toBe(1);
    await expect(statusOfUnknownCall(runtime)).resolves.toBe(404);
  });

  it('runs beside another launcher on another data folder', async () => {
    const second = await launchAnother();
    const secondRuntime = await second.runtime();
    for (const name of ['base_url', 'stream_url', 'carrier_url', 'temporal_address', 'mongodb_uri'] as const) {
      expect(secondRuntime[name]).not.toBe(runtime[name]);
    }
    await expect(statusOfUnknownCall(secondRuntime)).resolves.toBe(404);
    await expect(statusOfUnknownCall({ ...secondRuntime, live_api_key: runtime.live_api_key })).resolves.toBe(401);
  });

  it.each([...PID_GROUPS])('restarts a killed %s and stores its new pid', async (group) => {
    const [victim] = (await first.runtime()).pids[group];
    process.kill(victim ?? 0, 'SIGKILL');
    const isComplete = ({ pids }: Runtime) =>
      PID_GROUPS.every((name) => pids[name].length === (name === 'media' ? 2 : 1));
    const after = await first.runtime((now) => isComplete(now) && !now.pids[group].includes(victim ?? 0));
    for (const pid of after.pids[group]) expect(process.kill(pid, 0)).toBe(true);
    expect(first.output()).toContain(`(process ${victim}) ended with signal SIGKILL; restarting it`);
    await until(async () => (await statusOfUnknownCall(after)) === 404);
  });

  it('stops everything within 10 s of SIGTERM and leaves no process and no runtime.json', async () => {
    const second = await launchAnother();
    await second.runtime();
    expect((await second.processes()).length).toBeGreaterThan(7);
    const stopRequestedAt = Date.now();
    second.child.kill('SIGTERM');
    await expect(second.exited).resolves.toBe(0);
    expect(Date.now() - stopRequestedAt).toBeLessThan(STOP_WITHIN_MS);
    await expect(second.processes()).resolves.toEqual([]);
    await expect(readRuntime(second.dataFolder)).resolves.toBeUndefined();
  });

  it('stops everything within 20 s even if processes are to drain for long', async () => {
    const second = await launchAnother({ env: { DRAIN_DELAY_SECONDS: '60', MEDIA_DRAIN_SECONDS: '600' } });
    const { base_url } = await second.runtime();
    const stopRequestedAt = Date.now();
    second.child.kill('SIGTERM');
    await until(async () => (await fetch(`${base_url}/health/ready`)).status === 503);
    await expect(second.exited).resolves.toBe(0);
    expect(Date.now() - stopRequestedAt).toBeLessThan(20_000);
    await expect(second.processes()).resolves.toEqual([]);
  });

  it.each([300, 1_500, 3_000])('stops a start in progress after %i ms and leaves no process', async (afterMs) => {
    const second = await launchAnother();
    await sleep(afterMs);
    const stopRequestedAt = Date.now();
    second.child.kill('SIGINT');
    await second.exited;
    expect(Date.now() - stopRequestedAt).toBeLessThan(STOP_WITHIN_MS);
    await expect(second.processes()).resolves.toEqual([]);
  });

  it('leaves no process when it is killed, and its state is there at the next start', async () => {
    const dataFolder = await newDataFolder();
    try {
      const killed = await launchAnother({ dataFolder });
      const before = await killed.runtime();
      killed.child.kill('SIGKILL');
      await until(async () => (await killed.processes()).length === 0);
      const next = await launchAnother({ dataFolder });
      const after = await next.runtime(({ pids }) => pids.api[0] !== before.pids.api[0]);
      expect(after.live_api_key).toBe(before.live_api_key);
      expect(after.agent_id).toBe(before.agent_id);
      await until(() => Promise.resolve(next.output().includes('members reset-link demo@callwright.local')));
      await expect(statusOfUnknownCall(after)).resolves.toBe(404);
    } finally {
      for (const other of otherLaunchers.splice(0)) await other.destroy();
      await rm(dataFolder, { recursive: true, force: true });
    }
  });
});

/**
 * Asks for a call that does not exist. A 404 shows that the API, the key and the database work; a 401 shows that the
 * key is unknown.
 */
async function statusOfUnknownCall(runtime: Runtime): Promise<number> {
  const url = `${runtime.base_url}/outbound_call?call_id=call_00000000000000000000000000`;
  const response = await fetch(url, { headers: { authorization: `Bearer ${runtime.live_api_key}` } });
  await response.arrayBuffer();
  return response.status;
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 50_000;
  while (!(await condition().catch(() => false))) {
    if (Date.now() > deadline) throw new Error('The condition did not become true within 50 s.');
    await sleep(100);
  }
}
