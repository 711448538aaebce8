import type { DialGate } from '../src/telephony/destinations/dial-gate.js';
import type { CarrierApis, DialOutcome } from '../src/telephony/port.js';
import { createPlaces } from '../src/platform/egress/places.js';
import type { Config } from '../src/platform/config/config.js';
import type { Mode } from '../src/kernel/ids.js';
import { carrierTimeLimit } from '../src/kernel/hold-windows.js';
import { machineDetectionFor } from '../src/kernel/voicemail.js';
import { CallRequestMissing } from '../src/calls/errors.js';
import type { CallRequestDocument } from '../src/calls/call-request-model.js';
import type { CallRequests } from '../src/calls/call-requests.js';
import type { CarrierBindings } from '../src/telephony/carrier-bindings.js';
import type { DialPacing } from '../src/telephony/pacing/dial-pacing.js';

interface Deps {
  config: Config;
  carriers: CarrierApis;
  dialGate: DialGate;
  pacing: DialPacing;
  requests: CallRequests;
  bindings: CarrierBindings;
}

/** A dial that missed its slot waits this long for the next one; with the carrier's 10 s it stays within the activity's time. */
const SLOT_WAIT_MS = 3_000;

/**
 * Dials of test calls under way at once in this process, and of one account: their far end may hang for the client's 10 s,
 * and the steps of live calls need a worker's places, too.
 */
const TEST_DIALS = 20;
const TEST_DIALS_OF_ACCOUNT = 4;

/** What came of a dial. With `afterMs` nobody was asked for want of a place: it is no try, and is repeated after that. */
export type Dialed = Exclude<DialOutcome, { outcome: 'throttled' }> | { outcome: 'throttled'; afterMs?: number };

interface DialInput {
  callId: string;
  mode: Mode;
  ringTimeoutSeconds: number;
  timeLimitSeconds: number;
  /** The call's turn, where the carrier takes only so many calls per second. */
  slotAt?: number;
}

interface OrderedCall {
  mode: Mode;
  carrierSid: string;
}

