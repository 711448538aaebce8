/** Machine-readable error codes of the API. `src/platform/http/contract/errors.ts` maps each to its HTTP status. */
export type ErrorCode =
  | 'MISSING_PARAMS'
  | 'UNAUTHORIZED'
  | 'INSUFFICIENT_BALANCE'
  | 'AGENT_NOT_FOUND'
  | 'CALL_NOT_FOUND'
  | 'INTERNAL_ERROR'
  | 'HTTPS_REQUIRED'
  | 'FORBIDDEN'
  | 'DESTINATION_NOT_ALLOWED'
  | 'SPEND_LIMIT_EXCEEDED'
  | 'NOT_FOUND'
  | 'METHOD_NOT_ALLOWED'
  | 'IDEMPOTENCY_CONFLICT'
  | 'CALL_ENDED'
  | 'CONFLICT'
  | 'PAYLOAD_TOO_LARGE'
  | 'UNSUPPORTED_MEDIA_TYPE'
  | 'RANGE_NOT_SATISFIABLE'
  | 'RATE_LIMIT_EXCEEDED'
  | 'CONCURRENCY_LIMIT_EXCEEDED'
  | 'SERVICE_UNAVAILABLE';

/** An expected error. Its message is written for the client, names the invalid field, and is safe to send. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';

  constructor(
    readonly code: ErrorCode,
    message: string,
    /**
     * Further fields of the error object, such as `limit` and `current`, or `fields` with a message per invalid field.
     */
    readonly details: Readonly<Record<string, string | number | Readonly<Record<string, string>>>> = {},
    /** Seconds until a retry can succeed, if known. Sent as the Retry-After header with a 429 or 503. */
    readonly retryAfterSeconds?: number,
  ) {
    super(message);
  }
}

/** An error that a retry cannot fix. The class name identifies the kind. */
export abstract class PermanentError extends Error {}

/** An error that asks for a retry after a given delay. */
export abstract class RetryLaterError extends Error {
  constructor(
    message: string,
    readonly afterMs: number,
    /** True when the retry is expected, so that it is not logged as a warning. */
    readonly isPlanned: boolean,
  ) {
    super(message);
  }
}
