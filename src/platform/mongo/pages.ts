import type { mongo } from 'mongoose';
import { serviceUnavailable } from '../http/deadline.js';

/** The position where a page ended. The next page starts after it. */
export interface PagePosition {
  at: Date;
  id: string;
}

export interface Page<T> {
  items: T[];
  /** Present if more items follow. */
  next?: PagePosition;
}

interface Dated {
  _id: string;
  createdAt: Date;
}

/** A mongoose model. Lists read its driver collection, because creating mongoose documents is slow. */
interface Listed {
  collection: { find(filter: object, options: object): unknown };
}

/** Number of extra items to read after a position. Items with exactly its time may belong to the page before. */
const TIES = 4;

/** The server stops a list query after this time (`maxTimeMS`), because the request has timed out by then. */
export const LIST_READ_TIMEOUT_MS = 10_000;

/** Items per batch if items may be large. */
const LARGE_AT_ONCE = 5;

/**
 * Reads one page of a list, newest first, then by id: the order of indexes that end with `createdAt: -1, _id: 1`.
 * Continues after a position, so that late pages cost no more than early ones. Items with exactly the position's time
 * are filtered here, because a filter in the query would cost more than reading a few more items.
 * @param p.limit maximum number of items
 * @param p.mostCharacters ends the page when its items, as JSON, have this many characters; the rest is not read
 * @param p.signal aborts the read
 * @throws ServiceError SERVICE_UNAVAILABLE if `p.signal` is aborted
 */
export async function readPage<T extends Dated>(
  model: Listed,
  p: {
    filter: Record<string, unknown>;
    after?: PagePosition;
    limit: number;
    fields?: Record<string, 0 | 1>;
    mostCharacters?: number;
    signal?: AbortSignal;
  },
): Promise<Page<T>> {
  const { filter, after, limit } = p;
  const range = { ...(filter['createdAt'] as object | undefined), ...(after ? { $lte: after.at } : {}) };
  const asked = { ...filter, ...(Object.keys(range).length > 0 ? { createdAt: range } : {}) };
  for (let ties = after ? TIES : 0; ; ties *= 8) {
    const wanted = limit + 1 + ties;
    const cursor = model.collection.find(asked, {
      sort: { createdAt: -1, _id: 1 },
      limit: wanted,
      maxTimeMS: LIST_READ_TIMEOUT_MS,
      ...(p.fields ? { projection: p.fields } : {}),
      ...(p.mostCharacters === undefined ? {} : { batchSize: LARGE_AT_ONCE }),
    }) as mongo.FindCursor<T>;
    const { behind, found, isFull } = await readBehind(cursor, p);
    if (!isFull && behind.length <= limit && found === wanted) continue;
    const items = behind.slice(0, limit);
    const last = items.at(-1);
    const isMore = isFull || behind.length > limit;
    return { items, ...(isMore && last ? { next: { at: last.createdAt, id: last._id } } : {}) };
  }
}

/** Reads the items after a position. `isFull`: `mostCharacters` was reached. `found` also counts skipped items. */
async function readBehind<T extends Dated>(
  cursor: mongo.FindCursor<T>,
  { after, mostCharacters, signal }: { after?: PagePosition; mostCharacters?: number; signal?: AbortSignal },
): Promise<{ behind: T[]; found: number; isFull: boolean }> {
  const behind: T[] = [];
  let found = 0;
  let characters = 0;
  // Leaving the loop closes the cursor.
  for await (const item of cursor) {
    if (signal?.aborted === true) throw serviceUnavailable();
    found += 1;
    if (after && !isBehind(item, after)) continue;
    if (mostCharacters !== undefined) {
      if (characters >= mostCharacters) return { behind, found, isFull: true };
      characters += JSON.stringify(item).length;
    }
    behind.push(item);
  }
  return { behind, found, isFull: false };
}

function isBehind({ createdAt, _id }: Dated, { at, id }: PagePosition): boolean {
  return createdAt < at || (createdAt.getTime() === at.getTime() && _id > id);
}
