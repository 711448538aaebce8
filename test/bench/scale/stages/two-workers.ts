import { figureOf } from '../../report/figure.js';
import { startScaleService } from '../scale-service.js';
import { measureRate } from './highest-rate.js';
import type { Stage } from './stage.js';

/** A dial and a webhook each take this long at the stub, and a worker has one slot for activities. */
const REQUEST_MS = 200;
const SLOTS = 1;
const CALLERS = 24;
const MEASURED_MS = 20_000;
const CALLS = 1_000;

/** How many calls two workers carry, compared with one, when the slots of a worker are the limit and not the processor. */
export const twoWorkers: Stage = () => ({
  name: 'two-workers',
  about: 'calls per second of two workers against one, each with one slot for activities of 200 ms',
  withinMs: 900_000,
  async run({ servers, rounds, say }) {
    const service = await startScaleService(servers, {
      calls: CALLS,
      maxCachedCalls: CALLS,
      activitySlots: SLOTS,
    });
    const perSecond: Record<'one' | 'two', number[]> = { one: [], two: [] };
    try {
      await service.carrier.follow({ answerMs: 0, talkMs: 100, requestMs: REQUEST_MS });
      await service.ready();
      for (let round = 0; round < rounds; round += 1) {
        for (const count of ['one', 'two'] as const) {
          say(`two-workers: ${count}, round ${round + 1}`);
          if (count === 'two') service.workers.push(await service.startWorker());
          const { callsPerSecond } = await measureRate(servers, service, CALLERS, MEASURED_MS);
          perSecond[count].push(callsPerSecond);
          if (count === 'two') await service.workers.pop()?.stop(8_000);
        }
      }
    } finally {
      await service.stop();
    }
    const limit = { of: 'ratio', atLeast: 1.6 } as const;
    const name = 'whole calls of two workers (bare: one)';
    return { figures: [figureOf({ name, unit: 'calls/s', bare: perSecond.one, ours: perSecond.two, limit })] };
  },
});
