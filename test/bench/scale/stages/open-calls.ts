import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { DETAILS_QUERY } from '../../../../src/kernel/call-signals.js';
import { startBareService } from '../../bare/bare-service.js';
import { percentile } from '../../figures.js';
import { figureOf, type Figure, type Limit } from '../../report/figure.js';
import type { RowContext } from '../../rows/row.js';
import { inParallel } from '../../rows/side.js';
import { usedBytes } from '../../stack/used-bytes.js';
import { REPORT_EVERY_MS } from '../carrier/protocol.js';
import { readParts } from '../parts.js';
import { startScaleService, type ScaleService, type ScaleWorker } from '../scale-service.js';
import { readCacheFigures, type CacheFigures } from '../sdk-metrics.js';
import { readEvents, signalTimes } from '../signal-times.js';
import { followCalls } from '../load.js';
import { SIGNAL_LIMIT_MS, type Stage } from './stage.js';

const LANES = 8;
/** The most calls whose signals are timed. */
const SAMPLE = 200;
const WARM_UP = 20;
/** The share of the open calls that fits into the small cache. */
const SMALL_CACHE = 1 / 4;
const IDLE_MS = 30_000;
/** Room in the cache for the warm-up and a margin. */
const SPARE = 100;

interface Memory {
  emptyBytes: number;
  openBytes: number;
}

interface Handling {
  /** From the moment when Temporal has the signal, ms. */
  fromSignal: number[];
  /** From the moment when the carrier sends its callback, ms; empty for the baseline. */
  fromCallback: number[];
}

/** Memory and signals of many open calls, with a cache that holds all of them and with one that does not. */
export const openCalls: Stage = ({ calls }) => ({
  name: 'open-calls',
  about: 'memory of a worker with many open calls, and how soon a status signal is handled',
  withinMs: 900_000 + calls * 450,
  async run(context) {
    const bare = await measureBare(context, calls);
    const ours = await measureOurs(context, calls);
    return { figures: figuresOf(calls, bare, ours), details: { calls, bare, ours } };
  },
});

async function measureBare({ servers, say }: RowContext, calls: number) {
  const service = await startBareService(servers, {
    inspect: true,
    overAfterMs: 'never',
    maxCachedWorkflows: calls + SPARE,
  });
  const connection = await Connection.connect({ address: servers.temporalAddress });
  try {
    const { worker } = service.roles;
    await inParallel(WARM_UP, LANES, () => service.place());
    const emptyBytes = await usedBytes(worker);
    const open: string[] = [];
    say(`open-calls: opening ${calls} bare workflows`);
    await inParallel(calls, LANES, async () => void open.push(await service.place()));
    const memory: Memory = { emptyBytes, openBytes: await usedBytes(worker) };
    const sample = sampleOf(open, calls);
    for (const callId of sample) await Promise.all([service.over(callId), sleep(REPORT_EVERY_MS)]);
    const times = await timesOf(new Client({ connection }), sample, 'over');
    return { memory, ended: { fromSignal: times.map(({ ms }) => ms), fromCallback: [] } satisfies Handling };
  } finally {
    await connection.close();
    await service.stop();
  }
}

async function measureOurs({ servers, say }: RowContext, calls: number) {
  const service = await startScaleService(servers, { inspect: true, calls, maxCachedCalls: calls + SPARE });
  const [worker] = service.workers;
  if (worker === undefined) throw new Error('there is no worker');
  const followed = followCalls(service);
  const open: string[] = [];
  const add = async () => void open.push((await followed.placeAccepted()).callId);
  try {
    await service.carrier.follow({ answerMs: 0 });
    await service.ready();
    await inParallel(WARM_UP, LANES, () => followed.placeAccepted());
    const emptyBytes = await usedBytes(worker);
    const empty = await measureIdle(servers, service, worker);
    const sampled = Math.min(SAMPLE, Math.floor(calls / 5));
    say(`open-calls: opening ${calls} calls`);
    const began = performance.now();
    await inParallel(calls - sampled, LANES, add);
    // The last ones ring, so that their answers can be timed while the others are open.
    await service.carrier.follow({});
    await inParallel(sampled, LANES, add);
    const openSeconds = (performance.now() - began) / 1_000;
    await service.carrier.dialed(open);
    await sleep(1_000);
    const memory: Memory = { emptyBytes, openBytes: await usedBytes(worker) };
    const cache = await readCacheFigures(worker.metricsAddress, service.taskQueue);
    const answered = await handle(service, 'answer', open.slice(-sampled));
    say(`open-calls: ${IDLE_MS / 1_000} s with ${calls} calls and nothing else`);
    const idle = await measureIdle(servers, service, worker);
    const sample = new Set(sampleOf(open, calls));
    const ended = await handle(service, 'end', [...sample]);
    say('open-calls: a worker with a cache for a quarter of the calls');
    const left = open.filter((callId) => !sample.has(callId));
    const small = await measureSmallCache(service, left, calls);
    assertNoFailures(service);
    return { memory, openSeconds, cache, empty, answered, idle, ended, small };
  } finally {
    followed.stop();
    await service.stop();
  }
}

/** Lets the carrier report to some calls, and times the handling. */
async function handle(service: ScaleService, act: 'answer' | 'end', callIds: string[]): Promise<Handling> {
  const sent = new Map((await service.carrier[act](callIds)).map(({ callId, sentAt }) => [callId, sentAt]));
  await sleep(2_000);
  const times = await timesOf(service.client, callIds, 'carrier');
  return {
    fromSignal: times.map(({ ms }) => ms),
    fromCallback: times.map(({ callId, handledAt }) => handledAt - (sent.get(callId) ?? Number.NaN)),
  };
}

