import type { CallDocument } from '../../../src/calls/call-model.js';
import type { Evidence } from '../../faults/invariants.js';
import { checkInvariants, errorsOf, liveCalls, OUR_FAULTS, repeatedTooOften } from '../checks.js';
import type { Step } from '../deployment.js';
import type { Load } from '../load.js';
import type { Shape } from '../shape.js';
import { isQuiet, RECOVERED_AFTER_MS, type Cut } from './cut-off.js';

interface Run {
  shape: Shape;
  load: Load;
  steps: readonly Step[];
  cuts: readonly Cut[];
  evidence: Evidence;
}

const SHOWN_ERRORS = 12;

/** Checks the invariants, and that every request got its response and its one call, after hosts were cut off. */
export async function checkAfterCuts(run: Run) {
  const { shape, load, steps, cuts, evidence } = run;
  const { client, records } = shape;
  const findings = await checkInvariants(evidence);
  const calls = await liveCalls(shape);
  const quietSince = Math.max(...cuts.map(({ to }) => to)) + RECOVERED_AFTER_MS;
  const late = new Set(load.placed.filter(({ at }) => at >= quietSince).map(({ callId }) => callId));
  findings.push(
    {
      statement: 'every request got its response in the end',
      faults: client.failed.map((each) => JSON.stringify(each)),
    },
    { statement: 'every request for a call got one call of its own', faults: callsWithoutRequest(run, calls) },
    { statement: 'the customer saw no other failure', faults: load.faults },
    {
      statement: `${RECOVERED_AFTER_MS / 1_000} s after a host was back, hardly any request had to be repeated`,
      faults: repeatedTooOften(client.repeated.filter(({ at }) => isQuiet(cuts, at.getTime()))),
    },
    { statement: 'calls were placed after all hosts were back', faults: late.size > 0 ? [] : ['none'] },
    {
      statement: 'no call that was placed then ended because of the service',
      faults: calls.filter(({ _id }) => late.has(_id)).flatMap((call) => ourFault(call) ?? []),
    },
    { statement: 'every process ended in order, and only when it was stopped', faults: records.faults },
    {
      statement: 'requests were sent during every step',
      faults: steps.filter(({ requests }) => requests === 0).map(({ name }) => name),
    },
  );
  return { findings, calls, notes: notesOf(run, calls) };
}

/** A call that the carrier knows, and for which no request got a response, or one that two requests got. */
function callsWithoutRequest({ load, evidence }: Run, calls: readonly CallDocument[]): string[] {
  const ids = load.placed.map(({ callId }) => callId);
  const shared = ids.filter((callId, index) => ids.indexOf(callId) < index);
  const dialed = calls.filter(({ direction, carrierSid }) => direction === 'outbound' && carrierSid !== undefined);
  const unknown = dialed.filter(({ _id }) => !evidence.accepted.has(_id));
  return [
    ...shared.map((callId) => `two requests got ${callId}`),
    ...unknown.map(({ _id, status, endReason }) => `no request got ${_id}: ${status} (${endReason})`),
  ];
}

function ourFault({ _id, status, endReason }: CallDocument): string | undefined {
  return OUR_FAULTS.includes(endReason ?? '') ? `${_id}: ${status} (${endReason})` : undefined;
}

/** Describes the effects of each cut on requests and calls. They break no promise. */
function notesOf({ shape, cuts, evidence }: Run, calls: readonly CallDocument[]): string[] {
  const { answered, repeated } = shape.client;
  const lost = calls.filter((call) => evidence.accepted.has(call._id) && ourFault(call) !== undefined);
  const times = cuts.map(({ host, from, to }, index) => {
    const end = cuts[index + 1]?.from ?? Infinity;
    const within = (at: number) => at >= from && at < end;
    const requests = answered.filter(({ began }) => within(began));
    const slowest = Math.max(0, ...requests.map(({ ms }) => ms));
    const last = Math.max(to, ...repeated.map(({ at }) => at.getTime()).filter(within));
    const ours = lost.filter(({ updatedAt }) => within(updatedAt.getTime()));
    return (
      `  ${host}, ${seconds(to - from)}: ${requests.filter(({ repeats }) => repeats > 0).length} requests repeated, the ` +
      `last ${seconds(last - to)} after its return; longest wait ${seconds(slowest)}; ${ours.length} calls ended because of it`
    );
  });
  const first = Math.min(...cuts.map(({ from }) => from));
  const early = answered.filter(({ began, repeats }) => began < first && repeats > 0);
  const replays = answered.filter(({ isReplay }) => isReplay).length;
  return [
    'Hosts that were cut off, until the next one was',
    // Many of them show a machine that is too busy for all these processes.
    `  none yet: ${early.length} requests repeated`,
    ...times,
    `  ${replays} requests got the response of an earlier one with the same idempotency key`,
    'Errors in the log',
    ...errorLines(shape.records.logs),
  ];
}

const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;

/** The most frequent messages of errors, with how often each was logged. */
function errorLines(logs: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const line of errorsOf(logs)) {
    const [, role = '', message = line] = /^(\w+).*? \| .*"msg":"((?:[^"\\]|\\.)*)"/.exec(line) ?? [];
    const key = `${role}: ${message}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  const most = [...counts].toSorted(([, a], [, b]) => b - a).slice(0, SHOWN_ERRORS);
  return most.map(([message, count]) => `  ${String(count).padStart(4)}  ${message}`);
}
