import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CPU_PARTS, type CpuPart, type PartCpu } from '../scale/parts.js';
import type { ScalingFigures } from './figures.js';

const FILE = join(__dirname, 'figures.json');
const MEGABYTE = 1_048_576;
/** Processes that waited for each core before the run: with fewer, the machine was quiet. */
const IDLE_LOAD = 0.5;

type PerCall = Omit<ScalingFigures['hold'], 'cpuMs' | 'historyBytes'> & { bytes: number };

/** The parts of a result of `npm run bench -- --scale` that the model needs. */
interface ScaleRun {
  machine: {
    at: string;
    commit: string;
    node: string;
    cpu: string;
    cores: number;
    gigabytes: number;
    servers: string;
    loadBefore: number;
  };
  results: {
    'answered-call': { details: { call: PerCall; hold: PerCall } };
    'open-calls': {
      details: {
        calls: number;
        ours: {
          memory: { emptyBytes: number; openBytes: number };
          empty: { cpu: PartCpu };
          idle: { cpu: PartCpu; holds: number };
        };
      };
    };
    load: {
      details: {
        rounds: { callsPerSecond: number; calls: number; cpu: PartCpu }[];
        soak: { calls: number; cpu: PartCpu; samples: Record<string, number[]> };
        stored: { documents: number; bytes: number };
      };
    };
  };
}

/** Calls that are open when the memory of an empty worker is read. */
const WARM_UP = 20;

/**
 * Builds the inputs of the model from a result.
 * @param smaller a result with fewer open calls, which the model is checked against
 * @param known figures that other benchmarks measure
 */
export function figuresOfRun(
  run: ScaleRun,
  smaller: Pick<ScaleRun, 'results'>,
  known: Pick<ScalingFigures, 'media' | 'holdsPerSecondOfAccount'>,
): ScalingFigures {
  const { machine, results } = run;
  const { call, hold } = results['answered-call'].details;
  const { calls, ours } = results['open-calls'].details;
  const { rounds, soak, stored } = results.load.details;
  const byRate = rounds.toSorted((a, b) => a.callsPerSecond - b.callsPerSecond);
  // The model starts from one rate and is checked with another.
  const [lowest, best] = [byRate[0], byRate.at(-1)];
  if (lowest === undefined || best === undefined || lowest === best)
    throw new Error('the result has fewer than two rates');
  const holdMs = (part: CpuPart) => {
    const withoutCalls = (ours.empty.cpu[part] / ours.empty.cpu.seconds) * ours.idle.cpu.seconds;
    return Math.max(0, ours.idle.cpu[part] - withoutCalls) / ours.idle.holds;
  };
  const check = smaller.results['open-calls'].details;
  const apiMemory = soak.samples['memory of the api, MB'] ?? [];
  return {
    measured: {
      on: machine.at.slice(0, 10),
      commit: machine.commit.slice(0, 12),
      machine: `${machine.cores} shared cores (${machine.cpu}), ${machine.gigabytes} GB, Node.js ${machine.node}, load ${machine.loadBefore.toFixed(1)} before the run`,
      servers: machine.servers,
    },
    call: {
      cpuMs: byPart((part) => lowest.cpu[part] / lowest.calls),
      ...costOf(call),
      storedDocuments: rounded(stored.documents),
      storedBytes: Math.round(stored.bytes),
    },
    hold: { cpuMs: byPart(holdMs), ...costOf(hold) },
    workerMemory: [
      { openCalls: WARM_UP, megabytes: Math.round(ours.memory.emptyBytes / MEGABYTE) },
      { openCalls: calls + WARM_UP, megabytes: Math.round(ours.memory.openBytes / MEGABYTE) },
    ],
    apiMegabytes: Math.round(apiMemory.at(-1) ?? Number.NaN),
    ...known,
    checks: {
      // With other work on the machine, the rate says nothing about its cores.
      ...(machine.loadBefore < IDLE_LOAD * machine.cores && {
        highestRate: {
          cores: rounded(machine.cores - best.cpu.load / best.cpu.seconds / 1_000),
          callsPerSecond: rounded(best.callsPerSecond),
        },
      }),
      soak: {
        callsPerSecond: rounded(soak.calls / soak.cpu.seconds),
        cores: rounded(soak.cpu.all / soak.cpu.seconds / 1_000),
      },
      workerMemory: {
        openCalls: check.calls + WARM_UP,
        megabytes: Math.round(check.ours.memory.openBytes / MEGABYTE),
      },
    },
  };
}

function costOf({ commands, events, bytes, transitions }: PerCall) {
  return { commands: rounded(commands), events, historyBytes: Math.round(bytes), transitions };
}

function byPart(of: (part: CpuPart) => number): Record<CpuPart, number> {
  return Object.fromEntries(CPU_PARTS.map((part) => [part, rounded(of(part))])) as Record<CpuPart, number>;
}

function rounded(value: number): number {
  return Number(value.toPrecision(3));
}

/** JSON has no such number, so the tables would show 0. @throws Error that names a number that is not finite */
function requireNumbers(value: unknown, path: string): void {
  if (typeof value === 'number' && !Number.isFinite(value)) throw new Error(`${path} is not a number`);
  if (typeof value !== 'object' || value === null) return;
  for (const [name, part] of Object.entries(value)) requireNumbers(part, `${path}.${name}`);
}

/** `npx tsx test/bench/scaling/take-figures.ts result.json smaller.json` writes the figures; then run `npm run structure`. */
function main([file, smallerFile]: string[]): void {
  // The check of the memory needs another run than the one that the model starts from.
  if (file === undefined || smallerFile === undefined) throw new Error('name two results, the second with fewer calls');
  const read = <T>(path: string) => JSON.parse(readFileSync(path, 'utf8')) as T;
  const known = read<ScalingFigures>(FILE);
  const { media, holdsPerSecondOfAccount } = known;
  const figures = figuresOfRun(read(file), read(smallerFile), { media, holdsPerSecondOfAccount });
  requireNumbers(figures, 'figures');
  writeFileSync(FILE, `${JSON.stringify(figures, null, 2)}\n`);
}

if (require.main === module) main(process.argv.slice(2));
