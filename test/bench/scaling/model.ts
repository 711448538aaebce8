import type { CpuPart } from '../scale/parts.js';
import type { ScalingFigures } from './figures.js';

/** Choices and prices that nothing here has measured. */
export interface Assumptions {
  /** Mean length of a call, in seconds of talk. */
  talkSeconds: number;
  /** The share of a core that is used on average, so that peaks find room. */
  utilization: number;
  /** Open calls that one worker keeps in memory (`WORKER_MAX_CACHED_CALLS`). */
  cachedCalls: number;
  /** The most concurrent calls of one installation; more need several installations. */
  callsOfInstallation: number;
  /** Updates per second of one history shard of Temporal. Its updates are serial, so this follows from the time of a write. */
  updatesOfShard: number;
  /** USD for a core and for a GB of memory, per hour. */
  coreHour: number;
  gigabyteHour: number;
  /** Days for which Temporal keeps histories. */
  retentionDays: number;
}

/** The lead times before the ends of the first windows, after which the next window is held, in seconds of talk. */
const HOLDS_AFTER_SECONDS = [45, 225, 945, 3_825] as const;
/** Connections of a process to MongoDB: the pool, and the one of polls. The driver's own two or three are not counted. */
const CONNECTIONS_OF_PROCESS = 21;
const DAY_SECONDS = 86_400;
/** The time of each walk over records in a round of reconciliation. A round begins each minute. */
const WALK_SECONDS = 15;
/** The shard numbers that the model proposes are powers of two, and at least the one of the compose file. */
const FEWEST_SHARDS = 512;

export interface RoleNeed {
  cores: number;
  processes: number;
  gigabytes: number;
}

/** The needs of some number of concurrent calls, over all installations. */
export interface Needs {
  concurrentCalls: number;
  callsPerSecond: number;
  installations: number;
  api: RoleNeed;
  worker: RoleNeed;
  media: RoleNeed;
  /** Cores of the databases, as far as the benchmark's servers tell. */
  mongodbCores: number;
  temporalCores: number;
  mongodb: { commandsPerSecond: number; connections: number; gigabytesPerDay: number };
  temporal: { transitionsPerSecond: number; shards: number; historyGigabytes: number };
  /** Calls that reconciliation of one installation must compare per second of the time that a walk has in each minute. */
  comparedPerSecond: number;
  /** The fewest customer accounts that can have so many calls. */
  accounts: number;
  usdPerMinute: number;
}

/** Number of holds after the first one in a call of this length. */
export function furtherHolds(talkSeconds: number): number {
  return HOLDS_AFTER_SECONDS.filter((after) => talkSeconds > after).length;
}

/** CPU time of a whole call in one part, ms. */
export function cpuOfCall({ call, hold }: ScalingFigures, part: CpuPart, talkSeconds: number): number {
  return call.cpuMs[part] + furtherHolds(talkSeconds) * hold.cpuMs[part];
}

/** The rate at which all parts together use some cores fully. */
export function highestRate(figures: ScalingFigures, cores: number, talkSeconds = 0): number {
  const parts = Object.keys(figures.call.cpuMs) as CpuPart[];
  return (cores * 1_000) / parts.reduce((sum, part) => sum + cpuOfCall(figures, part, talkSeconds), 0);
}

/** The memory of a worker with some open calls in its cache, MB: a line through the measured ends. */
export function workerMegabytes({ workerMemory }: ScalingFigures, openCalls: number): number {
  const [first, last] = [workerMemory[0], workerMemory.at(-1)];
  if (first === undefined || last === undefined || first === last) throw new Error('two measurements are needed');
  const perCall = (last.megabytes - first.megabytes) / (last.openCalls - first.openCalls);
  return first.megabytes + perCall * (openCalls - first.openCalls);
}

