import { ServiceError } from '../../kernel/errors.js';

const MAX_FIELDS = 200;

/** Fields of a form or a query: a string, or all values of a field that was given more than once. */
export type FormFields = Record<string, string | string[]>;

/**
 * The fields of a form or a query, collected in one pass. By URLSearchParams: parsers that read brackets in names change what
 * was signed.
 * @param encoded as it was sent
 * @throws ServiceError MISSING_PARAMS when there are more than 200, repeated ones included
 */
export function fieldsOf(encoded: string): FormFields {
  // Without a prototype, so that a field of any name is only a field.
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

/** How many fields a text has at most, empty ones included; counted up to the limit, before they cost anything. */
function parts(encoded: string): number {
  let count = 1;
  for (let i = encoded.indexOf('&'); i !== -1 && count <= MAX_FIELDS; i = encoded.indexOf('&', i + 1)) count += 1;
  return count;
}

/** The value of a field that was given once; a repeated one is as good as absent. */
export function single(fields: FormFields, name: string): string | undefined {
  const value = fields[name];
  return typeof value === 'string' ? value : undefined;
}
