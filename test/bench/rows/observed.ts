import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createMediaBench, microsecondsPerFrame } from '../media/measure-media.js';
import { figureOf } from '../report/figure.js';
import { readCpu, readResidentBytes } from '../stack/cpu.js';
import { observeMetrics, observeTraces, type Observer } from '../stack/observers.js';
import type { BenchServers } from '../stack/servers.js';
import { startBenchService, type BenchService } from '../stack/service.js';
import { runCalls } from './calls.js';
import { requestsPerSecond } from './get.js';
import type { Row, RowContext } from './row.js';

const SIDES = ['bare', 'ours'] as const;
type Side = (typeof SIDES)[number];
/** Three rounds cannot tell 3 % from noise. */
const FEWEST_ROUNDS = 7;
const CALLS = 96;
const WARM_UP_CALLS = 24;
/** How long the reads of one side are measured before those of the other. */
const READING_MS = 1_000;
const READING_TURNS = 4;
const WARM_UP_MS = 2_000;
/** Of each of two media processes, which share a core. */
const MEDIA_CALLS = 100;
const PAUSE_MS = 500;
const MOST_MORE = 1.03;

type Rounds = Record<Side, number[]>;

/** Measures the cost of metrics. The baseline is the same service without them. */
export const metrics: Row = {
  name: 'metrics',
  about: 'cost of metrics, compared with the service without them',
  run: (context) => compare('metrics', context, async () => observeMetrics(context.servers.ports), MOST_MORE),
};

/** Measures the cost of traces of every request and call. Operators may choose a smaller share, so there is no limit. */
export const traces: Row = {
  name: 'traces',
  about: 'cost of traces of every call, compared with the service without them',
  run: (context) => compare('traces', context, observeTraces),
};

const newFigures = () => ({ ...serviceFigures(), frame: newRounds() });
const serviceFigures = () => ({
  callCpu: newRounds(),
  readCpu: newRounds(),
  calls: newRounds(),
  reads: newRounds(),
  memory: newRounds(),
});
const newRounds = (): Rounds => ({ bare: [], ours: [] });

async function compare(name: string, context: RowContext, observe: () => Promise<Observer>, atMost?: number) {
  const { servers, say } = context;
  const rounds = Math.max(context.rounds, FEWEST_ROUNDS);
  const observer = await observe();
  const figures = newFigures();
  const measurement = { servers, rounds, observer, say: (line: string) => say(`${name}: ${line}`) };
  try {
    await measureService(measurement, figures);
    await measureFrames(measurement, figures.frame);
  } finally {
    await observer.stop();
  }
  const cost = atMost === undefined ? {} : { limit: { of: 'ratio' as const, atMost } };
  const rate = atMost === undefined ? {} : { limit: { of: 'ratio' as const, atLeast: 2 - atMost } };
  return {
    figures: [
      figureOf({ name: `${name}: whole calls`, unit: 'calls/s', ...figures.calls, ...rate }),
      figureOf({ name: `${name}: CPU per call, api and worker`, unit: 'ms', ...figures.callCpu, ...cost }),
      figureOf({ name: `${name}: GET status`, unit: 'requests/s', ...figures.reads, ...rate }),
      figureOf({ name: `${name}: CPU per read, api`, unit: 'µs', ...figures.readCpu, ...cost }),
      figureOf({ name: `${name}: core per frame`, unit: 'µs', ...figures.frame, ...cost }),
      figureOf({ name: `${name}: memory, api and worker`, unit: 'MB', ...figures.memory }),
    ],
  };
}

interface Measurement {
  servers: BenchServers;
  rounds: number;
  observer: Observer;
  say: (line: string) => void;
}

/**
 * Measures both sides at the same time, because the speed of the machine changes: one after the other, sides that are equal
 * differ by 8 % per frame, and by much more per request. The side that begins first alternates.
 */
async function bothSides(round: number, measure: (side: Side) => Promise<void>): Promise<void> {
  await Promise.all((round % 2 === 0 ? SIDES : SIDES.toReversed()).map(measure));
}

