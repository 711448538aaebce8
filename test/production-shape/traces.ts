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
/** Spans of media servers, which a call with a conversation has, too. */
const NEEDED_IF_TALKED = ['media stream', 'conversation'];
/** The span of each reply of the agent. */
const REPLY = 'turn';

/** Which spans of media servers the trace of a call must have. */
export interface Conversation {
  hasStream: boolean;
  hasReplies: boolean;
}

/**
 * Waits until the trace of each call is complete.
 * @param calls the conversations by the ids of their calls
 * @returns what is still missing or wrong then
 */
export async function traceFaults(
  collector: Pick<CollectorStub, 'faults' | 'spans'>,
  calls: ReadonlyMap<string, Conversation>,
  withinMs = ARRIVED_WITHIN_MS,
): Promise<string[]> {
  const deadline = Date.now() + withinMs;
  for (;;) {
    const faults = [...collector.faults, ...faultsOf(collector.spans, calls)];
    if (faults.length === 0 || Date.now() >= deadline) return faults;
    await sleep(LOOK_EVERY_MS);
  }
}

function faultsOf(spans: readonly ReceivedSpan[], calls: ReadonlyMap<string, Conversation>): string[] {
  const ofTraces = groupBy(spans, ({ traceId }) => traceId);
  const ofCalls = groupBy(spans, callIdOf);
  return [...calls].flatMap(([callId, { hasStream, hasReplies }]) => {
    const needed = [...NEEDED, ...(hasStream ? NEEDED_IF_TALKED : []), ...(hasReplies ? [REPLY] : [])];
    const traceId = traceOfCall(callId)?.traceId ?? '';
    const trace = ofTraces.get(traceId) ?? [];
    const strays = (ofCalls.get(callId) ?? []).filter((span) => span.traceId !== traceId);
    return [
      ...treeFaults(trace),
      ...needed.flatMap((name) => (trace.some((span) => span.name === name) ? [] : [`${name} is missing`])),
      ...strays.map(({ name }) => `${name} is in another trace`),
    ].map((fault) => `${callId}: ${fault}`);
  });
}
