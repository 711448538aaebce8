import type { z } from 'zod';
import type { ServiceError } from '../../../kernel/errors.js';
import { isInvalidRequest, throwTogether } from '../../../kernel/invalid-request.js';
import type { Route } from '../contract/route.js';
import type { ApiContext } from '../context.js';
import { bodyOf, queryOf } from '../input.js';
import { validated } from '../validation.js';

interface RequestParts {
  params?: object;
  query?: object;
  headers?: object;
  body?: object;
  readBody?: () => Promise<object>;
}

/**
 * Reads and validates the parts of a request that its contract declares: path, query, body and headers. A body marked
 * `onDemand` is read and validated when the handler asks for it. Reports the faults of all parts together.
 * @throws ServiceError MISSING_PARAMS, PAYLOAD_TOO_LARGE, UNSUPPORTED_MEDIA_TYPE
 */
export async function readRequest(ctx: ApiContext, route: Route): Promise<RequestParts> {
  const parts: RequestParts = {};
  const { params, query, headers, body } = route;
  const faulty: ServiceError[] = [];
  const check = async <T>(read: () => T | Promise<T>, keep: (value: T) => void): Promise<void> => {
    try {
      keep(await read());
    } catch (error) {
      if (!isInvalidRequest(error)) throw faulty[0] ?? error;
      faulty.push(error);
    }
  };
  if (params) {
    const given = ctx['params'] as Record<string, string>;
    await check(
      () => validated(params, given),
      (valid) => (parts.params = valid),
    );
  }
  if (query && !route.readsItself)
    await check(
      () => queryOf(query, ctx),
      (valid) => (parts.query = valid),
    );
  if (body && !route.readsItself) {
    const read = () => bodyOf(body.schema as z.ZodObject, ctx);
    // While a slow body arrives, do not occupy a slot that others wait for.
    if (body.onDemand) parts.readBody = () => ctx.state.releaseSlotDuring?.(read) ?? read();
    else await check(read, (valid) => (parts.body = valid));
  }
  if (headers && !route.readsItself) {
    await check(
      () => validated(headers, headersOf(ctx, headers)),
      (valid) => (parts.headers = valid),
    );
  }
  throwTogether(faulty);
  return parts;
}

function headersOf(ctx: ApiContext, declared: z.ZodObject): Record<string, unknown> {
  const names = Object.keys(declared.shape);
  return Object.fromEntries(names.map((name) => [name, ctx.req.headers[name.toLowerCase()]]));
}
