import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { startBareService } from '../bare/bare-service.js';
import { percentile } from '../figures.js';
import { figureOf, median, type Figure } from '../report/figure.js';
import { readCpu } from '../stack/cpu.js';
import type { BenchServers } from '../stack/servers.js';
import { startBenchService } from '../stack/service.js';
import type { Row } from './row.js';
import { inParallel, placeUntilAccepted, type Side } from './side.js';

const CALLERS = 8;
const CALLS = 96;
const WARM_UP = 24;
/**
 * Pause after each side. The last calls still send their webhooks, and Temporal's timers of workflow tasks fire 10 s later: their
 * CPU time would count for the other side.
 */
const REST_MS = 11_000;

/** The four parts whose CPU time counts; the baseline's client does the work of an API. */
type Part = 'api' | 'worker' | 'mongodb' | 'temporal';
const PARTS: readonly Part[] = ['api', 'worker', 'mongodb', 'temporal'];

interface Round {
  callIds: string[];
  callsPerSecond: number;
  startMs: number[];
  rejected: number;
  /** CPU time per call, ms. */
  cpu: Record<Part, number>;
}

export const wholeCalls: Row = {
  name: 'calls',
  about: `whole calls per second with ${CALLERS} callers, start under load, CPU time per call by role`,
  async run({ servers, rounds, say }) {
    const bare = await startBareService(servers);
    const service = await startBenchService(servers);
    const measured: Record<'bare' | 'ours', Round[]> = { bare: [], ours: [] };
    try {
      const pids = {
        bare: pidsOf(servers, bare.roles.client.pid, bare.roles.worker.pid),
        ours: pidsOf(servers, service.roles.api.pid, service.roles.worker.pid),
      };
      const sides = { bare, ours: service };
      await service.firstCall();
      for (const name of ['bare', 'ours'] as const) await runCalls(sides[name], WARM_UP);
      await sleep(REST_MS);
      for (let round = 0; round < rounds; round += 1) {
        for (const name of ['bare', 'ours'] as const) {
          say(`calls: ${name}, round ${round + 1}`);
          measured[name].push(await measure(sides[name], pids[name]));
          await sleep(REST_MS);
        }
      }
    } finally {
      await bare.stop();
      await service.stop();
    }
    const events = await countEvents(servers, measured);
    const note = `calls: events per call: bare ${events.bare}, ours ${events.ours}`;
    return { figures: figuresOf(measured), notes: [note] };
  },
};

/** Counts the events of the calls, so that a baseline that does less than the service is noticed. */
async function countEvents({ temporalAddress }: BenchServers, measured: Record<'bare' | 'ours', Round[]>) {
  const connection = await Connection.connect({ address: temporalAddress });
  const { workflow } = new Client({ connection });
  const ofSide = async (rounds: readonly Round[]) => {
    const events: number[] = [];
    for (const callId of rounds.flatMap(({ callIds }) => callIds))
      events.push((await workflow.getHandle(callId).describe()).historyLength);
    return `${median(events)} (${Math.min(...events)}–${Math.max(...events)})`;
  };
  try {
    return { bare: await ofSide(measured.bare), ours: await ofSide(measured.ours) };
  } finally {
    await connection.close();
  }
}

function pidsOf({ pids }: BenchServers, api: number, worker: number): Record<Part, number> {
  return { api, worker, ...pids };
}

async function measure(side: Side, pids: Record<Part, number>): Promise<Round> {
  const before = await readCpu(pids);
  const began = performance.now();
  const { callIds, startMs, rejected } = await runCalls(side, CALLS);
  const seconds = (performance.now() - began) / 1_000;
  const after = await readCpu(pids);
  const cpu = {} as Round['cpu'];
  for (const part of PARTS) cpu[part] = (after[part] - before[part]) / CALLS;
  return { callIds, callsPerSecond: CALLS / seconds, startMs, rejected, cpu };
}

/**
 * Runs calls with several callers. Each waits for the webhook before the next call. A caller whose request was
 * rejected with 503 repeats it, and its wait for a response counts from the first request.
 */
export async function runCalls(side: Side, calls: number): Promise<Pick<Round, 'callIds' | 'startMs' | 'rejected'>> {
  const callIds: string[] = [];
  const startMs: number[] = [];
  let rejected = 0;
  await inParallel(calls, CALLERS, async () => {
    const began = performance.now();
    const callId = await placeUntilAccepted(
      () => side.place(),
      () => (rejected += 1),
    );
    startMs.push(performance.now() - began);
    callIds.push(callId);
    await side.inbox.received(callId);
  });
  return { callIds, startMs, rejected };
}

function figuresOf({ bare, ours }: Record<'bare' | 'ours', Round[]>): Figure[] {
  const both = (of: (round: Round) => number) => ({ bare: bare.map(of), ours: ours.map(of) });
  const latency = (percent: number) => ({
    name: `start under load, p${percent}`,
    unit: 'ms',
    ...both(({ startMs }) => percentile(startMs, percent)),
    limit: { of: 'ratio' as const, atMost: 1.5 },
  });
  const total = ({ cpu }: Round) => PARTS.reduce((sum, part) => sum + cpu[part], 0);
  const names: Record<Part, string> = { api: 'api', worker: 'worker', mongodb: 'MongoDB', temporal: 'Temporal' };
  return [
    figureOf({
      name: 'whole calls',
      unit: 'calls/s',
      ...both(({ callsPerSecond }) => callsPerSecond),
      limit: { of: 'ratio', atLeast: 0.85 },
    }),
    figureOf(latency(50)),
    figureOf(latency(99)),
    figureOf({ name: 'starts rejected with 503', unit: '', ours: ours.map(({ rejected }) => rejected) }),
    figureOf({ name: 'CPU per call: all', unit: 'ms', ...both(total), limit: { of: 'ratio', atMost: 1.2 } }),
    ...PARTS.map((part) =>
      figureOf({ name: `CPU per call: ${names[part]}`, unit: 'ms', ...both(({ cpu }) => cpu[part]) }),
    ),
  ];
}
