import { setTimeout as sleep } from 'node:timers/promises';
import type { ShapeContext } from '../context.js';
import { createSteps, type Step } from '../deployment.js';
import type { Shape } from '../shape.js';
import { setConnected, type HostName } from './network.js';

/** A time in which a host was cut off. */
export interface Cut {
  host: HostName;
  from: number;
  to: number;
}

/** How long a host is cut off, in seconds, one time after the other. */
interface Plan {
  host: HostName;
  seconds: readonly number[];
}

/** How soon after a host is back everything should work as before. */
export const RECOVERED_AFTER_MS = 30_000;
/** How long calls are placed after that, before the next host is cut off. */
const QUIET_MS = { short: 10_000, long: 20_000 };

function plansOf(isShort: boolean): readonly Plan[] {
  const role = isShort ? [20] : [20, 40];
  return [
    { host: 'api-1', seconds: role },
    { host: 'worker-1', seconds: role },
    { host: 'media-1', seconds: role },
    { host: 'mongodb', seconds: [10] },
    { host: 'temporal', seconds: [10] },
  ];
}

/** Cuts off one host after the other while calls are placed. Nothing is restarted. */
export async function cutOffHosts(
  context: ShapeContext,
  shape: Shape,
  p: { owner: number; isShort: boolean; placed: () => number },
): Promise<{ steps: Step[]; cuts: Cut[] }> {
  const { signal } = context;
  const { steps, step } = createSteps(context, shape, p.placed);
  const cuts: Cut[] = [];
  const quietMs = p.isShort ? QUIET_MS.short : QUIET_MS.long;
  await step('all hosts are connected', () => sleep(quietMs, undefined, { signal }));
  for (const { host, seconds } of plansOf(p.isShort)) {
    for (const each of seconds) {
      await step(`${host} is cut off`, async () => {
        const from = Date.now();
        setConnected(p.owner, host, false);
        await sleep(each * 1_000, undefined, { signal });
        setConnected(p.owner, host, true);
        cuts.push({ host, from, to: Date.now() });
      });
      await step(`${host} is connected again`, () => sleep(RECOVERED_AFTER_MS, undefined, { signal }));
      await step('all is as before', () => sleep(quietMs, undefined, { signal }));
    }
  }
  return { steps, cuts };
}

/** Whether a time is after a cut that is over and forgotten, and before the next one. */
export function isQuiet(cuts: readonly Cut[], at: number): boolean {
  const isOver = ({ to }: Cut) => at >= to + RECOVERED_AFTER_MS;
  return cuts.some(isOver) && cuts.every((cut) => at < cut.from || isOver(cut));
}
