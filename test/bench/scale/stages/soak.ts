import { setTimeout as sleep } from 'node:timers/promises';
import { percentile } from '../../figures.js';
import { figureOf, type Figure } from '../../report/figure.js';
import { readResidentBytes } from '../../stack/cpu.js';
import type { BenchServers } from '../../stack/servers.js';
import { growthOf, type Growth } from '../growth.js';
import { atRate, followCalls, type FollowedCalls } from '../load.js';
import { readParts, type PartCpu } from '../parts.js';
import type { ScaleService } from '../scale-service.js';
import { readBacklog } from '../backlog.js';
import { COURSE } from './course.js';

/** The samples of a soak, about this many. */
const SAMPLES = 120;
const SHORTEST_INTERVAL_MS = 5_000;
/** A shorter soak is mostly warm-up, so its growth is shown but not judged. */
const JUDGED_FROM_MINUTES = 10;

/** The series of a soak, each with the smallest rise that matters. */
const SERIES = {
  'memory of the worker, MB': 16,
  'memory of the api, MB': 16,
  'start, p50, ms': 10,
  'end to webhook, p50, ms': 10,
  'calls in flight': 4,
  'tasks that wait': 4,
} as const;
type SeriesName = keyof typeof SERIES;

export interface Soaked {
  rate: number;
  calls: number;
  rejected: number;
  /** Calls without a webhook some minutes after the soak. */
  lost: number;
  startMs: { p50: number; p99: number };
  afterEndMs: { p50: number; p99: number };
  samples: Record<SeriesName, number[]>;
  growth: Record<SeriesName, Growth>;
  cpu: PartCpu;
}

/** Places calls at a constant rate, and takes samples at equal intervals. */
export async function soak(
  servers: BenchServers,
  service: ScaleService,
  { rate, minutes }: { rate: number; minutes: number },
): Promise<Soaked> {
  await service.carrier.follow(COURSE);
  const followed = followCalls(service);
  const ms = minutes * 60_000;
  const sampler = startSampler(service, followed, Math.max(SHORTEST_INTERVAL_MS, ms / SAMPLES));
  try {
    const before = await readParts(servers, service);
    await atRate(rate, ms, () => followed.placeAccepted());
    const after = await readParts(servers, service);
    const samples = await sampler.stop();
    const lost = await followed.drain();
    const calls = [...followed.calls.values()];
    const growth = {} as Soaked['growth'];
    for (const name of Object.keys(SERIES) as SeriesName[]) growth[name] = growthOf(samples[name], SERIES[name]);
    return {
      rate,
      calls: calls.length,
      rejected: followed.responses.length - calls.length,
      lost,
      startMs: spreadOf(calls.map(({ startMs }) => startMs)),
      afterEndMs: spreadOf(calls.flatMap(({ delivery }) => delivery?.afterEndMs ?? [])),
      samples,
      growth,
      cpu: after.since(before),
    };
  } finally {
    followed.stop();
    await sampler.stop();
  }
}

export function spreadOf(times: readonly number[]): { p50: number; p99: number } {
  return { p50: percentile(times, 50), p99: percentile(times, 99) };
}

function startSampler(service: ScaleService, followed: FollowedCalls, everyMs: number) {
  const samples = {} as Record<SeriesName, number[]>;
  for (const name of Object.keys(SERIES) as SeriesName[]) samples[name] = [];
  const stopped = new AbortController();
  let [seenCalls, seenDeliveries] = [0, 0];
  let failure: unknown;

  async function take(): Promise<void> {
    const recent = [...followed.calls.values()].slice(seenCalls);
    // Those that arrived since the last sample, also of calls that were placed long before.
    const arrived = followed.deliveries.slice(seenDeliveries);
    seenCalls = followed.calls.size;
    seenDeliveries = followed.deliveries.length;
    const megabytes = async (pid: number) => (await readResidentBytes(pid)) / 1_048_576;
    const ofWorkers = await Promise.all(service.workers.map(({ pid }) => megabytes(pid)));
    const ends = arrived.flatMap(({ afterEndMs }) => afterEndMs ?? []);
    const backlog = await readBacklog(service);
    samples['memory of the worker, MB'].push(ofWorkers.reduce((sum, each) => sum + each, 0));
    samples['memory of the api, MB'].push(await megabytes(service.api.pid));
    samples['calls in flight'].push(followed.inFlight());
    samples['tasks that wait'].push(backlog);
    if (recent.length > 0)
      samples['start, p50, ms'].push(
        percentile(
          recent.map(({ startMs }) => startMs),
          50,
        ),
      );
    if (ends.length > 0) samples['end to webhook, p50, ms'].push(percentile(ends, 50));
  }

  const running = (async () => {
    while (!stopped.signal.aborted) {
      await sleep(everyMs, undefined, { signal: stopped.signal }).catch(() => undefined);
      if (!stopped.signal.aborted) await take().catch((error: unknown) => (failure ??= error));
    }
  })();
  return {
    async stop(): Promise<typeof samples> {
      stopped.abort();
      await running;
      if (failure !== undefined) throw failure;
      return samples;
    },
  };
}

export function soakFigures(soaked: Soaked, minutes: number): Figure[] {
  const { calls, rejected, lost, startMs, afterEndMs, growth } = soaked;
  const judged = minutes >= JUDGED_FROM_MINUTES;
  const none = { of: 'ours', atMost: 0 } as const;
  const count = (name: string, value: number, isJudged = true) =>
    figureOf({ name, unit: '', ours: [value], ...(isJudged && { limit: none }) });
  return [
    figureOf({ name: 'soak: rate', unit: 'calls/s', ours: [soaked.rate] }),
    count('soak: calls', calls, false),
    count('soak: rejected requests', rejected),
    count('soak: calls without a webhook', lost),
    figureOf({ name: 'soak: start, p50', unit: 'ms', ours: [startMs.p50] }),
    figureOf({ name: 'soak: end to webhook, p50', unit: 'ms', ours: [afterEndMs.p50] }),
    ...(Object.entries(growth) as [SeriesName, Growth][]).map(([name, { thirds, grows }]) => ({
      // The ratio of the last third to the first one is shown, and decides together with the levelling off.
      ...figureOf({ name: `soak: ${name}, last third to first`, unit: '', bare: [thirds[0]], ours: [thirds[2]] }),
      ...(judged && growth[name].judged && { met: !grows }),
    })),
  ];
}
