import { setTimeout as sleep } from 'node:timers/promises';
import { CALL_ID_PATTERN } from '../../../src/kernel/ids.js';
import { expectError, startService } from '../../support/http/harness.js';

it('a failed readiness probe is not logged, because there is one every second, and a failed request is', async () => {
  const log: string[] = [];
  const service = await startService({
    minDeadlineMs: 0,
    worker: false,
    env: { TEMPORAL_ADDRESS: '127.0.0.1:9', LOG_LEVEL: 'warn' },
    onLog: (line) => void log.push(line),
  });
  try {
    const { liveKey } = await service.customer();
    expectError(await service.request('/health/ready'), 503, 'SERVICE_UNAVAILABLE');
    const placed = await service.place(liveKey, { to_phone_number: '+12025550100', instruction: 'Hello.' });
    expectError(placed, 503, 'SERVICE_UNAVAILABLE');
    const lines = log.map((line) => JSON.parse(line) as { msg: string; route?: string; callId?: string });
    expect(lines.map(({ msg, route }) => [msg, route])).toEqual([['service unavailable', '/outbound_call']]);
    // The call never began, and its id leads to what was stored about it.
    expect(lines[0]?.callId).toMatch(CALL_ID_PATTERN);
  } finally {
    // Waits because Temporal's client may be about to try again and would throw if its channel closed now.
    await sleep(3_000);
    await service.close();
  }
}, 60_000);
