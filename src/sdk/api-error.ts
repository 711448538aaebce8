/** What a refusal told beside its message. */
export interface ErrorFacts {
  /** What is wrong with single fields, by their names. */
  fields?: Readonly<Record<string, string>>;
  /** When another answer may be had. */
  retryAfterMs?: number;
  requestId?: string;
  /** The error object as it came. */
  body?: object;
}

/** A refusal by the service. Status 0: there was no answer, and the code is UNREACHABLE or TIMEOUT. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly fields: Readonly<Record<string, string>>;
  readonly retryAfterMs: number | undefined;
  readonly requestId: string | undefined;
  readonly body: object | undefined;

  constructor(
    readonly status: number,
    /** A code of `src/platform/http/contract/errors.ts`; UNKNOWN when what answered is not the service. */
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
 * The refusal that an answer means.
 * @param answer its body as JSON says it; undefined when it is none
 */
export function refusalOf(status: number, answer: unknown, facts: Omit<ErrorFacts, 'fields' | 'body'> = {}): ApiError {
  if (typeof answer !== 'object' || answer === null || !('message' in answer)) {
    return new ApiError(status, 'UNKNOWN', `The service answered with status ${status}.`, facts);
  }
  const code = 'error_code' in answer ? String(answer.error_code) : 'UNKNOWN';
  const fields = 'fields' in answer && typeof answer.fields === 'object' ? answer.fields : {};
  return new ApiError(status, code, String(answer.message), {
    ...facts,
    fields: { ...fields } as Record<string, string>,
    body: answer,
  });
}

/** A query string with its question mark, of what is given and not empty; empty when nothing is. */
export function queryText(query: Readonly<Record<string, string | number | boolean | undefined>> = {}): string {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== '') given.append(name, String(value));
  }
  const text = given.toString();
  return text === '' ? '' : `?${text}`;
}
