import { setTimeout as sleep } from 'node:timers/promises';
import { startService } from '../../support/http/harness.js';

describe('a process whose dependencies do not respond', () => {
  it('serves without Temporal, so load balancers send it the requests that need none', async () => {
    const service = await startService({ minDeadlineMs: 0, worker: false, env: { TEMPORAL_ADDRESS: '127.0.0.1:9' } });
    try {
      const { liveKey } = await service.customer();
      expect((await service.request('/health/ready')).status).toBe(503);
      expect((await service.request('/health/serving')).json).toEqual({ status: 'serving' });
      expect((await service.request('/balance', { key: liveKey })).status).toBe(200);
    } finally {
      // Waits because Temporal's client may be about to try again and would throw if its channel closed now.
      await sleep(3_000);
      await service.close();
    }
  });

  it('serves without MongoDB', async () => {
    const service = await startService({ minDeadlineMs: 0, worker: false });
    await service.database.close();
    expect((await service.request('/health/ready')).status).toBe(503);
    expect((await service.request('/health/serving')).status).toBe(200);
    await service.close({ databaseIsClosed: true });
  });
});
