/** Details of an error response besides its message. */
export interface ErrorFacts {
  /** Messages, each under the name of the invalid field. */
  fields?: Readonly<Record<string, string>>;
  /** Delay before a retry, in ms. */
  retryAfterMs?: number;
  requestId?: string;
  /** The error object as received. */
  body?: object;
}

/**
 * An error response of the service. Status 0 means that there was no response; the code is then UNREACHABLE or TIMEOUT.
 */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly fields: Readonly<Record<string, string>>;
  readonly retryAfterMs: number | undefined;
  readonly requestId: string | undefined;
  readonly body: object | undefined;

  constructor(
    readonly status: number,
    /**
     * An error code of the service (`src/platform/http/contract/errors.ts`), UNREACHABLE, TIMEOUT, or UNKNOWN for a
     * response without an error code, such as one from a proxy.
     */
    readonly code: string,
    message: string,
    facts: ErrorFacts = {},
  ) {
    super(message);
    this.fields = facts.fields ?? {};
    this.retryAfterMs = facts.retryAfterMs;
    this.requestId = facts.requestId;
    this.body = facts.body;
  }
}

/**
 * Converts an error response to an `ApiError`.
 * @param body the parsed JSON body; undefined if there is none
 */
export function createApiError(
  status: number,
  body: unknown,
  facts: Omit<ErrorFacts, 'fields' | 'body'> = {},
): ApiError {
  if (typeof body !== 'object' || body === null || !('message' in body)) {
    return new ApiError(status, 'UNKNOWN', `The service responded with status ${status}.`, facts);
  }
  const code = 'error_code' in body ? String(body.error_code) : 'UNKNOWN';
  const fields = 'fields' in body && typeof body.fields === 'object' ? body.fields : {};
  return new ApiError(status, code, String(body.message), {
    ...facts,
    fields: { ...fields } as Record<string, string>,
    body,
  });
}

/** Builds a query string with its question mark. Leaves out undefined and empty values; '' when nothing remains. */
export function queryText(query: Readonly<Record<string, string | number | boolean | undefined>> = {}): string {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== '') given.append(name, String(value));
  }
  const text = given.toString();
  return text === '' ? '' : `?${text}`;
}
