import { figuresOfRun } from '../bench/scaling/take-figures.js';
import type { PartCpu } from '../bench/scale/parts.js';

const MEGABYTE = 1_048_576;

function cpuOf(ms: number, seconds: number): PartCpu {
  return { api: ms, worker: 2 * ms, mongodb: 3 * ms, temporal: 4 * ms, all: 10 * ms, load: 5_000, seconds };
}

function runWith(openCalls: number, openMegabytes: number, loadBefore = 0.2) {
  const cost = { commands: 28, events: 40, bytes: 6_000, transitions: 18 };
  return {
    machine: {
      at: '2026-11-27T10:00:00Z',
      commit: 'a'.repeat(40),
      node: 'v20',
      cpu: 'x',
      cores: 2,
      gigabytes: 8,
      servers: 's',
      loadBefore,
    },
    results: {
      'answered-call': { details: { call: cost, hold: { ...cost, commands: 5 } } },
      'open-calls': {
        details: {
          calls: openCalls,
          ours: {
            memory: { emptyBytes: 200 * MEGABYTE, openBytes: openMegabytes * MEGABYTE },
            empty: { cpu: cpuOf(100, 10) },
            // Of 600 ms, 300 ms would have been used without calls.
            idle: { cpu: cpuOf(600, 30), holds: 50 },
          },
        },
      },
      load: {
        details: {
          rounds: [
            { callsPerSecond: 4, calls: 80, cpu: cpuOf(2_000, 20) },
            { callsPerSecond: 5, calls: 100, cpu: cpuOf(3_000, 20) },
          ],
          soak: { calls: 240, cpu: cpuOf(6_000, 60), samples: { 'memory of the api, MB': [180, 190] } },
          stored: { documents: 11.6, bytes: 6_543.2 },
        },
      },
    },
  };
}

describe('the figures that the model starts from', () => {
  const known = { media: { calls: 200, cores: 0.5, kilobytesPerCall: 320 }, holdsPerSecondOfAccount: 150 };
  const figures = figuresOfRun(runWith(1_000, 400), runWith(300, 260), known);

  it('takes the cost of a call from the lowest rate, and that of a hold without the idle time', () => {
    expect(figures.call.cpuMs).toEqual({ api: 25, worker: 50, mongodb: 75, temporal: 100 });
    expect(figures.hold.cpuMs).toEqual({ api: 6, worker: 12, mongodb: 18, temporal: 24 });
    expect(figures.call).toMatchObject({
      commands: 28,
      historyBytes: 6_000,
      storedDocuments: 11.6,
      storedBytes: 6_543,
    });
  });

  it('checks the model with measurements that it does not use', () => {
    expect(figures.workerMemory).toEqual([
      { openCalls: 20, megabytes: 200 },
      { openCalls: 1_020, megabytes: 400 },
    ]);
    expect(figures.checks).toEqual({
      // The load itself used a quarter of a core.
      highestRate: { cores: 1.75, callsPerSecond: 5 },
      soak: { callsPerSecond: 4, cores: 1 },
      workerMemory: { openCalls: 320, megabytes: 260 },
    });
    expect(figures).toMatchObject(known);
  });

  it('leaves out the highest rate of a machine that had other work', () => {
    const busy = figuresOfRun(runWith(1_000, 400, 4), runWith(300, 260), known);
    expect(busy.checks).toEqual({ soak: figures.checks.soak, workerMemory: figures.checks.workerMemory });
    expect(busy.measured.machine).toContain('load 4.0 before the run');
  });
});
