import { z } from 'zod';
import type { ErrorCode, RequestFault, FaultCode, ServiceError } from '../../../kernel/errors.js';

/** The meaning of a code, and the remedy. `npm run structure` writes docs/errors.md from these texts. */
interface Explanation {
  meaning: string;
  remedy: string;
}

/** Every error code with its HTTP status, its meaning for clients and the remedy. */
export const ERRORS: Readonly<Record<ErrorCode, Explanation & { status: number }>> = {
  MISSING_PARAMS: {
    status: 400,
    meaning: 'A required parameter is missing or a parameter is invalid; the message names the field.',
    remedy: 'Correct every entry of `errors`, then send the request again. Nothing was changed, placed or billed.',
  },
  UNAUTHORIZED: {
    status: 401,
    meaning: 'The API key is missing, invalid, revoked or expired.',
    remedy:
      'Send `Authorization: Bearer <API key>` with a key that is in use. Create one in the portal under API keys. In the portal, log in again.',
  },
  INSUFFICIENT_BALANCE: {
    status: 402,
    meaning: 'The account balance is too low for one minute of the call.',
    remedy: 'Top up the account, or wait until calls in progress release the money that they hold.',
  },
  HTTPS_REQUIRED: {
    status: 403,
    meaning: 'The request did not arrive over HTTPS.',
    remedy: 'Use the https address of the service. Replace the API key, because it was sent unencrypted.',
  },
  FORBIDDEN: {
    status: 403,
    meaning: 'The request is not allowed.',
    remedy:
      'The message says why: for example, a test key cannot change live objects, and some operations need an owner of the account.',
  },
  DESTINATION_NOT_ALLOWED: {
    status: 403,
    meaning: 'This number may not be called.',
    remedy:
      'Call another number, or ask the operator to allow the country for your account. Emergency and short numbers are never called.',
  },
  SPEND_LIMIT_EXCEEDED: {
    status: 403,
    meaning: 'The account has reached a spending limit.',
    remedy: 'Wait until the next UTC day, or ask the operator for a higher limit.',
  },
  AGENT_NOT_FOUND: {
    status: 404,
    meaning: 'There is no agent with this agent_id.',
    remedy:
      'Use an id that `GET /agents` lists with the same key. Live calls cannot use test agents, and archived agents are not found.',
  },
  CALL_NOT_FOUND: {
    status: 404,
    meaning: 'There is no call with this call_id.',
    remedy: 'Use the `call_id` of a call of this account, with a key of the mode in which it was placed.',
  },
  NOT_FOUND: {
    status: 404,
    meaning: 'There is no such endpoint or object.',
    remedy: 'Compare path and id with `/openapi.json`; the object may belong to the other mode, or be deleted.',
  },
  METHOD_NOT_ALLOWED: {
    status: 405,
    meaning: 'The path does not support this method; the Allow header lists the methods it supports.',
    remedy: 'Use a method that the `Allow` header lists.',
  },
  IDEMPOTENCY_CONFLICT: {
    status: 409,
    meaning: 'The Idempotency-Key or the payment id was used before with different content.',
    remedy: 'Repeat the first request unchanged, or send the new one with a new key.',
  },
  CALL_ENDED: {
    status: 409,
    meaning: 'The call had already ended; status and end_reason say how.',
    remedy: 'Nothing needs to be done. `GET /calls/{call_id}` returns the result.',
  },
  CONFLICT: {
    status: 409,
    meaning: 'The current state does not allow the operation; the message says why.',
    remedy: 'Change what the message names, for example archive an agent to create another, then try again.',
  },
  PAYLOAD_TOO_LARGE: {
    status: 413,
    meaning: 'The request is larger than the limit.',
    remedy: 'Shorten the body; the message has the limit. With status 431, send fewer or shorter headers.',
  },
  UNSUPPORTED_MEDIA_TYPE: {
    status: 415,
    meaning: 'The content type or encoding of the request body is not supported.',
    remedy: 'Send JSON in UTF-8 with `Content-Type: application/json`, uncompressed or with gzip or deflate.',
  },
  RANGE_NOT_SATISFIABLE: {
    status: 416,
    meaning: 'The requested range begins after the end of the file; the Content-Range header has its length.',
    remedy: 'Request a range within the length, or the whole file without a `Range` header.',
  },
  RATE_LIMIT_EXCEEDED: {
    status: 429,
    meaning: 'Too many requests with this API key, or too many test calls today; retry after Retry-After seconds.',
    remedy: 'Wait as long as `Retry-After` says. `RateLimit` tells how many requests the key has left.',
  },
  CONCURRENCY_LIMIT_EXCEEDED: {
    status: 429,
    meaning: 'The account has reached its limit of concurrent calls.',
    remedy: 'Try again when a call has ended; `limit` and `current` have the numbers. Larger plans allow more calls.',
  },
  INTERNAL_ERROR: {
    status: 500,
    meaning: 'Internal server error.',
    remedy: 'Try again. If it persists, contact the operator with the `request_id`.',
  },
  SERVICE_UNAVAILABLE: {
    status: 503,
    meaning: 'The service or one of its dependencies is unavailable; retry after Retry-After seconds.',
    remedy: 'Repeat the request after `Retry-After` seconds. No call was placed.',
  },
};

