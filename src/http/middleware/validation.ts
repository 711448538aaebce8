import type { z } from 'zod';
import { ServiceError } from '../../domain/errors.js';

/** Faults told at once; a request with more is not read by a person. */
const MOST_FAULTS = 5;

/**
 * The declared fields of a request; undeclared ones are left out.
 * @throws ServiceError MISSING_PARAMS naming every field at fault
 */
export function validated<T extends z.ZodType>(schema: T, fields: Record<string, unknown>): z.output<T> {
  const result = schema.safeParse(fields);
  if (result.success) return result.data;
  const faults = [...new Set(result.error.issues.map((issue) => issue.message))];
  throw new ServiceError('MISSING_PARAMS', faults.slice(0, MOST_FAULTS).join(' '));
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
