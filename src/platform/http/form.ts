import { ServiceError } from '../../kernel/errors.js';

const MAX_FIELDS = 200;

/** Fields of a form or query: a string, or all values of a repeated field. */
export type FormFields = Record<string, string | string[]>;

/**
 * Parses a form or query in one pass. Uses URLSearchParams, because other parsers interpret brackets in names, which
 * would change the signed fields.
 * @param encoded as received
 * @throws ServiceError MISSING_PARAMS for more than 200 fields, including repeated ones
 */
export function fieldsOf(encoded: string): FormFields {
  // The object has no prototype, so that a field may have any name, such as `__proto__`.
  const fields = Object.create(null) as FormFields;
  if (parts(encoded) > MAX_FIELDS) {
    throw new ServiceError('MISSING_PARAMS', `A form or query must have at most ${MAX_FIELDS} fields.`);
  }
  for (const [name, value] of new URLSearchParams(encoded)) {
    const before = fields[name];
    if (before === undefined) fields[name] = value;
    else if (typeof before === 'string') fields[name] = [before, value];
    else before.push(value);
  }
  return fields;
}

/** Returns an upper bound of the number of fields, including empty ones. Stops counting above the limit. */
function parts(encoded: string): number {
  let count = 1;
  for (let i = encoded.indexOf('&'); i !== -1 && count <= MAX_FIELDS; i = encoded.indexOf('&', i + 1)) count += 1;
  return count;
}

/** Returns the value of a field that occurs once; undefined if the field is absent or repeated. */
export function readSingleField(fields: FormFields, name: string): string | undefined {
  const value = fields[name];
  return typeof value === 'string' ? value : undefined;
}
