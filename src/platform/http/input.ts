import type { z } from 'zod';
import { ServiceError } from '../../kernel/errors.js';
import type { ApiContext } from './context.js';
import { fieldsOf } from './form.js';
import { readJsonBody, refusePrototypeKeys } from './json-body.js';
import { presentFields, strictlyValidated } from './validation.js';

/**
 * The parameters of a query. One that is misspelt must not silently be told as another question, so unknown ones are
 * refused; `mode` was read with the authentication.
 * @throws ServiceError MISSING_PARAMS
 */
export function queryOf<T extends z.ZodObject>(schema: T, ctx: ApiContext): z.output<T> {
  const fields = fieldsOf(ctx.querystring);
  refusePrototypeKeys(fields);
  const { mode: _read, ...others } = fields;
  return strictlyValidated(schema, others);
}

/**
 * The fields of a JSON body. Null is the same as absent, as on the specified endpoints, but in a PATCH, where it takes a
 * field away.
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
