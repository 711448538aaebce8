import type { z } from 'zod';
import { ServiceError } from '../../kernel/errors.js';

/** Maximum errors reported at once, because a longer list would not be read. */
const MAX_FAULTS = 5;

/** Only such names are repeated in an error, because a name may be any text. */
const READABLE_NAME = /^[A-Za-z]\w{0,63}$/;

/**
 * Validates the declared fields of a request and drops undeclared ones.
 * @throws ServiceError MISSING_PARAMS with a sentence for each of the first five errors
 */
export function validated<T extends z.ZodType>(schema: T, fields: Record<string, unknown>): z.output<T> {
  const result = schema.safeParse(fields);
  if (result.success) return result.data;
  throw new ServiceError('MISSING_PARAMS', sentencesOf(result.error));
}

function sentencesOf(error: z.ZodError): string {
  const faults = [...new Set(error.issues.map((issue) => issue.message))];
  return faults.slice(0, MAX_FAULTS).join(' ');
}

/**
 * Validates the fields of a management API request and rejects undeclared ones. The error also lists the messages by
 * field, for forms.
 * @throws ServiceError MISSING_PARAMS
 */
export function strictlyValidated<T extends z.ZodObject>(schema: T, fields: Record<string, unknown>): z.output<T> {
  const unknown = Object.keys(fields).find((name) => !Object.hasOwn(schema.shape, name));
  if (unknown !== undefined) {
    const known = Object.keys(schema.shape).join(', ');
    const isReadable = READABLE_NAME.test(unknown);
    const subject = isReadable ? `${unknown} is` : 'The request contains';
    throw new ServiceError(
      'MISSING_PARAMS',
      `${subject} an unknown field or parameter. Allowed are: ${known}.`,
      isReadable ? { fields: { [unknown]: 'Unknown field. Remove it.' } } : {},
    );
  }
  const result = schema.safeParse(fields);
  if (result.success) return result.data;
  const byField: Record<string, string> = {};
  for (const { path, message } of result.error.issues.slice(0, MAX_FAULTS)) {
    const field = String(path[0] ?? '');
    byField[field] ??= message;
    // For errors inside a list, use a key such as tools.0.url, and leave the list's name out of the message.
    byField[path.join('.')] ??= message.replace(`${field}: `, '');
  }
  throw new ServiceError('MISSING_PARAMS', sentencesOf(result.error), { fields: byField });
}

/** Leaves out absent fields. Null counts as absent, and so do an empty agent_id and an empty instruction. */
export function presentFields(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).filter(([name, value]) => value !== null && !(MAY_BE_EMPTY.has(name) && isBlank(value))),
  );
}

const MAY_BE_EMPTY = new Set(['agent_id', 'instruction']);

function isBlank(value: unknown): boolean {
  return typeof value === 'string' && value.trim() === '';
}
