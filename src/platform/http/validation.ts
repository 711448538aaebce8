import type { z } from 'zod';
import { MAX_FAULTS, type RequestFault } from '../../kernel/errors.js';
import { invalidRequest } from '../../kernel/invalid-request.js';

/** Only such names are repeated in an error, because a name may be any text, such as a secret. */
const READABLE_NAME = /^(?!sk_)(?!.*\d{7})[A-Za-z][\w-]{0,63}$/;

/**
 * Validates the declared fields of a request and drops undeclared ones.
 * @throws ServiceError MISSING_PARAMS with all faults, and a sentence for each of the first five
 */
export function validated<T extends z.ZodType>(schema: T, fields: Record<string, unknown>): z.output<T> {
  const result = schema.safeParse(fields);
  if (result.success) return result.data;
  throw invalidRequest(faultsIn(result.error, fields));
}

/**
 * Validates the fields of a management API request and rejects undeclared ones.
 * @throws ServiceError MISSING_PARAMS with all faults, and a sentence for each of the first five
 */
export function strictlyValidated<T extends z.ZodObject>(schema: T, fields: Record<string, unknown>): z.output<T> {
  const unknown = Object.keys(fields).filter((name) => !Object.hasOwn(schema.shape, name));
  const known = Object.entries(fields).filter(([name]) => Object.hasOwn(schema.shape, name));
  const result = schema.safeParse(unknown.length === 0 ? fields : Object.fromEntries(known));
  const faults = result.success ? [] : faultsIn(result.error, fields);
  if (unknown.length > 0) {
    const sentence = unknownSentence(unknown, Object.keys(schema.shape));
    throw invalidRequest([...unknownFaults(unknown), ...faults], [sentence, ...faults.map(({ message }) => message)]);
  }
  if (!result.success) throw invalidRequest(faults);
  return result.data;
}

function faultsIn(error: z.ZodError, fields: Record<string, unknown>): RequestFault[] {
  return error.issues.slice(0, MAX_FAULTS).map(({ path, message }) => {
    const isMissing = path.length > 0 && valueAt(fields, path) === undefined;
    return { param: paramOf(path), code: isMissing ? 'parameter_missing' : 'parameter_invalid', message };
  });
}

function valueAt(fields: unknown, path: readonly PropertyKey[]): unknown {
  let value = fields;
  for (const key of path) value = (value as Record<PropertyKey, unknown> | null | undefined)?.[key];
  return value;
}

/** The name of a field, up to the first part that the sender named and that cannot be repeated. */
function paramOf(path: readonly PropertyKey[]): string {
  const names = path.map(String);
  const end = names.findIndex((name) => !/^\d+$/.test(name) && !READABLE_NAME.test(name));
  return names.slice(0, end === -1 ? names.length : end).join('.') || 'request';
}

function unknownFaults(unknown: readonly string[]): RequestFault[] {
  return unknown.slice(0, MAX_FAULTS).map((name) => ({
    param: READABLE_NAME.test(name) ? name : 'request',
    code: 'parameter_unknown',
    message: 'Unknown field. Remove it.',
  }));
}

function unknownSentence(unknown: readonly string[], allowed: readonly string[]): string {
  const names = unknown.filter((name) => READABLE_NAME.test(name)).slice(0, MAX_FAULTS);
  const subject =
    names.length === 0
      ? 'The request contains an unknown field or parameter'
      : names.length === 1
        ? `${names[0]} is an unknown field or parameter`
        : `${names.join(', ')} are unknown fields or parameters`;
  return `${subject}. Allowed are: ${allowed.join(', ')}.`;
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
