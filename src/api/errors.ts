import { mongo } from 'mongoose';
import { CallServiceUnavailable } from '../calls/gateway.js';
import { ERRORS, errorObject } from '../platform/http/contract/errors.js';
import { AccountFrozenError, ServiceError } from '../kernel/errors.js';
import { CALL_ID_PATTERN } from '../kernel/ids.js';
import { LedgerBusyError } from '../billing/ledger/ledger.js';
import { ContentionError } from '../platform/mongo/optimistic-update.js';
import { PasswordsBusyError } from '../identity/people/passwords.js';
import type { Logger } from '../platform/telemetry/logger.js';
import type { ApiContext } from '../platform/http/context.js';
import { serviceUnavailable } from '../platform/http/deadline.js';

/** Default Retry-After in seconds, for errors that do not set their own. */
const RETRY_AFTER_SECONDS: Readonly<Record<number, string>> = { 429: '5', 503: '1' };

/** Routes that load balancers and orchestrators ask every second or so. */
const PROBES: ReadonlySet<string> = new Set(['/health/ready', '/health/serving']);

/** Middleware that turns thrown errors into error responses. Logs unexpected ones once and hides their details. */
export function handleErrors(logger: Logger) {
  return async (ctx: ApiContext, next: () => Promise<unknown>): Promise<void> => {
    try {
      await next();
    } catch (error) {
      const serviceError = serviceErrorOf(error);
      const { requestId, route } = ctx.state;
      const where = { requestId, route, callId: callIdOf(ctx) ?? ctx.state.callId };
      if (error instanceof AccountFrozenError) ctx.state.isFrozen = true;
      else if (serviceError.code === 'INTERNAL_ERROR') logger.error({ ...where, err: error }, 'request failed');
      // The watch of dependencies logs each change once.
      else if (serviceError.code === 'SERVICE_UNAVAILABLE' && !PROBES.has(route ?? ''))
        logger.warn({ ...where, err: error }, 'service unavailable');
      sendError(ctx, serviceError);
    }
  };
}

/** Returns the id of the call in the path, if there is one. */
function callIdOf(ctx: ApiContext): string | undefined {
  const { call_id: callId } = (ctx['params'] ?? {}) as { call_id?: string };
  return callId !== undefined && CALL_ID_PATTERN.test(callId) ? callId : undefined;
}

function sendError(ctx: ApiContext, serviceError: ServiceError): void {
  const { status } = ERRORS[serviceError.code];
  ctx.status = status;
  ctx.body = errorObject(serviceError, ctx.state);
  const retryAfter = serviceError.retryAfterSeconds?.toString() ?? RETRY_AFTER_SECONDS[status];
  if (retryAfter !== undefined && !ctx.response.get('Retry-After')) ctx.set('Retry-After', retryAfter);
}

/** The error that clients see for an internal error. */
function serviceErrorOf(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  const isTemporary =
    error instanceof CallServiceUnavailable ||
    error instanceof LedgerBusyError ||
    error instanceof ContentionError ||
    error instanceof PasswordsBusyError ||
    isDatabaseUnavailable(error);
  if (isTemporary) return serviceUnavailable();
  return new ServiceError(
    'INTERNAL_ERROR',
    'Internal error. If it persists, contact support with the X-Request-Id of this response.',
  );
}

/** MongoDB's error codes for shutdown, start-up, failover and timeouts. The operation may succeed a moment later. */
const SERVER_BUSY_CODES = new Set([6, 7, 50, 89, 91, 189, 262, 9_001, 10_107, 11_600, 11_602, 13_435, 13_436]);

/** Error labels by which the driver says that the same operation may succeed on retry, such as during a failover. */
const TRANSIENT_LABELS = ['RetryableWriteError', 'TransientTransactionError'];

/** Whether the database did not respond, or responded that it is not the primary. */
function isDatabaseUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error.name === 'MongooseServerSelectionError') return true;
  // A majority did not have the write in time.
  if (error instanceof mongo.MongoWriteConcernError) return true;
  if (error instanceof mongo.MongoServerError) {
    return SERVER_BUSY_CODES.has(Number(error.code)) || TRANSIENT_LABELS.some((label) => error.hasErrorLabel(label));
  }
  // The driver's errors concern connections, pools and timeouts, except for an invalid argument, which is our bug.
  if (error instanceof mongo.MongoError) return !(error instanceof mongo.MongoInvalidArgumentError);
  // Mongoose throws an unspecific error while there is no connection; only its message identifies it.
  return error.name === 'MongooseError' && error.message.includes('bufferCommands');
}
