import { report } from '../../platform/telemetry/measurements.js';
import type { Logger } from '../../platform/telemetry/logger.js';
import { CarrierAccountMissing } from '../../telephony/accounts/account-of-call.js';
import { accountOf } from '../../telephony/accounts/configured-account.js';
import type { DialGate } from '../../telephony/destinations/dial-gate.js';
import type { CarrierOfCall, PlacedCall } from '../../telephony/web/carrier.js';
import { carrierOfAccount } from '../../telephony/carriers.js';
import type { CarrierApi, CarrierApis, CarrierCall, DialOutcome } from '../../telephony/port.js';
import { createBulkhead } from '../../platform/egress/bulkhead.js';
import type { Config } from '../../platform/config/config.js';
import type { EndReason } from '../../kernel/call-state.js';
import type { Mode } from '../../kernel/ids.js';
import { carrierTimeLimit } from '../../kernel/hold-windows.js';
import { machineDetectionFor } from '../../kernel/conversation/voicemail.js';
import { CallRequestMissing } from '../errors.js';
import type { CallFacts } from '../call-facts.js';
import type { CallRequests } from '../call-requests.js';
import type { CarrierBindings } from '../../telephony/carrier-bindings.js';
import type { RejectionReports } from '../../telephony/rejection-reports.js';
import type { DialPacing } from '../../telephony/pacing/dial-pacing.js';

interface Deps {
  config: Config;
  carriers: CarrierApis;
  carrierOfCall: CarrierOfCall;
  dialGate: DialGate;
  pacing: DialPacing;
  requests: CallRequests;
  bindings: CarrierBindings;
  rejectionReports: RejectionReports;
  logger: Logger;
}

/**
 * Longest wait for a dial slot within one dial. Together with the 10 s timeout of the carrier request it stays
 * below the activity's timeout.
 */
const SLOT_WAIT_MS = 3_000;

/** Pause before the next dial of a call whose carrier account this worker does not know. */
const OTHER_WORKER_MS = 1_000;

/**
 * Limits of concurrent test dials in this process: in total and per account. A test dial may take up to the 10 s
 * timeout of its HTTP request, and test dials must leave the worker capacity for live calls.
 */
const TEST_DIALS = 20;
const TEST_DIALS_OF_ACCOUNT = 4;

/**
 * Result of a dial. `throttled` with `afterMs` means that the worker or the carrier account had no capacity, or that the
 * worker does not know the account: no call was placed, and the workflow should dial again after that time, which does not
 * count as an attempt.
 */
export type Dialed =
  | Exclude<DialOutcome, { rejection?: unknown }>
  | { outcome: 'refused'; endReason: EndReason }
  | { outcome: 'throttled'; afterMs?: number };

interface DialInput {
  callId: string;
  mode: Mode;
  ringTimeoutSeconds: number;
  timeLimitSeconds: number;
  /** Time of the call's dial slot, in ms of the database server's clock; absent if the carrier has no rate limit. */
  slotAt?: number;
}

/** The part of the carrier’s record that workflows need. No phone number may be in their histories. */
type CarrierRecord = Pick<CarrierCall, (typeof RECORDED)[number]>;
const RECORDED = [
  'carrierSid',
  'direction',
  'status',
  'createdAt',
  'startedAt',
  'endedAt',
  'durationSeconds',
  'answeredBy',
] as const;

