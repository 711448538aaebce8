import { percentile } from '../../figures.js';
import { figureOf, type Figure } from '../../report/figure.js';
import type { BenchServers } from '../../stack/servers.js';
import { atRate, followCalls, type LoadedCall } from '../load.js';
import { readParts, type PartCpu } from '../parts.js';
import type { ScaleService } from '../scale-service.js';
import { readEvents, signalTimes } from '../signal-times.js';
import { COURSE } from './course.js';
import { spreadOf, type Soaked } from './soak.js';
import { SIGNAL_LIMIT_MS } from './stage.js';

/** Requests per second, as a multiple of the highest rate of calls. */
const FACTOR = 3;
const LOAD_MS = 30_000;
/** With time for the accepted calls to end. */
export const OVERLOAD_WITHIN_MS = 300_000;
const REJECTED_WITHIN_MS = 300;
const SAMPLE = 100;
const REJECTIONS: readonly number[] = [429, 503];

export interface Overload {
  requestsPerSecond: number;
  accepted: number;
  rejected: number;
  /** Responses that are neither an accepted call nor 429 or 503, by status. */
  others: Record<string, number>;
  rejectedMs: { p50: number; p99: number; highest: number };
  startMs: { p50: number; p99: number };
  afterEndMs: { p50: number; p99: number };
  /** How soon the signal of the end was handled, in a sample of accepted calls, ms. */
  handledMs: number[];
  lost: number;
  /** Accepted calls that were not billed the seconds that the carrier reported. */
  wronglyBilled: number;
  cpu: PartCpu;
}

/** Requests more calls than the service can carry, and looks at the responses and at the calls that it has accepted. */
export async function overload(servers: BenchServers, service: ScaleService, highestRate: number): Promise<Overload> {
  await service.carrier.follow(COURSE);
  const followed = followCalls(service);
  const requestsPerSecond = FACTOR * highestRate;
  try {
    const before = await readParts(servers, service);
    await atRate(requestsPerSecond, LOAD_MS, () => followed.place());
    const after = await readParts(servers, service);
    const lost = await followed.drain();
    const calls = [...followed.calls.values()];
    const rejected = followed.responses.filter(({ status }) => REJECTIONS.includes(status));
    const others = followed.responses.filter(({ status }) => status !== 200 && !REJECTIONS.includes(status));
    const rejectedMs = rejected.map(({ ms }) => ms);
    const step = Math.max(1, Math.floor(calls.length / SAMPLE));
    const sampled = calls.filter((_, index) => index % step === 0).map(({ callId }) => callId);
    return {
      requestsPerSecond,
      accepted: calls.length,
      rejected: rejected.length,
      others: countByStatus(others),
      rejectedMs: { ...spreadOf(rejectedMs), highest: Math.max(0, ...rejectedMs) },
      startMs: spreadOf(calls.map(({ startMs }) => startMs)),
      afterEndMs: spreadOf(calls.flatMap(({ delivery }) => delivery?.afterEndMs ?? [])),
      handledMs: await handledTimes(service, sampled),
      lost,
      wronglyBilled: await countWronglyBilled(service, calls),
      cpu: after.since(before),
    };
  } finally {
    followed.stop();
  }
}

async function handledTimes({ client }: ScaleService, callIds: readonly string[]): Promise<number[]> {
  const times: number[] = [];
  for (const callId of callIds) {
    const end = signalTimes(await readEvents(client, callId)).findLast(({ signal }) => signal === 'carrier');
    if (end !== undefined) times.push(end.handledAt - end.receivedAt);
  }
  return times;
}

async function countWronglyBilled({ database }: ScaleService, calls: readonly LoadedCall[]): Promise<number> {
  const found = await database.calls.find({ _id: { $in: calls.map(({ callId }) => callId) } }).lean();
  const billed = new Map(found.map(({ _id, durationSeconds }) => [_id, durationSeconds]));
  return calls.filter(({ callId, delivery }) => {
    const seconds = delivery?.seconds;
    return seconds !== undefined && billed.get(callId) !== seconds;
  }).length;
}

function countByStatus(responses: readonly { status: number }[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status } of responses) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

export function overloadFigures(past: Overload, soaked: Soaked): Figure[] {
  const { requestsPerSecond, accepted, rejected, others, rejectedMs, startMs, afterEndMs, handledMs } = past;
  const none = { of: 'ours', atMost: 0 } as const;
  const plain = (name: string, unit: string, value: number) => figureOf({ name, unit, ours: [value] });
  const limited = (name: string, unit: string, value: number, atMost: number) =>
    figureOf({ name, unit, ours: [value], limit: { of: 'ours', atMost } });
  return [
    plain('past capacity: requests', 'per s', requestsPerSecond),
    plain('past capacity: accepted', '', accepted),
    plain('past capacity: rejected with 429 or 503', '', rejected),
    figureOf({
      name: 'past capacity: other responses',
      unit: '',
      ours: [Object.values(others).reduce((sum, count) => sum + count, 0)],
      limit: none,
    }),
    plain('past capacity: rejection, p50', 'ms', rejectedMs.p50),
    limited('past capacity: rejection, p99', 'ms', rejectedMs.p99, REJECTED_WITHIN_MS),
    plain('past capacity: rejection, slowest', 'ms', rejectedMs.highest),
    figureOf({
      name: 'past capacity: start, p50 (bare: soak)',
      unit: 'ms',
      bare: [soaked.startMs.p50],
      ours: [startMs.p50],
    }),
    figureOf({
      name: 'past capacity: end to webhook, p50 (bare: soak)',
      unit: 'ms',
      bare: [soaked.afterEndMs.p50],
      ours: [afterEndMs.p50],
    }),
    limited('past capacity: signal of an end, p50', 'ms', percentile(handledMs, 50), SIGNAL_LIMIT_MS),
    limited('past capacity: calls without a webhook', '', past.lost, 0),
    limited('past capacity: wrongly billed calls', '', past.wronglyBilled, 0),
  ];
}
