import { pageSize } from './contract/list.js';
import type { Page, PagePosition } from '../mongo/pages.js';
import type { ApiContext } from './context.js';
import { deadlineOf } from './deadline.js';
import type { createCursors } from './cursor.js';

export type Cursors = ReturnType<typeof createCursors>;

/**
 * The embedded server of development reads every call to find a page of them. A real one walks the index, and is far from
 * this at any depth.
 */
const LIST_WITHIN_MS = 10_000;

/** When the answer to a request for a list is due, ms since the epoch. */
export function listDeadlineOf(ctx: ApiContext): number {
  return deadlineOf(ctx, LIST_WITHIN_MS);
}

/** What a query says of the page it asks for. */
export interface PageQuery {
  limit?: number | undefined;
  cursor?: string | undefined;
}

/**
 * Where the page that is asked for begins and how long it is.
 * @param list names the list with whatever narrows it, so that a cursor fits no other
 * @throws ServiceError MISSING_PARAMS when the cursor is not one of this list
 */
export function positionOf(cursors: Cursors, list: string, query: PageQuery): { limit: number; after?: PagePosition } {
  return {
    limit: pageSize(query),
    ...(query.cursor === undefined ? {} : { after: cursors.read(list, query.cursor) }),
  };
}

export function pageAnswer<T, View>(cursors: Cursors, list: string, page: Page<T>, view: (item: T) => View) {
  return {
    data: page.items.map(view),
    has_more: page.next !== undefined,
    ...(page.next ? { next_cursor: cursors.write(list, page.next) } : {}),
  };
}

/** A list that is given whole. */
export function wholeList<T>(data: T[]) {
  return { data, has_more: false };
}

/** Fields that have a value. */
export function present<T extends Record<string, unknown>>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;
}