/** Reads how long the last signal of this name took in each call. */
async function timesOf(client: Client, callIds: readonly string[], name: string) {
  const times: { callId: string; ms: number; handledAt: number }[] = [];
  for (const callId of callIds) {
    const last = signalTimes(await readEvents(client, callId)).findLast(({ signal }) => signal === name);
    if (last === undefined) throw new Error(`the signal of ${callId} was not handled`);
    times.push({ callId, ms: last.handledAt - last.receivedAt, handledAt: last.handledAt });
  }
  return times;
}

/** CPU time of every part in some seconds in which only open calls do something, and the further holds that they made. */
async function measureIdle(servers: RowContext['servers'], service: ScaleService, worker: ScaleWorker) {
  const holds = async () => (await readCacheFigures(worker.metricsAddress, service.taskQueue)).holds;
  const [before, held] = [await readParts(servers, service), await holds()];
  await sleep(IDLE_MS);
  const after = await readParts(servers, service);
  return { cpu: after.since(before), holds: (await holds()) - held };
}

/** Replaces the worker by one with a small cache, asks every call once, so that the cache has been through all, and times signals. */
async function measureSmallCache(service: ScaleService, left: readonly string[], calls: number) {
  const [former] = service.workers.splice(0);
  await former?.stop(8_000);
  const maxCached = Math.max(1, Math.floor(calls * SMALL_CACHE));
  const worker = await service.startWorker({ WORKER_MAX_CACHED_CALLS: String(maxCached) });
  service.workers.push(worker);
  const queue = [...left];
  const began = performance.now();
  await inParallel(queue.length, LANES, async () => {
    const callId = queue.pop();
    if (callId !== undefined) await service.client.workflow.getHandle(callId).query(DETAILS_QUERY);
  });
  const asked = { calls: left.length, seconds: (performance.now() - began) / 1_000 };
  const queried = await readCacheFigures(worker.metricsAddress, service.taskQueue);
  const ended = await handle(service, 'end', sampleOf(left, calls));
  const cache = await readCacheFigures(worker.metricsAddress, service.taskQueue);
  return { maxCached, asked, queried, cache, ended };
}

/** Spreads the sample over all calls, so that it has old and new ones. */
function sampleOf(open: readonly string[], calls: number): string[] {
  const size = Math.min(SAMPLE, Math.floor(calls / 5));
  return Array.from({ length: size }, (_, index) => open[Math.floor((index * open.length) / size)] ?? '');
}

function assertNoFailures({ carrier: { failures } }: ScaleService): void {
  if (failures.length > 0) throw new Error(`the carrier stub had ${failures.length} failures: ${failures[0]}`);
}

type Bare = Awaited<ReturnType<typeof measureBare>>;
type Ours = Awaited<ReturnType<typeof measureOurs>>;

function figuresOf(calls: number, bare: Bare, ours: Ours): Figure[] {
  const megabytes = ({ openBytes }: Memory) => openBytes / 1_048_576;
  const perCall = ({ emptyBytes, openBytes }: Memory) => (openBytes - emptyBytes) / calls / 1_024;
  const p50 = (times: readonly number[]) => [percentile(times, 50)];
  const atMost = (limit: number, of: Limit['of']): Limit => ({ of, atMost: limit });
  const signal = (name: string, times: readonly number[]) =>
    figureOf({ name, unit: 'ms', ours: p50(times), limit: atMost(SIGNAL_LIMIT_MS, 'ours') });
  const { small } = ours;
  return [
    figureOf({
      name: `worker memory with ${calls} open calls`,
      unit: 'MB',
      bare: [megabytes(bare.memory)],
      ours: [megabytes(ours.memory)],
      limit: atMost(1.3, 'ratio'),
    }),
    figureOf({
      name: 'worker memory per open call',
      unit: 'kB',
      bare: [perCall(bare.memory)],
      ours: [perCall(ours.memory)],
      limit: atMost(1.3, 'ratio'),
    }),
    signal('signal of an answer, p50', ours.answered.fromSignal),
    {
      ...signal('signal of an end, p50', ours.ended.fromSignal),
      bare: figureOf({ name: '', unit: '', ours: p50(bare.ended.fromSignal) }).ours,
    },
    figureOf({ name: 'callback of an answer to its handling, p50', unit: 'ms', ours: p50(ours.answered.fromCallback) }),
    figureOf({ name: 'CPU of each further hold, all parts', unit: 'ms', ours: [cpuOfHold(ours)] }),
    ...smallCacheFigures(small),
    signal('signal of an end with a small cache, p50', small.ended.fromSignal),
  ];
}

function smallCacheFigures({ maxCached, asked, cache }: Ours['small']): Figure[] {
  const count = (name: string, value: number, limit?: Limit) =>
    figureOf({ name, unit: '', ours: [value], ...(limit && { limit }) });
  const none: Limit = { of: 'ours', atMost: 0 };
  const name = (what: keyof CacheFigures) => `small cache (${maxCached} of ${asked.calls}): ${what}`;
  return [
    count(name('evicted'), cache.evicted, { of: 'ours', atLeast: 1 }),
    count(name('replayed'), cache.replayed, { of: 'ours', atLeast: 1 }),
    count(name('failed'), cache.failed, none),
  ];
}

/** CPU time of a hold: what the parts used beyond what they use without calls. */
function cpuOfHold({ empty, idle }: Ours): number {
  const withoutCalls = (empty.cpu.all / empty.cpu.seconds) * idle.cpu.seconds;
  return (idle.cpu.all - withoutCalls) / idle.holds;
}
