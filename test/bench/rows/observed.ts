import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createMediaBench, microsecondsPerFrame } from '../media/measure-media.js';
import { figureOf } from '../report/figure.js';
import { readCpu } from '../stack/cpu.js';
import { observeMetrics, observeTraces, type Observer } from '../stack/observers.js';
import type { BenchServers } from '../stack/servers.js';
import { startBenchService, type BenchService } from '../stack/service.js';
import { runCalls } from './calls.js';
import { requestsPerSecond } from './get.js';
import type { Row, RowContext } from './row.js';

const SIDES = ['bare', 'ours'] as const;
const CALLS = 96;
const WARM_UP_CALLS = 24;
const READING_MS = 4_000;
const WARM_UP_MS = 2_000;
const MEDIA_CALLS = 200;
const PAUSE_MS = 500;
const MOST_MORE = 1.03;

type Rounds = Record<(typeof SIDES)[number], number[]>;
const newRounds = (): Rounds => ({ bare: [], ours: [] });

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

async function compare(name: string, context: RowContext, observe: () => Promise<Observer>, atMost?: number) {
  const { servers, rounds, say } = context;
  const observer = await observe();
  const figures: Record<'start' | 'read' | 'frame', Rounds> = {
    start: newRounds(),
    read: newRounds(),
    frame: newRounds(),
  };
  try {
    await measureService({ servers, rounds, observer, figures, say: (line) => say(`${name}: ${line}`) });
    await measureFrames({ servers, rounds, observer, figures, say: (line) => say(`${name}: ${line}`) });
  } finally {
    await observer.stop();
  }
  const limit = atMost === undefined ? {} : { limit: { of: 'ratio' as const, atMost } };
  return {
    figures: [
      figureOf({ name: `${name}: CPU per call, api and worker`, unit: 'ms', ...figures.start, ...limit }),
      figureOf({ name: `${name}: CPU per read, api`, unit: 'µs', ...figures.read, ...limit }),
      figureOf({ name: `${name}: core per frame`, unit: 'µs', ...figures.frame, ...limit }),
    ],
  };
}

interface Measurement<Name extends string> {
  servers: BenchServers;
  rounds: number;
  observer: Observer;
  figures: Record<Name, Rounds>;
  say: (line: string) => void;
}

async function measureService({ servers, rounds, observer, figures, say }: Measurement<'start' | 'read'>) {
  const services = {
    bare: await startBenchService(servers),
    ours: await startBenchService(servers, { environment: () => observer.environment() }),
  };
  try {
    const reads = {} as Record<(typeof SIDES)[number], () => Promise<string>>;
    for (const side of SIDES) {
      const service = services[side];
      const path = `/outbound_call?call_id=${await service.firstCall()}`;
      reads[side] = () => service.request('GET', path);
      await runCalls(service, WARM_UP_CALLS);
      await requestsPerSecond(reads[side], WARM_UP_MS);
    }
    for (let round = 0; round < rounds; round += 1) {
      say(`calls and reads, round ${round + 1}`);
      for (const side of SIDES) {
        const service = services[side];
        const calling = await cpuOf(service, ['api', 'worker'], () => runCalls(service, CALLS));
        figures.start[side].push(calling.cpuMs / CALLS);
        let count = 0;
        const reading = await cpuOf(service, ['api'], async () => {
          const read = async () => {
            await reads[side]();
            count += 1;
          };
          await requestsPerSecond(read, READING_MS);
        });
        figures.read[side].push((reading.cpuMs * 1_000) / count);
        await sleep(PAUSE_MS);
      }
    }
  } finally {
    for (const side of SIDES) await services[side].stop();
  }
}

/** Returns the CPU time of these roles during some work. */
async function cpuOf({ roles }: BenchService, names: readonly ('api' | 'worker')[], work: () => Promise<unknown>) {
  const pids = Object.fromEntries(names.map((name) => [name, roles[name].pid]));
  const sum = (times: Record<string, number>) => Object.values(times).reduce((total, ms) => total + ms, 0);
  const before = sum(await readCpu(pids));
  await work();
  return { cpuMs: sum(await readCpu(pids)) - before };
}

async function measureFrames({ servers, rounds, observer, figures, say }: Measurement<'frame'>) {
  const bench = await createMediaBench({
    calls: MEDIA_CALLS,
    mongodbUri: servers.mongodbUri(`media_${randomUUID()}`),
    temporalAddress: servers.temporalAddress,
    serverPids: Object.values(servers.pids).map(String),
  });
  try {
    for (let round = 0; round < rounds; round += 1) {
      say(`frames, round ${round + 1}`);
      figures.frame.bare.push(microsecondsPerFrame(await bench.measureMedia()));
      figures.frame.ours.push(microsecondsPerFrame(await bench.measureMedia(await observer.environment())));
    }
  } finally {
    await bench.close();
  }
}
