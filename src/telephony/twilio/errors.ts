import { UnsafeCarrierRequest } from '../errors.js';
import type { DialOutcome } from '../port.js';
import { toRefusal } from './refusals.js';

/**
 * The details of a failed carrier request that may leave this folder. The client's own errors contain the request with
 * its Authorization header and phone numbers, so they never leave it.
 */
export class CarrierError extends Error {
  override readonly name = 'CarrierError';

  constructor(
    /** The carrier's error code, or the name of the network error. */
    readonly code: number | string | undefined,
    /** HTTP status; undefined when there was no response. */
    readonly status: number | undefined,
  ) {
    super(
      status === undefined
        ? `The carrier did not respond (${code ?? 'unknown cause'}).`
        : `The carrier responded with status ${status}${code === undefined ? '' : ` and error ${code}`}.`,
    );
  }
}

/** Extracts the details of any error of the carrier's client. Leaves out the request that the error may contain. */
export function toCarrierError(error: unknown): CarrierError {
  if (error instanceof CarrierError) return error;
  if (typeof error !== 'object' || error === null) return new CarrierError(undefined, undefined);
  const { status, code, name } = error as { status?: unknown; code?: unknown; name?: unknown };
  const known = typeof code === 'number' || typeof code === 'string' ? code : undefined;
  if (typeof status === 'number') return new CarrierError(known, status);
  return new CarrierError(known ?? (typeof name === 'string' ? name : undefined), undefined);
}

/** Errors before the connection is established. After these, the carrier cannot have received the request. */
const NEVER_CONNECTED = new Set<unknown>(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN']);

/**
 * Classifies a failed dial request. Only two errors prove that no call exists: a rejection by the carrier, or a
 * connection that was never established. After any other error a call may have been placed.
 */
export function toDialOutcome(error: unknown): DialOutcome {
  if (error instanceof UnsafeCarrierRequest) return { outcome: 'refused', endReason: 'carrier_failed' };
  const { status, code } = toCarrierError(error);
  if (status === undefined) return { outcome: NEVER_CONNECTED.has(code) ? 'unreachable' : 'ambiguous' };
  // 408: a proxy between us and the carrier may have stopped waiting for the response.
  if (status < 400 || status >= 500 || status === 408) return { outcome: 'ambiguous' };
  return toRefusal(status, code);
}

/** Whether the call had already ended: it is not in progress any more, or the carrier has deleted its record. */
export function isCallOver(error: CarrierError): boolean {
  return (error.status === 400 && error.code === 21220) || isUnknownCall(error);
}

export function isUnknownCall(error: CarrierError): boolean {
  return error.status === 404;
}
