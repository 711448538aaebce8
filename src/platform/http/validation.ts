import type { z } from 'zod';
import { ServiceError } from '../../kernel/errors.js';

/** Faults told at once; a request with more is not read by a person. */
const MOST_FAULTS = 5;

/**
 * The declared fields of a request; undeclared ones are left out.
 * @throws ServiceError MISSING_PARAMS naming every field at fault
 */
export function validated<T extends z.ZodType>(schema: T, fields: Record<string, unknown>): z.output<T> {
  const result = schema.safeParse(fields);
  if (result.success) return result.data;
  throw new ServiceError('MISSING_PARAMS', sentencesOf(result.error));
}

function sentencesOf(error: z.ZodError): string {
  const faults = [...new Set(error.issues.map((issue) => issue.message))];
  return faults.slice(0, MOST_FAULTS).join(' ');
}

/**
 * The declared fields of a request of the management interface, which takes no others. The error also tells each fault by
 * its field, for forms.
 * @throws ServiceError MISSING_PARAMS
 */
export function strictlyValidated<T extends z.ZodObject>(schema: T, fields: Record<string, unknown>): z.output<T> {
  const unknown = Object.keys(fields).find((name) => !Object.hasOwn(schema.shape, name));
  if (unknown !== undefined) {
    const known = Object.keys(schema.shape).join(', ');
    throw new ServiceError('MISSING_PARAMS', `There is a field that this path does not take; it takes ${known}.`);
  }
  const result = schema.safeParse(fields);
  if (result.success) return result.data;
  const byField: Record<string, string> = {};
  for (const { path, message } of result.error.issues.slice(0, MOST_FAULTS)) {
    const field = String(path[0] ?? '');
    byField[field] ??= message;
    // Of a list, say, also by the place in it, such as tools.0.url, where the list's name would be one too many.
    byField[path.join('.')] ??= message.replace(`${field}: `, '');
  }
  throw new ServiceError('MISSING_PARAMS', sentencesOf(result.error), { fields: byField });
}

/** Fields that are there: null is the same as absent, and so are an empty agent_id and an empty instruction. */
export function presentFields(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).filter(([name, value]) => value !== null && !(MAY_BE_EMPTY.has(name) && isBlank(value))),
  );
}

const MAY_BE_EMPTY = new Set(['agent_id', 'instruction']);

function isBlank(value: unknown): boolean {
  return typeof value === 'string' && value.trim() === '';
}
