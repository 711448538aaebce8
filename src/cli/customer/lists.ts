import type { Client, PageOf } from '../../sdk/client.js';
import type { ListPath, OperationAt, QueryOf } from '../../sdk/operations.js';

/** Options of every paginated list. */
export interface PageOptions {
  limit?: number;
  all?: boolean;
  cursor?: string;
}

const DEFAULT_LIMIT = 20;

/** Reads up to `limit` entries, or all of them. Returns them as one page in the API's format. */
export async function readPages<P extends ListPath>(
  client: Client,
  path: P,
  query: QueryOf<OperationAt<'get', P>>,
  { limit, all, cursor }: PageOptions,
): Promise<PageOf<P>> {
  const most = limit ?? (all ? Infinity : DEFAULT_LIMIT);
  const data: unknown[] = [];
  let last: object = { has_more: false };
  const asked = { ...query, ...(cursor === undefined ? {} : { cursor }) };
  for await (const page of client.pages(path, asked, most)) {
    const { data: entries, ...rest } = page as { data: unknown[] };
    // Avoid spread arguments: with --all, a page may be added to thousands of earlier entries.
    for (const entry of entries) data.push(entry);
    last = rest;
  }
  return { data, ...last } as PageOf<P>;
}
