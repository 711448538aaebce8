import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createMediaBench, microsecondsPerFrame } from '../media/measure-media.js';
import { figureOf, type Limit } from '../report/figure.js';
import { readCpu, readResidentBytes } from '../stack/cpu.js';
import { observeMetrics, observeTraces, type Observer } from '../stack/observers.js';
import type { BenchServers } from '../stack/servers.js';
import { startBenchService, type BenchService } from '../stack/service.js';
import { runCalls } from './calls.js';
import { countRequests, requestsPerSecond } from './get.js';
import type { Row, RowContext } from './row.js';

/** Two sides are equal, one started before and one after the observed side: their difference is the error of the row. */
const SIDES = ['before', 'ours', 'after'] as const;
type Side = (typeof SIDES)[number];
/** Three rounds cannot tell 3 % from noise. */
const FEWEST_ROUNDS = 7;
/** The calls or the time of reads of one side, before the next side is measured. */
const CALLS = 16;
const READING_MS = 1_000;
/** Turns of each side in a round: once as the first, the second and the third side. */
const TURNS = 3;
const WARM_UP_CALLS = 24;
const WARM_UP_MS = 2_000;
/** Of each of the media processes, which share a core. */
const MEDIA_CALLS = 70;
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
const newRounds = (): Rounds => ({ before: [], ours: [], after: [] });

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
  const cost: Limit | undefined = atMost === undefined ? undefined : { of: 'ratio', atMost };
  const rate: Limit | undefined = atMost === undefined ? undefined : { of: 'ratio', atLeast: 2 - atMost };
  const compared = [
    compareSides(`${name}: whole calls`, 'calls/s', figures.calls, rate),
    compareSides(`${name}: CPU per call, api and worker`, 'ms', figures.callCpu, cost),
    compareSides(`${name}: GET status`, 'requests/s', figures.reads, rate),
    compareSides(`${name}: CPU per read, api`, 'µs', figures.readCpu, cost),
    compareSides(`${name}: core per frame`, 'µs', figures.frame, cost),
    compareSides(`${name}: memory, api and worker`, 'MB', figures.memory),
  ];
  return { figures: compared.map(({ figure }) => figure), notes: compared.map(({ note }) => note) };
}

/** Compares the observed side with the mean of the two equal sides, and says how much these differ. */
function compareSides(name: string, unit: string, { before, ours, after }: Rounds, limit?: Limit) {
  const bare = before.map((value, round) => (value + (after[round] ?? Number.NaN)) / 2);
  const figure = figureOf({ name, unit, bare, ours, ...(limit && { limit }) });
  const { ratio } = figureOf({ name, unit, bare: before, ours: after });
  if (ratio === undefined) throw new Error(`${name}: the equal sides were not compared`);
  const [median, low, high] = [ratio.median, ratio.low, ratio.high].map((value) => value.toFixed(3));
  return { figure, note: `${name}, ratio of the two equal sides: ${median} (${low}–${high})` };
}

interface Measurement {
  servers: BenchServers;
  rounds: number;
  observer: Observer;
  say: (line: string) => void;
}

async function measureService(
  { servers, rounds, observer, say }: Measurement,
  figures: ReturnType<typeof serviceFigures>,
) {
  const services = {} as Record<Side, BenchService>;
  const reads = {} as Record<Side, () => Promise<string>>;
  try {
    for (const side of SIDES) {
      const service = await startBenchService(
        servers,
        side === 'ours' ? { environment: () => observer.environment() } : {},
      );
      services[side] = service;
      const path = `/outbound_call?call_id=${await service.firstCall()}`;
      reads[side] = () => service.request('GET', path);
    }
    for (const side of SIDES) {
      await runCalls(services[side], WARM_UP_CALLS);
      await requestsPerSecond(reads[side], WARM_UP_MS);
    }
    for (let round = 0; round < rounds; round += 1) {
      say(`calls and reads, round ${round + 1}`);
      const processesOf = (side: Side) => [services[side].roles.api, services[side].roles.worker];
      const calling = await measureTurns(round, processesOf, async (side) => {
        await runCalls(services[side], CALLS);
        return CALLS;
      });
      const reading = await measureTurns(
        round,
        (side) => [services[side].roles.api],
        (side) => countRequests(reads[side], READING_MS),
      );
      for (const side of SIDES) {
        figures.callCpu[side].push(calling[side].cpuMs / calling[side].times);
        figures.calls[side].push(calling[side].times / calling[side].seconds);
        figures.reads[side].push(reading[side].times / reading[side].seconds);
        figures.readCpu[side].push((reading[side].cpuMs * 1_000) / reading[side].times);
        const bytes = await Promise.all(processesOf(side).map(({ pid }) => readResidentBytes(pid)));
        figures.memory[side].push(bytes.reduce((sum, each) => sum + each, 0) / 1_048_576);
      }
    }
  } finally {
    for (const service of Object.values(services)) await service.stop();
  }
}

/**
 * Measures all sides in short turns, because the speed of the machine changes. At the same time, the processes of all sides
 * would share two cores, and single rounds differed by a third in the CPU time of a read.
 */
async function measureTurns(
  round: number,
  processesOf: (side: Side) => readonly { pid: number }[],
  act: (side: Side) => Promise<number>,
) {
  const newTotal = () => ({ times: 0, seconds: 0, cpuMs: 0 });
  const totals: Record<Side, ReturnType<typeof newTotal>> = {
    before: newTotal(),
    ours: newTotal(),
    after: newTotal(),
  };
  for (let turn = 0; turn < TURNS; turn += 1) {
    for (const side of orderOf(round, turn)) {
      const { result, seconds, cpuMs } = await measured(processesOf(side), () => act(side));
      const total = totals[side];
      total.times += result;
      total.seconds += seconds;
      total.cpuMs += cpuMs;
    }
  }
  return totals;
}

/** Returns the sides in one of the six possible orders. */
function orderOf(round: number, turn = 0): Side[] {
  const first = turn % SIDES.length;
  const rotated = [...SIDES.slice(first), ...SIDES.slice(0, first)];
  return round % 2 === 0 ? rotated : rotated.toReversed();
}

/** Returns the result of some work, how long it took, and the CPU time of these processes meanwhile and in the pause after it. */
async function measured<T>(processes: readonly { pid: number }[], work: () => Promise<T>) {
  const pids = Object.fromEntries(processes.map(({ pid }) => [pid, pid]));
  const cpuMs = async () => Object.values(await readCpu(pids)).reduce((total, ms) => total + ms, 0);
  const before = await cpuMs();
  const began = performance.now();
  const result = await work();
  const seconds = (performance.now() - began) / 1_000;
  // Spans are sent some time after the work that they describe.
  await sleep(PAUSE_MS);
  return { result, seconds, cpuMs: (await cpuMs()) - before };
}

/** Measures the frames of media processes at the same time on one core: one after the other, equal sides differ by 8 %. */
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
      const measureSide = async (side: Side) => {
        const environment = side === 'ours' ? await observer.environment() : {};
        frame[side].push(microsecondsPerFrame(await bench.measureMedia(environment)));
      };
      await Promise.all(orderOf(round).map(measureSide));
    }
  } finally {
    await bench.close();
  }
}
