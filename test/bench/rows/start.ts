import { setTimeout as sleep } from 'node:timers/promises';
import { startBareService } from '../bare/bare-service.js';
import { percentile } from '../figures.js';
import { figureOf } from '../report/figure.js';
import { startBenchService } from '../stack/service.js';
import type { Row } from './row.js';
import { placeUntilAccepted, repeat, type Side } from './side.js';

const STARTS = 30;
const WARM_UP = 10;
/** Time for a workflow to close after its webhook has arrived, so that starts do not overlap. */
const PAUSE_MS = 30;

export const start: Row = {
  name: 'start',
  about: 'how long a client waits for the response to a new call, with one caller',
  async run({ servers, rounds, say }) {
    const bare = await startBareService(servers);
    const service = await startBenchService(servers);
    const p50: Record<'bare' | 'ours', number[]> = { bare: [], ours: [] };
    try {
      await service.firstCall();
      await repeat(WARM_UP, () => timeStart(bare));
      await repeat(WARM_UP, () => timeStart(service));
      for (let round = 0; round < rounds; round += 1) {
        say(`start: round ${round + 1}`);
        const samples: Record<'bare' | 'ours', number[]> = { bare: [], ours: [] };
        for (let time = 0; time < STARTS; time += 1) {
          samples.bare.push(await timeStart(bare));
          samples.ours.push(await timeStart(service));
        }
        p50.bare.push(percentile(samples.bare, 50));
        p50.ours.push(percentile(samples.ours, 50));
      }
    } finally {
      await bare.stop();
      await service.stop();
    }
    const limit = { of: 'ratio' as const, atMost: 1.25 };
    return { figures: [figureOf({ name: 'start, one caller, p50', unit: 'ms', ...p50, limit })] };
  },
};

/** Returns how long the start of one call takes, and waits until the call is over. */
async function timeStart(side: Side): Promise<number> {
  const began = performance.now();
  const callId = await placeUntilAccepted(() => side.place());
  const took = performance.now() - began;
  await side.inbox.received(callId);
  await sleep(PAUSE_MS);
  return took;
}
