import { setTimeout as sleep } from 'node:timers/promises';
import type { CallDocument } from '../../src/calls/call-model.js';
import type { WebhookAttemptDocument } from '../../src/webhooks/model.js';
import { INVARIANTS, type CarriedCall, type Evidence } from '../faults/invariants.js';
import type { FailedRequest } from './client.js';
import type { Step } from './deployment.js';
import type { Load } from './load.js';
import { NAMESPACE } from './servers/temporal.js';
import type { Shape } from './shape.js';
import { traceFaults, type Conversation } from './traces.js';

/** A statement about the run, and what contradicts it. */
export interface Finding {
  statement: string;
  faults: string[];
}

const WEBHOOKS_WITHIN_MS = 120_000;
/**
 * How many requests of a run may get 429 or 503 and be repeated, of thousands. 0 to 2 did, and 14 on an overloaded
 * machine. A process that still gets requests and rejects them while it stops or starts causes several a second.
 */
const MOST_REPEATED = 20;
/** How calls end when a part of the service failed them. */
export const OUR_FAULTS = ['media_failed', 'internal_error', 'carrier_unreachable', 'expired'];

/** Waits for the webhooks of these calls, then collects what the run has left behind. */
export async function collectEvidence(shape: Shape, load: Load): Promise<Evidence> {
  const { database, customer, env, records } = shape;
  const inbound = await receivedCalls(shape, load);
  const accepted = new Set([...load.placed.map(({ callId }) => callId), ...inbound.map(({ _id }) => _id)]);
  await waitForWebhooks(shape, accepted);
  const listed = await fetch(`${shape.carrierUrl}/simulator/calls`);
  const { calls: carried } = (await listed.json()) as { calls: CarriedCall[] };
  const tests = await database.calls.distinct('carrierSid', { accountId: customer.accountId, mode: 'test' });
  return {
    database,
    temporal: { address: shape.temporalAddress, namespace: NAMESPACE },
    accountId: customer.accountId,
    creditedMicros: customer.creditedMicros,
    accepted,
    // Test calls have the same carrier, and the invariants concern live ones.
    carried: carried.filter(({ sid }) => !tests.includes(sid)),
    secrets: [
      customer.liveKey,
      customer.testKey,
      customer.instruction,
      env.API_KEY_PEPPER ?? '',
      env.ENCRYPTION_KEYS ?? '',
    ],
    logs: records.logs.join('\n'),
  };
}

/** Checks the invariants and what the customer saw. */
export async function check(p: { shape: Shape; load: Load; steps: readonly Step[]; evidence: Evidence }) {
  const { shape, load, steps, evidence } = p;
  const findings = await checkInvariants(evidence);
  const calls = await liveCalls(shape);
  // A request that was responded to with 503 may leave a call that expired before it was dialed.
  const failed = calls.filter(
    ({ _id, endReason = '' }) => evidence.accepted.has(_id) && OUR_FAULTS.includes(endReason),
  );
  const { client, records } = shape;
  findings.push(
    { statement: 'no request failed', faults: client.failed.map((each) => JSON.stringify(each)) },
    { statement: `at most ${MOST_REPEATED} requests had to be repeated`, faults: repeatedTooOften(client.repeated) },
    { statement: 'the customer saw no other failure', faults: load.faults },
    {
      statement: 'no accepted call ended because of the service',
      faults: failed.map(({ _id, endReason, status }) => `${_id}: ${status} (${endReason})`),
    },
    {
      statement: 'every call that the carrier brought was answered',
      faults: unanswered(load, calls),
    },
    { statement: 'every process ended in order, and only when it was stopped', faults: records.faults },
    { statement: 'no role logged an error', faults: errorsOf(records.logs) },
    {
      statement: 'the trace of every accepted call is complete and connected',
      faults: await traceFaults(shape.collector, await conversationsOf(shape, evidence)),
    },
    {
      statement: 'requests were sent during every step of the deployment',
      faults: steps.filter(({ requests }) => requests === 0).map(({ name }) => name),
    },
  );
  return { findings, calls };
}

export async function checkInvariants(evidence: Evidence): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const [statement, violations] of Object.entries(INVARIANTS)) {
    findings.push({ statement, faults: await violations(evidence) });
  }
  return findings;
}

export async function liveCalls({ database, customer }: Shape): Promise<CallDocument[]> {
  return database.calls.find({ accountId: customer.accountId, mode: 'live' }).lean<CallDocument[]>();
}

/** Returns the repeated requests if there are too many. */
export function repeatedTooOften(repeated: readonly FailedRequest[]): string[] {
  return repeated.length <= MOST_REPEATED ? [] : repeated.map((each) => JSON.stringify(each));
}

function unanswered(load: Load, calls: readonly CallDocument[]): string[] {
  const known = new Map(calls.map((call) => [call.carrierSid, call]));
  return load.received.filter((sid) => known.get(sid)?.status !== 'COMPLETED').map((sid) => `${sid} was not answered`);
}

async function receivedCalls({ database }: Shape, { received }: Load): Promise<CallDocument[]> {
  return database.calls.find({ carrierSid: { $in: received } }).lean<CallDocument[]>();
}

/** Waits until each webhook has been delivered or given up, at most two minutes. The invariants report the others. */
async function waitForWebhooks({ database }: Shape, accepted: ReadonlySet<string>): Promise<void> {
  const deadline = Date.now() + WEBHOOKS_WITHIN_MS;
  while (Date.now() < deadline) {
    const attempts = await database.webhookAttempts.find({}).lean<WebhookAttemptDocument[]>();
    const decided = attempts.filter(({ outcome, number }) => outcome === 'delivered' || (outcome && number === 4));
    const calls = new Set(decided.map(({ callId }) => callId));
    if ([...accepted].every((callId) => calls.has(callId))) return;
    await sleep(500);
  }
}

/** Returns what media servers have stored about the accepted calls. */
async function conversationsOf(
  { database }: Shape,
  { accepted }: Evidence,
): Promise<ReadonlyMap<string, Conversation>> {
  const results = await database.conversationResults.find({}, { latencies: 1 }).lean();
  const stored = new Map(results.map(({ _id, latencies = [] }) => [_id, latencies.length > 0]));
  return new Map(
    [...accepted].map((callId) => [callId, { hasStream: stored.has(callId), hasReplies: stored.get(callId) ?? false }]),
  );
}

/** Returns the log lines of level error or worse, and lines that are no log lines. */
export function errorsOf(logs: readonly string[]): string[] {
  return logs.filter((line) => !/ \| \{/.test(line) || /"level":(?:[5-9]\d|"(?:error|fatal)")/.test(line));
}
