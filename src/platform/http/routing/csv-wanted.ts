import type { ApiContext } from '../context.js';

/** Whether an answer that there is as JSON and as CSV is to be CSV: by the `format` of the query, or else by `Accept`. */
export function wantsCsv(ctx: ApiContext): boolean {
  ctx.vary('Accept');
  const { format } = ctx.query;
  return (format ?? (ctx.accepts('application/json', 'text/csv') === 'text/csv' ? 'csv' : 'json')) === 'csv';
}