/** Every kind of fault in a request. */
export const FAULTS: Readonly<Record<FaultCode, Explanation>> = {
  parameter_missing: {
    meaning: 'A required field or parameter is missing.',
    remedy: 'Add `param`. In a `POST`, `null` counts as missing.',
  },
  parameter_invalid: {
    meaning: 'A field or parameter has a wrong type, format, length or value.',
    remedy: 'Correct `param` as the message says. `/docs` shows its format and an example.',
  },
  parameter_unknown: {
    meaning: 'The request contains a field or parameter that this endpoint does not have.',
    remedy: 'Remove `param`, or correct its spelling.',
  },
  parameter_repeated: {
    meaning: 'The JSON object contains a field twice.',
    remedy: 'Send each field once. Programs disagree about the value that counts.',
  },
  json_invalid: {
    meaning: 'The body is not JSON, or not a JSON object.',
    remedy:
      'Send one JSON object. Frequent causes are single quotes, a comma after the last field, and quotes that the shell removed.',
  },
  body_unreadable: {
    meaning: 'The body arrived incomplete, is not valid UTF-8, or does not match its Content-Type or Content-Encoding.',
    remedy: 'Send the whole body in UTF-8, with headers that describe it.',
  },
  request_invalid: {
    meaning: 'The request as a whole is invalid, for example not valid HTTP.',
    remedy: 'Correct the request as the message says.',
  },
};

const FaultObject = z
  .object({
    param: z
      .string()
      .describe('The field or parameter, such as tools.0.url; body or request if the whole of it is at fault.'),
    code: z.enum(Object.keys(FAULTS) as [FaultCode, ...FaultCode[]]).describe('Kind of the fault.'),
    message: z.string().describe('Human-readable text.'),
    doc_url: z.string().describe('Page about this kind of fault.'),
  })
  .meta({ id: 'Fault' });

/** The error object. Some codes add fields, such as `limit` and `current`. */
export const ErrorObject = z
  .looseObject({
    success: z.literal(false).describe('Always false.'),
    message: z.string().describe('Human-readable text.'),
    error_code: z.enum(Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]]).describe('Machine-readable code.'),
    errors: z
      .array(FaultObject)
      .optional()
      .describe('Every fault of the request, at most 20. Absent if the request itself is in order.'),
    doc_url: z.string().describe('Page about this error code.'),
    request_id: z.string().describe('The X-Request-Id of this response.'),
  })
  .meta({ id: 'Error' });

export type ErrorObject = z.infer<typeof ErrorObject>;

/** An error as stored for repeated requests, without what belongs to a single response. */
export type StoredError = Pick<ErrorObject, 'success' | 'message' | 'error_code'>;

/** The parts of a response that an error refers to. */
export interface ErrorReferences {
  requestId: string;
  /** URL of the page that explains the codes, without fragment. */
  errorDocs: string;
}

/** URL of the page that explains the error codes. */
export function errorDocsUrl({ publicBaseUrl }: { publicBaseUrl: string }): string {
  return `${publicBaseUrl}/docs/errors`;
}

/** The fragment of a code on the page about errors. */
export function anchorOf(code: ErrorCode | FaultCode): string {
  return code.toLowerCase();
}

export function storedError(error: Pick<ServiceError, 'code' | 'message' | 'details'>): StoredError {
  return { success: false, message: error.message, error_code: error.code, ...error.details };
}

/** Adds what belongs to a single response to an error. */
export function withReferences<T extends StoredError>(
  error: T,
  { requestId, errorDocs }: ErrorReferences,
): T & Pick<ErrorObject, 'doc_url' | 'request_id'> {
  return { ...error, doc_url: `${errorDocs}#${anchorOf(error.error_code)}`, request_id: requestId };
}

/** Maximum characters of a message about a fault, because it may contain values of the request. */
const MAX_MESSAGE_LENGTH = 1_000;

/** Builds the body of an error response. */
export function errorObject(
  error: Pick<ServiceError, 'code' | 'message' | 'details' | 'faults'>,
  references: ErrorReferences,
): ErrorObject {
  const errors = error.faults.map(({ param, code, message }: RequestFault) => ({
    param,
    code,
    message: message.slice(0, MAX_MESSAGE_LENGTH),
    doc_url: `${references.errorDocs}#${anchorOf(code)}`,
  }));
  return withReferences({ ...storedError(error), ...(errors.length === 0 ? {} : { errors }) }, references);
}