/** Dials and ends calls. Reads their numbers from the database, so that no workflow history contains a number. */
export function createCarrierCalls(deps: Deps) {
  const { config, carriers, carrierOfCall, dialGate, requests, bindings, rejectionReports, logger } = deps;
  const perTarget = TEST_DIALS_OF_ACCOUNT;
  const testDials = createBulkhead({ total: TEST_DIALS, perTarget, perAccount: perTarget });

  async function requireFacts(callId: string): Promise<CallFacts> {
    const facts = await requests.facts(callId);
    if (!facts) throw new CallRequestMissing();
    return facts;
  }

  async function dialRequest(request: CallFacts, input: DialInput): Promise<Dialed> {
    const { callId, mode, ringTimeoutSeconds, timeLimitSeconds } = input;
    let carrier: CarrierApi;
    try {
      carrier = carrierOfAccount(carriers, request);
      // The request was checked when it was accepted. Check again, so that no emergency service is ever dialed.
      if (await dialGate.isNeverDialed(request.toPhoneNumber)) return { outcome: 'refused', endReason: 'rejected' };
      const { toPhoneNumber, accountId } = request;
      const dialedBefore = await findEarlierDial(bindings, callId);
      if (dialedBefore !== undefined) return dialedBefore;
      if (await dialGate.isNumberOfAnotherAccount(request.fromPhoneNumber, request)) {
        return { outcome: 'refused', endReason: 'rejected' };
      }
      if (!(await waitForDialSlot(deps, request, input.slotAt))) return { outcome: 'throttled' };
      // Enforce the limit here, too: several accepted requests may compete for a number's last attempts.
      const attempt = { callId, leg: 'call' as const, to: toPhoneNumber, accountId, mode };
      if (!(await dialGate.countAttempt(attempt))) return { outcome: 'refused', endReason: 'rejected' };
    } catch (error) {
      return resultOfUnsent(error, callId, logger);
    }
    const { toPhoneNumber: to, fromPhoneNumber: from, maxDurationSeconds, direction } = request;
    const machineDetection = config.voicemailDetection ? machineDetectionFor(request.voicemailAction) : undefined;
    const dialed = await carrier.dial({
      callId,
      to,
      from,
      ringTimeoutSeconds,
      // If the carrier cannot change the limit later, set the maximum duration. Our timer ends the call if its money
      // runs out earlier.
      timeLimitSeconds: carrier.capabilities.canChangeTimeLimit
        ? timeLimitSeconds
        : carrierTimeLimit(maxDurationSeconds),
      ...(machineDetection === undefined ? {} : { machineDetection }),
    });
    if (dialed.outcome === 'accepted') {
      // The phone rings only when the call has left the carrier's queue.
      const dialedAt = Date.now() + (dialed.queuedMs ?? 0);
      report('callDialed', { mode, seconds: Math.max(0, dialedAt - Number(request.createdAt)) / 1_000 });
      // Ignore a database failure: the carrier has accepted the dial, and its callbacks bind the carrier call, too.
      await bindings.bind(callId, dialed.carrierSid, carrier, { ...dialed, direction }).catch(() => undefined);
    }
    await rejectionReports.report({ callId, mode, account: carrier.account?.name }, dialed);
    return withoutRejection(dialed);
  }

  return {
    /** Dials the callee once. Not idempotent, so Temporal must never retry it. */
    async dialCallee(input: DialInput): Promise<Dialed> {
      let request;
      try {
        request = await requireFacts(input.callId);
      } catch {
        return { outcome: 'unreachable' };
      }
      if (input.mode === 'live') return dialRequest(request, input);
      const slot = testDials.tryAcquire({ accountId: request.accountId, host: '' });
      if ('retryAfterMs' in slot) return { outcome: 'throttled', afterMs: slot.retryAfterMs };
      try {
        return await dialRequest(request, input);
      } finally {
        slot.release();
      }
    },

    /**
     * Searches for the carrier call after an ambiguous attempt: the one that a callback has bound, else the only call
     * between these numbers that is not bound to another of our calls. Two candidates count as none.
     */
    async findPlacedCall(input: { callId: string; mode: Mode; since: number }): Promise<{ carrierSid?: string }> {
      const { callId, since } = input;
      const bound = await bindings.find(callId);
      if (bound) return bound.closed ? {} : { carrierSid: bound.carrierSid };
      const request = await requireFacts(callId);
      const { toPhoneNumber: to, fromPhoneNumber: from, direction } = request;
      const carrier = carrierOfAccount(carriers, request);
      const placed = await carrier.findPlaced({ to, from, since });
      const unbound = [];
      for (const { carrierSid } of placed) {
        if (!(await bindings.findBySid(carrierSid))) unbound.push(carrierSid);
      }
      const [candidate, second] = unbound;
      if (candidate === undefined || second !== undefined) return {};
      const row = await bindings.bind(callId, candidate, carrier, { direction });
      return row.closed ? {} : { carrierSid: row.carrierSid };
    },

    /** Prevents that a carrier call is bound to our call later. Returns the carrier call already bound, if any. */
    async closeBinding(input: { callId: string }): Promise<{ carrierSid?: string }> {
      const row = await bindings.close(input.callId);
      return row.closed ? {} : { carrierSid: row.carrierSid };
    },

    async hangUpCall(call: PlacedCall): Promise<void> {
      await carrierOfCall(call).hangUp(call.carrierSid);
    },

    /** Changes the carrier's time limit of the call, in seconds after the answer, if the carrier supports that. */
    async limitCall({ seconds, ...call }: PlacedCall & { seconds: number }): Promise<void> {
      const carrier = carrierOfCall(call);
      if (!carrier.capabilities.canChangeTimeLimit) return;
      await carrier.limitTo(call.carrierSid, seconds);
    },

    /** The carrier's record of a call; null if there is none. */
    async fetchCarrierCall(call: PlacedCall): Promise<CarrierRecord | null> {
      return recordOf(await carrierOfCall(call).fetch(call.carrierSid));
    },
  };
}

