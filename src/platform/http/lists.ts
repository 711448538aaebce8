import { pageSize } from './contract/list.js';
import type { Page, PagePosition } from '../mongo/pages.js';
import type { ApiContext } from './context.js';
import { deadlineOf } from './deadline.js';
import type { createCursors } from './cursor.js';

export type Cursors = ReturnType<typeof createCursors>;

/**
 * Timeout of lists. The embedded database of development scans all calls for each page. A real database uses an index
 * and is much faster, also for late pages.
 */
const LIST_TIMEOUT_MS = 10_000;

/** The response deadline of a list, ms since the epoch. */
export function listDeadlineOf(ctx: ApiContext): number {
  return deadlineOf(ctx, LIST_TIMEOUT_MS);
}

/** Paging parameters of a query. */
export interface PageQuery {
  limit?: number | undefined;
  cursor?: string | undefined;
}

/**
 * Returns where the requested page starts, and its size.
 * @param list names the list with all its filters, so that a cursor is valid for this list only
 * @throws ServiceError MISSING_PARAMS if the cursor does not belong to this list
 */
export function positionOf(cursors: Cursors, list: string, query: PageQuery): { limit: number; after?: PagePosition } {
  return {
    limit: pageSize(query),
    ...(query.cursor === undefined ? {} : { after: cursors.read(list, query.cursor) }),
  };
}

/** Builds the response of a paginated list. @param list names the list as in `positionOf` */
export function pageResponse<T, View>(cursors: Cursors, list: string, page: Page<T>, view: (item: T) => View) {
  return {
    data: page.items.map(view),
    has_more: page.next !== undefined,
    ...(page.next ? { next_cursor: cursors.write(list, page.next) } : {}),
  };
}

/** Builds the response of a list that has no pages. */
export function wholeList<T>(data: T[]) {
  return { data, has_more: false };
}
