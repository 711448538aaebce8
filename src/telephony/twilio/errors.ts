import type { EndReason } from '../../kernel/call-state.js';
import { CarrierRequestRefused } from '../errors.js';
import type { DialOutcome } from '../port.js';

/**
 * What a failed request to the carrier may tell the rest of the service. The client's own errors carry the request with
 * its Authorization header and numbers, so they never leave this folder.
 */
export class CarrierError extends Error {
  override readonly name = 'CarrierError';

  constructor(
    /** The carrier's error number, or the network's error name. */
    readonly code: number | string | undefined,
    /** HTTP status; undefined when no answer came. */
    readonly status: number | undefined,
  ) {
    super(
      status === undefined
        ? `The carrier gave no usable answer (${code ?? 'unknown cause'}).`
        : `The carrier answered ${status}${code === undefined ? '' : ` with error ${code}`}.`,
    );
  }
}

/** The facts of any error the carrier's client throws, without the request that it may carry. */
export function toCarrierError(error: unknown): CarrierError {
  if (error instanceof CarrierError) return error;
  if (typeof error !== 'object' || error === null) return new CarrierError(undefined, undefined);
  const { status, code, name } = error as { status?: unknown; code?: unknown; name?: unknown };
  const known = typeof code === 'number' || typeof code === 'string' ? code : undefined;
  if (typeof status === 'number') return new CarrierError(known, status);
  return new CarrierError(known ?? (typeof name === 'string' ? name : undefined), undefined);
}

const REFUSALS: Record<number, EndReason> = {
  21211: 'invalid_number',
  21214: 'invalid_number',
  21217: 'invalid_number',
  21215: 'rejected',
  21216: 'rejected',
};

/** Errors that happen before a connection stands: the carrier cannot have heard the request. */
const NEVER_CONNECTED = new Set<unknown>(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN']);

/**
 * What a failed request for a call proves. Only a refusal that the carrier itself pronounced, or a connection that never
 * came to be, proves that there is no call; everything else may have placed one.
 */
export function dialOutcomeOf(error: unknown): DialOutcome {
  if (error instanceof CarrierRequestRefused) return { outcome: 'refused', endReason: 'carrier_failed' };
  const { status, code } = toCarrierError(error);
  if (status === undefined) return { outcome: NEVER_CONNECTED.has(code) ? 'unreachable' : 'ambiguous' };
  if (status === 429) return { outcome: 'throttled' };
  // 408: someone between us and the carrier gave up waiting for its answer.
  if (status < 400 || status >= 500 || status === 408) return { outcome: 'ambiguous' };
  return { outcome: 'refused', endReason: REFUSALS[Number(code)] ?? 'carrier_failed' };
}

/** The call was over before we asked: it is not in progress any more, or gone from the carrier's books. */
export function isCallOver(error: CarrierError): boolean {
  return (error.status === 400 && error.code === 21220) || isUnknownCall(error);
}

export function isUnknownCall(error: CarrierError): boolean {
  return error.status === 404;
}
