import { startBareService } from '../bare/bare-service.js';
import { figureOf } from '../report/figure.js';
import { SILENT_CALLEE, startBenchService } from '../stack/service.js';
import { usedBytes } from '../stack/used-bytes.js';
import type { Row } from './row.js';
import { inParallel, placeUntilAccepted } from './side.js';

/** The calls that stay open, in each round. */
const CALLS = 100;
const WARM_UP = 50;
const CALLERS = 8;

export const memory: Row = {
  name: 'memory',
  about: 'memory of the worker per open call: ours rings, the baseline waits for its signal',
  async run({ servers, rounds, say }) {
    const bare = await startBareService(servers, { inspect: true, overAfterMs: 'never' });
    const service = await startBenchService(servers, { inspect: true, ringSeconds: 120 });
    const kilobytes: Record<'bare' | 'ours', number[]> = { bare: [], ours: [] };
    try {
      await service.firstCall();
      const workers = { bare: bare.roles.worker, ours: service.roles.worker };
      const open = { bare: () => bare.place(), ours: () => service.place(SILENT_CALLEE) };
      for (const name of ['bare', 'ours'] as const) await openCalls(open[name], WARM_UP);
      for (let round = 0; round < rounds; round += 1) {
        for (const name of ['bare', 'ours'] as const) {
          say(`memory: ${name}, round ${round + 1}`);
          const worker = workers[name];
          const before = await usedBytes(worker);
          await openCalls(open[name], CALLS);
          kilobytes[name].push(((await usedBytes(worker)) - before) / CALLS / 1_024);
        }
      }
    } finally {
      await bare.stop();
      await service.stop();
    }
    const limit = { of: 'ratio' as const, atMost: 1.3 };
    return { figures: [figureOf({ name: 'worker memory per open call', unit: 'kB', ...kilobytes, limit })] };
  },
};

function openCalls(place: () => Promise<string>, calls: number): Promise<void> {
  return inParallel(calls, CALLERS, () => placeUntilAccepted(place));
}
