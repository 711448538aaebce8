import { mongo } from 'mongoose';
import { CallServiceUnavailable } from '../calls/gateway.js';
import { ERRORS, errorObject } from '../platform/http/contract/errors.js';
import { ServiceError } from '../kernel/errors.js';
import { LedgerBusyError } from '../billing/ledger/ledger.js';
import { PasswordsBusyError } from '../identity/people/passwords.js';
import type { Logger } from '../platform/telemetry/logger.js';
import type { ApiContext } from '../platform/http/context.js';
import { unavailable } from '../platform/http/deadline.js';

/** Seconds after which a refused request may have another answer, where the refusing part does not know better. */
const RETRY_AFTER_SECONDS: Readonly<Record<number, string>> = { 429: '5', 503: '1' };

/** Turns whatever was thrown into the error object. What is not an expected refusal is logged once, and told to nobody. */
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

/** The refusal that stands for an error towards clients. */
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

/** What a server answers while it stops, starts or hands over, or has no more time; the same operation may succeed in a moment. */
const SERVER_BUSY_CODES = new Set([6, 7, 50, 89, 91, 189, 262, 9_001, 10_107, 11_600, 11_602, 13_435, 13_436]);

/** Labels by which the database says that the same operation may succeed on another try, such as during a failover. */
const TRANSIENT_LABELS = ['RetryableWriteError', 'TransientTransactionError'];

/** Whether an error says that the database did not answer, or not as a primary. */
function isDatabaseAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error.name === 'MongooseServerSelectionError') return true;
  if (error instanceof mongo.MongoServerError) {
    return SERVER_BUSY_CODES.has(Number(error.code)) || TRANSIENT_LABELS.some((label) => error.hasErrorLabel(label));
  }
  // What the driver says by itself is of connections, pools and time; only a wrong argument is our own fault.
  if (error instanceof mongo.MongoError) return !(error instanceof mongo.MongoInvalidArgumentError);
  // What mongoose throws at once while there is no connection; it has no class of its own.
  return error.name === 'MongooseError' && error.message.includes('bufferCommands');
}