/** The result of a dial that failed before anything was sent. It is not ambiguous and may be repeated. */
function resultOfUnsent(error: unknown, callId: string, logger: Logger): Dialed {
  if (!(error instanceof CarrierAccountMissing)) return { outcome: 'unreachable' };
  // While an account is being added, another worker may know it already.
  logger.error({ callId, err: error }, 'call waits for a worker that knows its carrier account');
  return { outcome: 'throttled', afterMs: OTHER_WORKER_MS };
}

/** Waits for the call's dial slot. False if the slot has passed and the next one is too far away. */
async function waitForDialSlot(
  { config, pacing }: Pick<Deps, 'config' | 'pacing'>,
  request: CallFacts,
  slotAt: number | undefined,
): Promise<boolean> {
  const { carrierAccountId, callsPerSecond } = accountOf(config.carriers, request);
  if (slotAt === undefined || callsPerSecond === undefined) return true;
  return pacing.waitForSlot({ carrierAccountId, callsPerSecond }, slotAt, SLOT_WAIT_MS);
}

/** Finds a dial that the workflow has forgotten, because the database of Temporal was restored or lost its last writes. */
async function findEarlierDial(bindings: Pick<CarrierBindings, 'find'>, callId: string): Promise<Dialed | undefined> {
  const row = await bindings.find(callId);
  if (row === null) return undefined;
  if (row.closed === true) return { outcome: 'refused', endReason: 'carrier_unreachable' };
  return { outcome: 'accepted', carrierSid: row.carrierSid };
}

function recordOf(call: CarrierCall | undefined): CarrierRecord | null {
  if (call === undefined) return null;
  const fields = RECORDED.flatMap((field) => (call[field] === undefined ? [] : [[field, call[field]] as const]));
  return Object.fromEntries(fields) as CarrierRecord;
}

/** Leaves out the carrier's reason, which workflows do not need. */
function withoutRejection(dialed: DialOutcome): Dialed {
  if (dialed.outcome === 'refused') return { outcome: 'refused', endReason: dialed.endReason };
  if (dialed.outcome !== 'throttled') return dialed;
  return { outcome: 'throttled', ...(dialed.afterMs === undefined ? {} : { afterMs: dialed.afterMs }) };
}
