import { z } from 'zod';
import type { ErrorCode, ServiceError } from '../../../kernel/errors.js';

/** Every error code with its HTTP status and its meaning for clients. */
export const ERRORS: Readonly<Record<ErrorCode, { status: number; meaning: string }>> = {
  MISSING_PARAMS: {
    status: 400,
    meaning: 'A required parameter is missing or a parameter is invalid; the message names the field.',
  },
  UNAUTHORIZED: { status: 401, meaning: 'The API key is missing, invalid, revoked or expired.' },
  INSUFFICIENT_BALANCE: { status: 402, meaning: 'The account balance is too low for one minute of the call.' },
  HTTPS_REQUIRED: { status: 403, meaning: 'The request did not arrive over HTTPS.' },
  FORBIDDEN: { status: 403, meaning: 'The request is not allowed.' },
  DESTINATION_NOT_ALLOWED: { status: 403, meaning: 'This number may not be called.' },
  SPEND_LIMIT_EXCEEDED: { status: 403, meaning: 'The account has reached a spending limit.' },
  AGENT_NOT_FOUND: { status: 404, meaning: 'There is no agent with this agent_id.' },
  CALL_NOT_FOUND: { status: 404, meaning: 'There is no call with this call_id.' },
  NOT_FOUND: { status: 404, meaning: 'There is no such endpoint or object.' },
  METHOD_NOT_ALLOWED: {
    status: 405,
    meaning: 'The path does not support this method; the Allow header lists the methods it supports.',
  },
  IDEMPOTENCY_CONFLICT: {
    status: 409,
    meaning: 'The Idempotency-Key or the payment id was used before with different content.',
  },
  CALL_ENDED: { status: 409, meaning: 'The call had already ended; status and end_reason say how.' },
  CONFLICT: { status: 409, meaning: 'The current state does not allow the operation; the message says why.' },
  PAYLOAD_TOO_LARGE: { status: 413, meaning: 'The request is larger than the limit.' },
  UNSUPPORTED_MEDIA_TYPE: {
    status: 415,
    meaning: 'The content type or encoding of the request body is not supported.',
  },
  RANGE_NOT_SATISFIABLE: {
    status: 416,
    meaning: 'The requested range begins after the end of the file; the Content-Range header has its length.',
  },
  RATE_LIMIT_EXCEEDED: {
    status: 429,
    meaning: 'Too many requests with this API key, or too many test calls today; retry after Retry-After seconds.',
  },
  CONCURRENCY_LIMIT_EXCEEDED: { status: 429, meaning: 'The account has reached its limit of concurrent calls.' },
  INTERNAL_ERROR: { status: 500, meaning: 'Internal server error.' },
  SERVICE_UNAVAILABLE: {
    status: 503,
    meaning: 'The service or one of its dependencies is unavailable; retry after Retry-After seconds.',
  },
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
