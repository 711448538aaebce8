import { MAX_FAULTS, ServiceError, type RequestFault, type FaultCode } from './errors.js';

/** Maximum sentences in the message about several faults. */
const MAX_SENTENCES = 5;

/** The error for a request with one invalid field. @param message names the field */
export function invalidParam(param: string, message: string): ServiceError {
  return new ServiceError('MISSING_PARAMS', message, { fields: { [param]: message } });
}

/** The error for a request whose body has a fault as a whole. */
export function invalidBody(code: FaultCode, message: string): ServiceError {
  return new ServiceError('MISSING_PARAMS', message, {}, undefined, [{ param: 'body', code, message }]);
}

/**
 * The error for a request with faults in its fields.
 * @param sentences for the message of the error; by default those of the faults
 */
export function invalidRequest(
  faults: readonly RequestFault[],
  sentences: readonly string[] = faults.map(({ message }) => message),
): ServiceError {
  const fields: Record<string, string> = {};
  for (const { param, message } of faults.slice(0, MAX_FAULTS)) {
    const [field = ''] = param.split('.');
    fields[field] ??= message;
    // The key of a fault inside a list is like tools.0.url, so its message does not repeat the name of the list.
    fields[param] ??= message.replace(`${field}: `, '');
  }
  return new ServiceError('MISSING_PARAMS', messageOf(sentences), { fields }, undefined, faults);
}

function messageOf(sentences: readonly string[]): string {
  return [...new Set(sentences)].slice(0, MAX_SENTENCES).join(' ');
}

/** Whether an error says that the request is invalid. */
export function isInvalidRequest(error: unknown): error is ServiceError {
  return error instanceof ServiceError && error.code === 'MISSING_PARAMS';
}

/**
 * Joins errors about invalid fields of one request to one error. Each field is reported by the first error that names
 * it, because later checks rely on the earlier ones.
 * @throws ServiceError MISSING_PARAMS; does nothing if there are no errors
 */
export function throwTogether(errors: readonly ServiceError[]): void {
  const [first, ...others] = errors;
  if (first === undefined) return;
  if (others.length === 0) throw first;
  const known = new Set<string>();
  const faults: RequestFault[] = [];
  const sentences: string[] = [];
  let fields = {};
  for (const error of errors) {
    const added = error.faults.filter(({ param }) => !known.has(param));
    if (added.length === 0) continue;
    faults.push(...added);
    sentences.push(error.message);
    fields = { ...(error.details['fields'] as object | undefined), ...fields };
    for (const { param } of added) known.add(param);
  }
  throw new ServiceError('MISSING_PARAMS', messageOf(sentences), { fields }, undefined, faults);
}

/**
 * Runs checks of a request and reports the faults that all of them find.
 * @returns the result of each check
 * @throws ServiceError MISSING_PARAMS with all faults; any other error of a check at once
 */
export function runChecks<T extends readonly (() => unknown)[]>(
  ...checks: T
): { -readonly [I in keyof T]: ReturnType<T[I]> } {
  const errors: ServiceError[] = [];
  const results = checks.map((check) => {
    try {
      return check();
    } catch (error) {
      if (!isInvalidRequest(error)) throw error;
      errors.push(error);
      return undefined;
    }
  });
  throwTogether(errors);
  return results as { -readonly [I in keyof T]: ReturnType<T[I]> };
}
