import { z } from 'zod';
import type { ErrorCode, ServiceError } from '../../../kernel/errors.js';

/** Every error code with its HTTP status and its meaning for clients. */
export const ERRORS: Readonly<Record<ErrorCode, { status: number; meaning: string }>> = {
  MISSING_PARAMS: { status: 400, meaning: 'Required or valid parameters are missing; the message names the field.' },
  UNAUTHORIZED: { status: 401, meaning: 'The API key is missing, invalid, revoked or expired.' },
  INSUFFICIENT_BALANCE: { status: 402, meaning: 'The account balance is too low for a minute of talk.' },
  HTTPS_REQUIRED: { status: 403, meaning: 'The request did not arrive over HTTPS.' },
  FORBIDDEN: { status: 403, meaning: 'The request is not allowed.' },
  DESTINATION_NOT_ALLOWED: { status: 403, meaning: 'This number may not be called.' },
  SPEND_LIMIT_EXCEEDED: { status: 403, meaning: 'The account has reached a spending limit.' },
  AGENT_NOT_FOUND: { status: 404, meaning: 'The agent id does not exist.' },
  CALL_NOT_FOUND: { status: 404, meaning: 'The call id does not exist.' },
  NOT_FOUND: { status: 404, meaning: 'There is nothing at this path.' },
  METHOD_NOT_ALLOWED: { status: 405, meaning: 'The path does not take this method; Allow names those it takes.' },
  IDEMPOTENCY_CONFLICT: {
    status: 409,
    meaning: 'The Idempotency-Key, or the payment, was told with other content before.',
  },
  CALL_ENDED: { status: 409, meaning: 'The call had ended by itself; status and end_reason tell how.' },
  CONFLICT: { status: 409, meaning: 'The present state does not allow it; the message tells why.' },
  PAYLOAD_TOO_LARGE: { status: 413, meaning: 'The request is larger than the service takes.' },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, meaning: 'The request body is of a type or encoding that is not taken.' },
  RATE_LIMIT_EXCEEDED: {
    status: 429,
    meaning: 'Too many requests with this API key, or test calls today; Retry-After tells when to ask again.',
  },
  CONCURRENCY_LIMIT_EXCEEDED: { status: 429, meaning: 'The account has as many calls at once as its plan allows.' },
  INTERNAL_ERROR: { status: 500, meaning: 'Internal server error.' },
  SERVICE_UNAVAILABLE: { status: 503, meaning: 'A part of the service is away; ask again after Retry-After seconds.' },
};

/** The error object. Some codes add fields, such as `limit` and `current`. */
export const ErrorObject = z
  .looseObject({
    success: z.literal(false).describe('Always false.'),
    message: z.string().describe('Human-readable text.'),
    error_code: z.enum(Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]]).describe('Machine-readable code.'),
  })
  .meta({ id: 'Error' });

export type ErrorObject = z.infer<typeof ErrorObject>;

/** Builds the body of an error response. */
export function errorObject(error: Pick<ServiceError, 'code' | 'message' | 'details'>): ErrorObject {
  return { success: false, message: error.message, error_code: error.code, ...error.details };
}