async function measureService(
  { servers, rounds, observer, say }: Measurement,
  figures: ReturnType<typeof serviceFigures>,
) {
  const services: Record<Side, BenchService> = {
    bare: await startBenchService(servers),
    ours: await startBenchService(servers, { environment: () => observer.environment() }),
  };
  try {
    const reads = {} as Record<Side, () => Promise<string>>;
    for (const side of SIDES) {
      const service = services[side];
      const path = `/outbound_call?call_id=${await service.firstCall()}`;
      reads[side] = () => service.request('GET', path);
      await runCalls(service, WARM_UP_CALLS);
      await requestsPerSecond(reads[side], WARM_UP_MS);
    }
    for (let round = 0; round < rounds; round += 1) {
      say(`calls and reads, round ${round + 1}`);
      await bothSides(round, async (side) => {
        const { api, worker } = services[side].roles;
        const calling = await measured([api, worker], () => runCalls(services[side], CALLS));
        figures.callCpu[side].push(calling.cpuMs / CALLS);
        figures.calls[side].push(CALLS / calling.seconds);
      });
      await sleep(PAUSE_MS);
      const totals = await readInTurns(services, reads);
      for (const side of SIDES) {
        const { requests, seconds, cpuMs } = totals[side];
        figures.reads[side].push(requests / seconds);
        figures.readCpu[side].push((cpuMs * 1_000) / requests);
        const { api, worker } = services[side].roles;
        const bytes = (await readResidentBytes(api.pid)) + (await readResidentBytes(worker.pid));
        figures.memory[side].push(bytes / 1_048_576);
      }
      await sleep(PAUSE_MS);
    }
  } finally {
    for (const side of SIDES) await services[side].stop();
  }
}

/**
 * Measures reads in short turns. At the same time, four processes shared two cores, and single rounds differed by a third in
 * the CPU time of a read.
 */
async function readInTurns(services: Record<Side, BenchService>, reads: Record<Side, () => Promise<string>>) {
  const totals = {
    bare: { requests: 0, seconds: 0, cpuMs: 0 },
    ours: { requests: 0, seconds: 0, cpuMs: 0 },
  };
  for (let turn = 0; turn < READING_TURNS; turn += 1) {
    for (const side of turn % 2 === 0 ? SIDES : SIDES.toReversed()) {
      const { result, seconds, cpuMs } = await measured([services[side].roles.api], () =>
        requestsPerSecond(reads[side], READING_MS),
      );
      const total = totals[side];
      total.requests += result * seconds;
      total.seconds += seconds;
      total.cpuMs += cpuMs;
    }
  }
  return totals;
}

/** Returns the result of some work, how long it took, and the CPU time of these processes meanwhile. */
async function measured<T>(processes: readonly { pid: number }[], work: () => Promise<T>) {
  const pids = Object.fromEntries(processes.map(({ pid }) => [pid, pid]));
  const cpuMs = async () => Object.values(await readCpu(pids)).reduce((total, ms) => total + ms, 0);
  const before = await cpuMs();
  const began = performance.now();
  const result = await work();
  return { result, seconds: (performance.now() - began) / 1_000, cpuMs: (await cpuMs()) - before };
}

/** Measures the frames of two media processes, on the same core. */
async function measureFrames({ servers, rounds, observer, say }: Measurement, frame: Rounds) {
  const bench = await createMediaBench({
    calls: MEDIA_CALLS,
    mongodbUri: servers.mongodbUri(`media_${randomUUID()}`),
    temporalAddress: servers.temporalAddress,
    serverPids: Object.values(servers.pids).map(String),
  });
  try {
    for (let round = 0; round < rounds; round += 1) {
      say(`frames, round ${round + 1}`);
      await bothSides(round, async (side) => {
        const environment = side === 'ours' ? await observer.environment() : {};
        frame[side].push(microsecondsPerFrame(await bench.measureMedia(environment)));
      });
    }
  } finally {
    await bench.close();
  }
}
