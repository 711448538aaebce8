import { setTimeout as sleep } from 'node:timers/promises';
import type { BenchServers } from '../../stack/servers.js';
import { followCalls } from '../load.js';
import { readParts, type PartCpu } from '../parts.js';
import type { ScaleService } from '../scale-service.js';
import { COURSE } from './course.js';

/** Callers that each place the next call when the webhook of the last one has arrived. */
const CALLERS = [8, 16, 32, 64] as const;
const WARM_UP_MS = 5_000;
const MEASURED_MS = 20_000;
/** With time for the last calls to end. */
export const HIGHEST_RATE_MS = CALLERS.length * (WARM_UP_MS + MEASURED_MS + 30_000);

export interface RateRound {
  callers: number;
  callsPerSecond: number;
  calls: number;
  cpu: PartCpu;
}

/** Measures the rate of whole calls with more and more callers. */
export async function measureHighestRate(
  servers: BenchServers,
  service: ScaleService,
  say: (line: string) => void,
): Promise<RateRound[]> {
  await service.carrier.follow(COURSE);
  const rounds: RateRound[] = [];
  for (const callers of CALLERS) {
    say(`load: ${callers} callers`);
    rounds.push(await measureRate(servers, service, callers));
  }
  return rounds;
}

/** @param measuredMs how long the rate is measured, after a warm-up */
export async function measureRate(
  servers: BenchServers,
  service: ScaleService,
  callers: number,
  measuredMs = MEASURED_MS,
): Promise<RateRound> {
  const followed = followCalls(service);
  let isOver = false;
  const caller = async () => {
    while (!isOver) await followed.end(await followed.placeAccepted());
  };
  try {
    const running = Promise.all(Array.from({ length: callers }, caller));
    // An error of a caller ends the measurement at once.
    await Promise.race([sleep(WARM_UP_MS), running]);
    const [before, delivered] = [await readParts(servers, service), followed.delivered()];
    await Promise.race([sleep(measuredMs), running]);
    const [after, now] = [await readParts(servers, service), followed.delivered()];
    isOver = true;
    await running;
    const cpu = after.since(before);
    return { callers, calls: now - delivered, callsPerSecond: (now - delivered) / cpu.seconds, cpu };
  } finally {
    isOver = true;
    followed.stop();
  }
}
