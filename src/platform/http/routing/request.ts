import type { z } from 'zod';
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
 * `onDemand` is read and validated when the handler asks for it.
 * @throws ServiceError MISSING_PARAMS, PAYLOAD_TOO_LARGE, UNSUPPORTED_MEDIA_TYPE
 */
export async function readRequest(ctx: ApiContext, route: Route): Promise<RequestParts> {
  const parts: RequestParts = {};
  if (route.params) parts.params = validated(route.params, ctx['params'] as Record<string, string>);
  if (route.readsItself) return parts;
  if (route.query) parts.query = queryOf(route.query, ctx);
  if (route.body) {
    const schema = route.body.schema as z.ZodObject;
    const read = () => bodyOf(schema, ctx);
    // While a slow body arrives, do not occupy a slot that others wait for.
    if (route.body.onDemand) parts.readBody = () => ctx.state.releaseSlotDuring?.(read) ?? read();
    else parts.body = await read();
  }
  if (route.headers) parts.headers = validated(route.headers, headersOf(ctx, route.headers));
  return parts;
}

function headersOf(ctx: ApiContext, declared: z.ZodObject): Record<string, unknown> {
  const names = Object.keys(declared.shape);
  return Object.fromEntries(names.map((name) => [name, ctx.req.headers[name.toLowerCase()]]));
}
