import { setTimeout as sleep } from 'node:timers/promises';
import { traceOfCall } from '../../src/kernel/call-trace.js';
import type { CollectorStub, ReceivedSpan } from '../support/tracing/collector-stub.js';
import { groupBy } from '../faults/invariants.js';
import { callIdOf, treeFaults } from '../support/tracing/connected-spans.js';

/** Spans are sent every second, and again if a request fails. */
const ARRIVED_WITHIN_MS = 30_000;
const LOOK_EVERY_MS = 1_000;
/** Spans without which the trace of a call is not complete. */
const NEEDED = ['RunWorkflow:CallWorkflow', 'webhook attempt'];

/** Waits until the trace of each call is complete. @returns what is still missing or wrong then */
export async function traceFaults(
  collector: Pick<CollectorStub, 'faults' | 'spans'>,
  callIds: ReadonlySet<string>,
  withinMs = ARRIVED_WITHIN_MS,
): Promise<string[]> {
  const deadline = Date.now() + withinMs;
  for (;;) {
    const faults = [...collector.faults, ...faultsOf(collector.spans, callIds)];
    if (faults.length === 0 || Date.now() >= deadline) return faults;
    await sleep(LOOK_EVERY_MS);
  }
}

function faultsOf(spans: readonly ReceivedSpan[], callIds: ReadonlySet<string>): string[] {
  const ofTraces = groupBy(spans, ({ traceId }) => traceId);
  const ofCalls = groupBy(spans, callIdOf);
  return [...callIds].flatMap((callId) => {
    const traceId = traceOfCall(callId)?.traceId ?? '';
    const trace = ofTraces.get(traceId) ?? [];
    const strays = (ofCalls.get(callId) ?? []).filter((span) => span.traceId !== traceId);
    return [
      ...treeFaults(trace),
      ...NEEDED.flatMap((name) => (trace.some((span) => span.name === name) ? [] : [`${name} is missing`])),
      ...strays.map(({ name }) => `${name} is in another trace`),
    ].map((fault) => `${callId}: ${fault}`);
  });
}
