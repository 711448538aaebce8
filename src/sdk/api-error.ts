/** Details of an error response besides its message. */
export interface ErrorFacts {
  /** Messages, each under the name of the invalid field. */
  fields?: Readonly<Record<string, string>>;
  /** Delay before a retry, in ms. */
  retryAfterMs?: number;
  requestId?: string;
  /** The faults of the request. */
  faults?: readonly ReportedFault[];
  /** Page about the error code. */
  docUrl?: string;
  /** The error object as received. */
  body?: object;
}

/** One fault of a request. */
export interface ReportedFault {
  /** The field or parameter, such as `tools.0.url`; `body` or `request` if the whole of it is at fault. */
  param: string;
  message: string;
  /** Kind of the fault, and page about it. Absent if the service is older than 0.2.0. */
  code?: string;
  docUrl?: string;
}

/**
 * An error response of the service. Status 0 means that there was no response; the code is then UNREACHABLE or TIMEOUT.
 */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly fields: Readonly<Record<string, string>>;
  readonly retryAfterMs: number | undefined;
  readonly requestId: string | undefined;
  /** Every fault of the request. Empty if the request itself is in order. */
  readonly faults: readonly ReportedFault[];
  readonly docUrl: string | undefined;
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
    this.faults = facts.faults ?? faultsByField(this.fields);
    this.docUrl = facts.docUrl;
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
  facts: Omit<ErrorFacts, 'fields' | 'body' | 'faults' | 'docUrl'> = {},
): ApiError {
  if (typeof body !== 'object' || body === null || !('message' in body)) {
    return new ApiError(status, 'UNKNOWN', `The service responded with status ${status}.`, facts);
  }
  const code = 'error_code' in body ? String(body.error_code) : 'UNKNOWN';
  const fields = 'fields' in body && typeof body.fields === 'object' ? body.fields : {};
  const requestId = textIn(body, 'request_id') ?? facts.requestId;
  const docUrl = textIn(body, 'doc_url');
  const faults = faultsIn(body);
  return new ApiError(status, code, String(body.message), {
    ...facts,
    fields: { ...fields } as Record<string, string>,
    ...(requestId === undefined ? {} : { requestId }),
    ...(docUrl === undefined ? {} : { docUrl }),
    ...(faults === undefined ? {} : { faults }),
    body,
  });
}

/** Reads the list of faults; undefined if there is none, as from an older service. */
function faultsIn(body: object): ReportedFault[] | undefined {
  const list = 'errors' in body && Array.isArray(body.errors) ? (body.errors as unknown[]) : undefined;
  return list?.flatMap((item) => {
    if (typeof item !== 'object' || item === null) return [];
    const [param, message] = [textIn(item, 'param'), textIn(item, 'message')];
    const [code, docUrl] = [textIn(item, 'code'), textIn(item, 'doc_url')];
    if (param === undefined || message === undefined) return [];
    return [{ param, message, ...(code === undefined ? {} : { code }), ...(docUrl === undefined ? {} : { docUrl }) }];
  });
}

function faultsByField(fields: Readonly<Record<string, string>>): ReportedFault[] {
  return Object.entries(fields).map(([param, message]) => ({ param, message }));
}

function textIn(object: object, name: string): string | undefined {
  const value: unknown = Reflect.get(object, name);
  return typeof value === 'string' ? value : undefined;
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
