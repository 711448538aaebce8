/** Every machine-readable code the service answers with; the HTTP status of each stands in `src/platform/http/contract/errors.ts`. */
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
  | 'RATE_LIMIT_EXCEEDED'
  | 'CONCURRENCY_LIMIT_EXCEEDED'
  | 'SERVICE_UNAVAILABLE';

/** An expected refusal. The message is written for the client and names the field at fault; it is safe to send out. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';

  constructor(
    readonly code: ErrorCode,
    message: string,
    /** Further members of the error object, e.g. `limit` and `current`, or `fields` with a sentence for each at fault. */
    readonly details: Readonly<Record<string, string | number | Readonly<Record<string, string>>>> = {},
  ) {
    super(message);
  }
}

/** Work that would fail the same way however often it is repeated; its name says of what kind. */
export abstract class PermanentError extends Error {}

/** Work that is to be tried again after a time that the failing part knows. */
export abstract class RetryLaterError extends Error {
  constructor(
    message: string,
    readonly afterMs: number,
    /** Part of the plan, so no reason for a warning in the log. */
    readonly isPlanned: boolean,
  ) {
    super(message);
  }
}