/** Orders and questions to the carrier. Numbers are read from the request here, so that no history holds one. */
export function createCarrierActivities(deps: Deps) {
  const { config, carriers, dialGate, pacing, requests, bindings } = deps;
  const each = TEST_DIALS_OF_ACCOUNT;
  const testDials = createPlaces({ total: TEST_DIALS, each, ofAccount: each });

  const canChangeTimeLimit = (mode: Mode) => carriers[mode].capabilities.canChangeTimeLimit;

  async function requestOf(callId: string) {
    const request = await requests.find(callId);
    if (!request) throw new CallRequestMissing();
    return request;
  }

  /** Waits for the slot that the call was given; false when it is missed and the next is too far away. */
  async function isItsTurn(mode: Mode, slotAt: number | undefined): Promise<boolean> {
    const { carrierAccountId, callsPerSecond } = config.carriers[mode];
    if (slotAt === undefined || callsPerSecond === undefined) return true;
    return pacing.awaitSlot({ carrierAccountId, callsPerSecond }, slotAt, SLOT_WAIT_MS);
  }

  async function dialFor(request: CallRequestDocument, input: DialInput): Promise<DialOutcome> {
    const { callId, mode, ringTimeoutSeconds, timeLimitSeconds } = input;
    try {
      // Every request was checked; what slipped through one time must not reach an emergency service or evade a rule.
      if (await dialGate.isNeverDialed(request.toPhoneNumber)) return { outcome: 'refused', endReason: 'rejected' };
      const { toPhoneNumber, accountId } = request;
      if (await dialGate.isNumberOfAnother(request.fromPhoneNumber, request)) {
        return { outcome: 'refused', endReason: 'rejected' };
      }
      if (!(await isItsTurn(mode, input.slotAt))) return { outcome: 'throttled' };
      // Of more requests than a number has attempts left, those that come too late end here.
      const attempt = { callId, leg: 'call' as const, to: toPhoneNumber, accountId, mode };
      if (!(await dialGate.countAttempt(attempt))) return { outcome: 'refused', endReason: 'rejected' };
    } catch {
      // Nothing was sent yet, so this is no ambiguous try but one that may be repeated.
      return { outcome: 'unreachable' };
    }
    const { toPhoneNumber: to, fromPhoneNumber: from, maxDurationSeconds } = request;
    const machineDetection = config.voicemailDetection ? machineDetectionFor(request.agent.voicemailAction) : undefined;
    const dialed = await carriers[mode].dial({
      callId,
      to,
      from,
      ringTimeoutSeconds,
      // A limit that stays for good must not end a call that pays for more; our own timer ends the others.
      timeLimitSeconds: canChangeTimeLimit(mode) ? timeLimitSeconds : carrierTimeLimit(maxDurationSeconds),
      ...(machineDetection === undefined ? {} : { machineDetection }),
    });
    if (dialed.outcome === 'accepted') {
      // The carrier's callbacks bind the call, too; a database that is away now must not make the dial look ambiguous.
      await bindings.bind(callId, dialed.carrierSid, carriers[mode]).catch(() => undefined);
    }
    return dialed;
  }

  return {
    /** Asks the carrier for the call, once. The one activity that is not idempotent: Temporal must never repeat it. */
    async dialCallee(input: DialInput): Promise<Dialed> {
      let request;
      try {
        request = await requestOf(input.callId);
      } catch {
        return { outcome: 'unreachable' };
      }
      if (input.mode === 'live') return dialFor(request, input);
      const place = testDials.take({ accountId: request.accountId, host: '' });
      if ('afterMs' in place) return { outcome: 'throttled', afterMs: place.afterMs };
      try {
        return await dialFor(request, input);
      } finally {
        place.giveBack();
      }
    },

    /**
     * Looks for the carrier's call after an ambiguous try: what a callback has bound, else the one call between these
     * numbers that belongs to no other call of ours. Two candidates prove nothing.
     */
    async findPlacedCall(input: { callId: string; mode: Mode; since: number }): Promise<{ carrierSid?: string }> {
      const { callId, mode, since } = input;
      const bound = await bindings.find(callId);
      if (bound) return bound.closed ? {} : { carrierSid: bound.carrierSid };
      const { toPhoneNumber: to, fromPhoneNumber: from } = await requestOf(callId);
      const placed = await carriers[mode].findPlaced({ to, from, since });
      const unbound = [];
      for (const { carrierSid } of placed) {
        if (!(await bindings.findBySid(carrierSid))) unbound.push(carrierSid);
      }
      const [candidate, second] = unbound;
      if (candidate === undefined || second !== undefined) return {};
      const row = await bindings.bind(callId, candidate, carriers[mode]);
      return row.closed ? {} : { carrierSid: row.carrierSid };
    },

    /** Rules out that a call turns up later; if one is bound already, that is the answer. */
    async closeBinding(input: { callId: string }): Promise<{ carrierSid?: string }> {
      const row = await bindings.close(input.callId);
      return row.closed ? {} : { carrierSid: row.carrierSid };
    },

    async hangUpCall({ mode, carrierSid }: OrderedCall): Promise<void> {
      await carriers[mode].hangUp(carrierSid);
    },

    /** Moves the carrier's own limit of the call, in seconds from the answer, where it can be moved. */
    async limitCall({ mode, carrierSid, seconds }: OrderedCall & { seconds: number }): Promise<void> {
      if (!canChangeTimeLimit(mode)) return;
      await carriers[mode].limitTo(carrierSid, seconds);
    },

    /** The carrier's record of a call; null when it has none. */
    async fetchCarrierCall({ mode, carrierSid }: OrderedCall) {
      return (await carriers[mode].fetch(carrierSid)) ?? null;
    },
  };
}
