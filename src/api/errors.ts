import { mongo } from 'mongoose';
import { CallServiceUnavailable } from '../calls/gateway.js';
import { ERRORS, errorObject } from '../platform/http/contract/errors.js';
import { ServiceError } from '../kernel/errors.js';
import { LedgerBusyError } from '../billing/ledger/ledger.js';
import { PasswordsBusyError } from '../identity/people/passwords.js';
import type { Logger } from '../platform/telemetry/logger.js';
import type { ApiContext } from '../platform/http/context.js';
import { unavailable } from '../platform/http/deadline.js';

/** Default Retry-After in seconds, for errors that do not set their own. */
const RETRY_AFTER_SECONDS: Readonly<Record<number, string>> = { 429: '5', 503: '1' };

/** Middleware that turns thrown errors into error responses. Logs unexpected ones once and hides their details. */
export function errors(logger: Logger) {
  return async (ctx: ApiContext, next: () => Promise<unknown>): Promise<void> => {
    try {
      await next();
    } catch (error) {
      const refusal = serviceErrorOf(error);
      const { requestId, route } = ctx.state;
      if (refusal.code === 'INTERNAL_ERROR') logger.error({ requestId, route, err: error }, 'request failed');
      else if (refusal.code === 'SERVICE_UNAVAILABLE') logger.warn({ requestId, route, err: error }, 'service away');
      sendError(ctx, refusal);
    }
  };
}

function sendError(ctx: ApiContext, refusal: ServiceError): void {
  const { status } = ERRORS[refusal.code];
  ctx.status = status;
  ctx.body = errorObject(refusal);
  const retryAfter = refusal.retryAfterSeconds?.toString() ?? RETRY_AFTER_SECONDS[status];
  if (retryAfter !== undefined && !ctx.response.get('Retry-After')) ctx.set('Retry-After', retryAfter);
}

/** The error that clients see for an internal error. */
function serviceErrorOf(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  const passing =
    error instanceof CallServiceUnavailable ||
    error instanceof LedgerBusyError ||
    error instanceof PasswordsBusyError ||
    isDatabaseAway(error);
  if (passing) return unavailable();
  return new ServiceError('INTERNAL_ERROR', 'Something went wrong on our side.');
}

/** Server error codes during shutdown, start-up, failover or timeout; the same operation may succeed a moment later. */
const SERVER_BUSY_CODES = new Set([6, 7, 50, 89, 91, 189, 262, 9_001, 10_107, 11_600, 11_602, 13_435, 13_436]);

/** Labels of errors after which the same operation may succeed on retry, such as during a failover. */
const TRANSIENT_LABELS = ['RetryableWriteError', 'TransientTransactionError'];

/** Whether the database did not respond, or not as a primary. */
function isDatabaseAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error.name === 'MongooseServerSelectionError') return true;
  if (error instanceof mongo.MongoServerError) {
    return SERVER_BUSY_CODES.has(Number(error.code)) || TRANSIENT_LABELS.some((label) => error.hasErrorLabel(label));
  }
  // The driver's own errors concern connections, pools and timeouts; only an invalid argument is our fault.
  if (error instanceof mongo.MongoError) return !(error instanceof mongo.MongoInvalidArgumentError);
  // Mongoose throws this error while there is no connection; it has no separate class.
  return error.name === 'MongooseError' && error.message.includes('bufferCommands');
}
