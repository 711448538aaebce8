import type { z } from 'zod';
import { ServiceError } from '../../kernel/errors.js';
import type { ApiContext } from './context.js';
import { fieldsOf } from './form.js';
import { readJsonBody, refusePrototypeKeys } from './json-body.js';
import { presentFields, strictlyValidated } from './validation.js';

/**
 * Validates the query parameters. Rejects unknown ones, so that a misspelt one does not silently change the meaning;
 * `mode` was already read during authentication.
 * @throws ServiceError MISSING_PARAMS
 */
export function queryOf<T extends z.ZodObject>(schema: T, ctx: ApiContext): z.output<T> {
  const fields = fieldsOf(ctx.querystring);
  refusePrototypeKeys(fields);
  const { mode: _read, ...others } = fields;
  return strictlyValidated(schema, others);
}

/**
 * Reads and validates the fields of a JSON body. Null means absent, as on the specified endpoints, except in a PATCH,
 * where it removes a field.
 * @throws ServiceError UNSUPPORTED_MEDIA_TYPE, PAYLOAD_TOO_LARGE, MISSING_PARAMS
 */
export async function bodyOf<T extends z.ZodObject>(schema: T, ctx: ApiContext): Promise<z.output<T>> {
  const { fields, repeated } = await readJsonBody(ctx);
  refusePrototypeKeys(fields);
  if (repeated.size > 0) throw new ServiceError('MISSING_PARAMS', 'A field of the JSON object is given twice.');
  const changes = ctx.method === 'PATCH';
  const present = changes ? fields : presentFields(fields);
  const parsed = strictlyValidated(schema, present);
  if (changes && Object.keys(parsed).length === 0) {
    throw new ServiceError(
      'MISSING_PARAMS',
      `Nothing to change was given; this path takes ${Object.keys(schema.shape).join(', ')}.`,
    );
  }
  return parsed;
}
