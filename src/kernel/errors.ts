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

/** Kinds of faults in a request. `src/platform/http/contract/errors.ts` explains each. */
export type FaultCode =
  | 'parameter_missing'
  | 'parameter_invalid'
  | 'parameter_unknown'
  | 'parameter_repeated'
  | 'json_invalid'
  | 'body_unreadable'
  | 'request_invalid';

/** One fault of a request. */
export interface RequestFault {
  /** The field or parameter, such as `tools.0.url`; `body` or `request` if the whole of it is at fault. */
  param: string;
  code: FaultCode;
  /** Written for the client, and safe to send. */
  message: string;
}

/** Maximum faults reported at once, because a longer list would not be read. */
export const MAX_FAULTS = 20;

/** An expected error. Its message is written for the client, names the invalid field, and is safe to send. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  /** The faults of the request, at most 20. Empty if the request itself is in order. */
  readonly faults: readonly RequestFault[];

  constructor(
    readonly code: ErrorCode,
    message: string,
    /**
     * Further fields of the error object, such as `limit` and `current`, or `fields` with a message per invalid field.
     */
    readonly details: Readonly<Record<string, string | number | Readonly<Record<string, string>>>> = {},
    /** Seconds until a retry can succeed, if known. Sent as the Retry-After header with a 429 or 503. */
    readonly retryAfterSeconds?: number,
    /** By default those of `details.fields`. */
    faults?: readonly RequestFault[],
  ) {
    super(message);
    this.faults = (faults ?? faultsByDefault({ code, message, details })).slice(0, MAX_FAULTS);
  }
}

/**
 * Rejects new calls of an account that an operator or a finding has frozen. Clients get the response of an unavailable
 * service, but nothing has failed, so metrics and logs do not count it as a failure.
 */
export class AccountFrozenError extends ServiceError {
  constructor() {
    super(
      'SERVICE_UNAVAILABLE',
      'The account is frozen and cannot start new calls. Contact the operator of this service.',
    );
  }
}

function faultsByDefault({
  code,
  message,
  details,
}: Pick<ServiceError, 'code' | 'message' | 'details'>): RequestFault[] {
  const { fields } = details;
  if (typeof fields === 'object') {
    const names = Object.keys(fields);
    // A fault inside a list is also listed under the name of the list.
    const own = names.filter((name) => !names.some((other) => other.startsWith(`${name}.`)));
    return own.map((param) => ({ param, code: 'parameter_invalid', message: fields[param] ?? '' }));
  }
  return code === 'MISSING_PARAMS' ? [{ param: 'request', code: 'request_invalid', message }] : [];
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
