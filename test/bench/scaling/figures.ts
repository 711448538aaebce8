import type { CpuPart } from '../scale/parts.js';

/** The measured figures, as `test/bench/scaling/figures.json` has them. */
export interface ScalingFigures {
  /** When and where it was measured. */
  measured: { on: string; commit: string; machine: string; servers: string };
  /** An answered call without audio, from the request to the webhook. */
  call: {
    /** CPU time in ms, at the highest rate. */
    cpuMs: Record<CpuPart, number>;
    /** Commands to the database. */
    commands: number;
    events: number;
    historyBytes: number;
    transitions: number;
    /** 0 before the first measurement. */
    storedDocuments: number;
    storedBytes: number;
  };
  /** Each further hold of a call adds this. */
  hold: { cpuMs: Record<CpuPart, number>; commands: number; events: number; historyBytes: number; transitions: number };
  /** The memory of a worker with some numbers of open calls, MB. The model is fitted to the first and the last one. */
  workerMemory: { openCalls: number; megabytes: number }[];
  /** The memory of an API process under load, MB. */
  apiMegabytes: number;
  /** A media process with recorded calls (`npm run bench:parts`). */
  media: { calls: number; cores: number; kilobytesPerCall: number };
  /** Holds per second of one ledger account that a test requires, with 10,000 open holds (`npm run bench:parts`). */
  holdsPerSecondOfAccount: number;
  /** Measurements that the model must reproduce. They are not among its inputs. */
  checks: {
    /** The highest rate of the machine with all parts on it; absent if other work used the machine, too. */
    highestRate?: { cores: number; callsPerSecond: number };
    /** A soak below the highest rate: the cores that all parts used together. Absent before the first soak. */
    soak?: { callsPerSecond: number; cores: number };
    workerMemory: { openCalls: number; megabytes: number };
  };
}