/** Computes what some number of concurrent calls needs. */
export function needsOf(concurrentCalls: number, figures: ScalingFigures, assumed: Assumptions): Needs {
  const { talkSeconds, utilization, retentionDays } = assumed;
  const callsPerSecond = concurrentCalls / talkSeconds;
  const coresOf = (part: CpuPart) => (callsPerSecond * cpuOfCall(figures, part, talkSeconds)) / 1_000 / utilization;
  const per = (of: (cost: { commands: number; transitions: number; historyBytes: number }) => number) =>
    of(figures.call) + furtherHolds(talkSeconds) * of(figures.hold);
  const roles = rolesOf(concurrentCalls, figures, { ...assumed, api: coresOf('api'), worker: coresOf('worker') });
  const [mongodbCores, temporalCores] = [coresOf('mongodb'), coresOf('temporal')];
  const processes = roles.api.processes + roles.worker.processes + roles.media.processes;
  const transitionsPerSecond = callsPerSecond * per(({ transitions }) => transitions);
  // A reservation, the further holds and the settlement change the document of the account.
  const ledgerWrites = 2 + furtherHolds(talkSeconds);
  const all = [roles.api, roles.worker, roles.media];
  const cores = all.reduce((sum, role) => sum + role.cores, mongodbCores + temporalCores);
  const gigabytes = all.reduce((sum, role) => sum + role.gigabytes, 0);
  const installations = Math.ceil(concurrentCalls / assumed.callsOfInstallation);
  return {
    concurrentCalls,
    callsPerSecond,
    installations,
    ...roles,
    mongodbCores,
    temporalCores,
    mongodb: {
      commandsPerSecond: callsPerSecond * per(({ commands }) => commands),
      connections: processes * CONNECTIONS_OF_PROCESS,
      gigabytesPerDay: (callsPerSecond * DAY_SECONDS * figures.call.storedBytes) / 1e9,
    },
    temporal: {
      transitionsPerSecond,
      shards: shardsFor(transitionsPerSecond / installations, assumed),
      historyGigabytes: (callsPerSecond * DAY_SECONDS * retentionDays * per(({ historyBytes }) => historyBytes)) / 1e9,
    },
    comparedPerSecond: ((callsPerSecond / installations) * 60) / WALK_SECONDS,
    accounts: Math.ceil((callsPerSecond * ledgerWrites) / figures.holdsPerSecondOfAccount),
    usdPerMinute: (cores * assumed.coreHour + gigabytes * assumed.gigabyteHour) / (concurrentCalls * 60),
  };
}

function rolesOf(
  concurrentCalls: number,
  figures: ScalingFigures,
  p: Pick<Assumptions, 'utilization' | 'cachedCalls'> & { api: number; worker: number },
): Pick<Needs, 'api' | 'worker' | 'media'> {
  const { media } = figures;
  const workers = Math.max(Math.ceil(p.worker), Math.ceil(concurrentCalls / p.cachedCalls));
  const mediaCores = ((concurrentCalls / media.calls) * media.cores) / p.utilization;
  const api = Math.ceil(p.api);
  return {
    api: { cores: p.api, processes: api, gigabytes: (api * figures.apiMegabytes) / 1_024 },
    worker: {
      cores: p.worker,
      processes: workers,
      gigabytes: (workers * workerMegabytes(figures, concurrentCalls / workers)) / 1_024,
    },
    media: {
      cores: mediaCores,
      // A process gets no more calls than were measured.
      processes: Math.ceil(concurrentCalls / media.calls),
      gigabytes: (concurrentCalls * media.kilobytesPerCall) / 1_048_576,
    },
  };
}

/** The history shards of one installation: a power of two, with room for peaks. */
function shardsFor(transitionsPerSecond: number, { updatesOfShard, utilization }: Assumptions): number {
  const least = Math.max(FEWEST_SHARDS, transitionsPerSecond / (updatesOfShard * utilization));
  return 2 ** Math.ceil(Math.log2(least));
}

/** The CPU time of a call by part, and the cores that open calls of the assumed length use. */
export function costsOf(figures: ScalingFigures, { talkSeconds }: Pick<Assumptions, 'talkSeconds'>) {
  const parts = Object.keys(figures.call.cpuMs) as CpuPart[];
  return parts.map((part) => ({
    part,
    callMs: figures.call.cpuMs[part],
    holdMs: figures.hold.cpuMs[part],
    coresPerThousand: cpuOfCall(figures, part, talkSeconds) / talkSeconds,
  }));
}

/** A measurement beside what the model says, which knows only its inputs. */
export interface ModelCheck {
  name: string;
  unit: string;
  predicted: number;
  measured: number;
}

/** The measurements that the model must reproduce. */
export function checksOf(figures: ScalingFigures): ModelCheck[] {
  const { highestRate: rate, soak, workerMemory } = figures.checks;
  const ofRate = rate && {
    name: `highest rate with ${rate.cores} cores for all parts`,
    unit: 'calls/s',
    predicted: highestRate(figures, rate.cores),
    measured: rate.callsPerSecond,
  };
  const ofSoak = soak && {
    name: `cores in use at ${soak.callsPerSecond.toFixed(1)} calls per second`,
    unit: 'cores',
    predicted: soak.callsPerSecond / highestRate(figures, 1),
    measured: soak.cores,
  };
  return [
    ...(ofRate === undefined ? [] : [ofRate]),
    ...(ofSoak === undefined ? [] : [ofSoak]),
    {
      name: `memory of a worker with ${workerMemory.openCalls} open calls`,
      unit: 'MB',
      predicted: workerMegabytes(figures, workerMemory.openCalls),
      measured: workerMemory.megabytes,
    },
  ];
}
