import type { ApiContext } from '../context.js';

/** Whether to respond with CSV instead of JSON: by the `format` query parameter, or else by the Accept header. */
export function wantsCsv(ctx: ApiContext): boolean {
  ctx.vary('Accept');
  const { format } = ctx.query;
  return (format ?? (ctx.accepts('application/json', 'text/csv') === 'text/csv' ? 'csv' : 'json')) === 'csv';
}
