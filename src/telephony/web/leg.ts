import { randomInt } from 'node:crypto';
import { CALL_ID_PATTERN } from '../../kernel/ids.js';
import type { LineKind } from '../../platform/telemetry/measurements.js';
import type { CarrierCall } from '../port.js';
import type { LegEndCause, WebLegDocument } from './leg-model.js';

/** How long the first token of a call is valid at least, and how much longer at most. */
const FIRST_TOKEN_MS = 60_000;
const FIRST_TOKEN_SPREAD_MS = 30_000;
/** A leg without a heartbeat for this long has ended at its last one. Until then the browser can reconnect. */
export const LOST_AFTER_MS = 30_000;

/**
 * How much later than its limit a leg is ended, at the limit. The workflow ends the call at the limit and knows why, so it
 * goes first.
 */
const LIMIT_GRACE_MS = 2_000;

const LEG_ID = /^web_[0-9A-HJKMNP-TV-Z]{26}$/;

/**
 * Returns how long the first token of a new call is valid, in ms. It is random, because the end of a call takes work: calls
 * that were requested together and that no browser opens must not end together.
 */
export function firstTokenMs(): number {
  return FIRST_TOKEN_MS + randomInt(FIRST_TOKEN_SPREAD_MS + 1);
}

/** Returns the id of a call's leg, which takes the place of a carrier's call id. */
export function legIdOf(callId: string): string {
  if (!CALL_ID_PATTERN.test(callId)) throw new RangeError('callId must be a call id');
  return callId.replace('call_', 'web_');
}

export function callIdOfLeg(legId: string): string {
  return legId.replace('web_', 'call_');
}

export function isLegId(text: string): boolean {
  return LEG_ID.test(text);
}

/** Returns the kind of a call's line. @param carrierSid absent if no carrier has the call yet */
export function lineOf(carrierSid: string | undefined): LineKind {
  return carrierSid !== undefined && isLegId(carrierSid) ? 'browser' : 'phone';
}

export interface LegEnd {
  /** In ms since the epoch. */
  at: number;
  cause: LegEndCause;
}

/** Returns the end of a leg that is stored, or that follows from its times; undefined if it has not ended. */
export function endOfLeg(leg: WebLegDocument, now: number): LegEnd | undefined {
  const { startedAt, endedAt, endCause = 'service' } = leg;
  if (endedAt !== undefined) return { at: endedAt.getTime(), cause: endCause };
  if (startedAt === undefined) {
    return now > leg.expiresAt.getTime() ? { at: leg.expiresAt.getTime(), cause: 'unopened' } : undefined;
  }
  const limitAt = limitOfLeg(leg);
  const seenAt = leg.seenAt.getTime();
  if (now - seenAt > LOST_AFTER_MS && seenAt < limitAt) return { at: seenAt, cause: 'lost' };
  return now >= limitAt + LIMIT_GRACE_MS ? { at: limitAt, cause: 'limit' } : undefined;
}

/** The time at which a started leg ends at the latest, in ms since the epoch. */
export function limitOfLeg({ startedAt, limitSeconds }: WebLegDocument): number {
  return startedAt === undefined ? Infinity : startedAt.getTime() + limitSeconds * 1_000;
}

/** The leg in the form of a carrier's record of a call. A leg that no socket was admitted to was never answered. */
export function recordOfLeg(leg: WebLegDocument): CarrierCall {
  const { _id, createdAt, startedAt, endedAt } = leg;
  return {
    carrierSid: _id,
    direction: 'inbound',
    createdAt: createdAt.getTime(),
    status: statusOfLeg(leg),
    ...(startedAt === undefined ? {} : { startedAt: startedAt.getTime(), seenAt: lastSeenAt(leg) }),
    ...(endedAt === undefined ? {} : { endedAt: endedAt.getTime(), durationSeconds: secondsOfLeg(leg) }),
  };
}

/** When a socket of the leg was last known to be open, in ms since the epoch. A leg may be ended long after that. */
export function lastSeenAt({ seenAt, endedAt = seenAt }: WebLegDocument): number {
  return Math.min(seenAt.getTime(), endedAt.getTime());
}

function statusOfLeg({ startedAt, endedAt }: WebLegDocument): CarrierCall['status'] {
  if (endedAt === undefined) return startedAt === undefined ? 'ringing' : 'in-progress';
  return startedAt === undefined ? 'canceled' : 'completed';
}

/** Whole seconds of an ended leg, rounded up as carriers do. */
export function secondsOfLeg({ startedAt, endedAt }: WebLegDocument): number {
  if (startedAt === undefined || endedAt === undefined) return 0;
  return Math.max(0, Math.ceil((endedAt.getTime() - startedAt.getTime()) / 1_000));
}
