import type { z } from 'zod';
import { rejectRepeated } from '../../kernel/common-errors.js';
import { invalidBody, runChecks } from '../../kernel/invalid-request.js';
import type { ApiContext } from './context.js';
import { fieldsOf } from './form.js';
import { readJsonBody, rejectPrototypeKeys } from './json-body.js';
import { presentFields, strictlyValidated } from './validation.js';

/**
 * Validates the query parameters. Rejects unknown ones, because ignoring a misspelt parameter would silently change the
 * meaning. `mode` was already read during authentication.
 * @throws ServiceError MISSING_PARAMS
 */
export function queryOf<T extends z.ZodObject>(schema: T, ctx: ApiContext): z.output<T> {
  const fields = fieldsOf(ctx.querystring);
  rejectPrototypeKeys(fields);
  const { mode: _read, ...others } = fields;
  return strictlyValidated(schema, others);
}

/**
 * Reads and validates the fields of a JSON body. Null means absent, except in a PATCH, where null removes a field.
 * @throws ServiceError UNSUPPORTED_MEDIA_TYPE, PAYLOAD_TOO_LARGE, MISSING_PARAMS
 */
export async function bodyOf<T extends z.ZodObject>(schema: T, ctx: ApiContext): Promise<z.output<T>> {
  const { fields, repeated } = await readJsonBody(ctx);
  rejectPrototypeKeys(fields);
  const changes = ctx.method === 'PATCH';
  const present = changes ? fields : presentFields(fields);
  const [, parsed] = runChecks(
    () => rejectRepeated(repeated),
    () => strictlyValidated(schema, present),
  );
  if (changes && Object.keys(parsed).length === 0) {
    throw invalidBody(
      'parameter_missing',
      `The body contains no change. Give at least one of these fields: ${Object.keys(schema.shape).join(', ')}.`,
    );
  }
  return parsed;
}
