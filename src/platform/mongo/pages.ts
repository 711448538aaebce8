import type { mongo } from 'mongoose';
import { unavailable } from '../http/deadline.js';

/** Where a page ended; the next one begins behind it. */
export interface PagePosition {
  at: Date;
  id: string;
}

export interface Page<T> {
  items: T[];
  /** When older ones follow. */
  next?: PagePosition;
}

interface Dated {
  _id: string;
  createdAt: Date;
}

/** A model; the driver's own collection is read, whose documents cost mongoose nothing. */
interface Listed {
  collection: { find(filter: object, options: object): unknown };
}

/** Items of the very time at which the page before ended that are read for nothing, usually. */
const TIES = 4;

/** The server gives up by itself what it has read for so long: by then nobody waits for it any more. */
export const LIST_READ_WITHIN_MS = 10_000;

/** Documents that may be large and are asked for at once. */
const LARGE_AT_ONCE = 5;

/**
 * One page of a list, newest first and by id among equal times: the order of the indexes that end with
 * `createdAt: -1, _id: 1`. Goes on behind a position, so that no page costs more for being a late one; which of equal times
 * come behind it is decided here, because a filter that says so costs more than reading a few too many.
 * @param p.limit items of the page at most
 * @param p.mostCharacters a page ends once its items, as JSON, have so many; what comes behind it is not read
 * @param p.signal ends the reading
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
      maxTimeMS: LIST_READ_WITHIN_MS,
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

/** What comes behind a position, until the page is full and more follows; `found` counts what came before it, too. */
async function readBehind<T extends Dated>(
  cursor: mongo.FindCursor<T>,
  { after, mostCharacters, signal }: { after?: PagePosition; mostCharacters?: number; signal?: AbortSignal },
): Promise<{ behind: T[]; found: number; isFull: boolean }> {
  const behind: T[] = [];
  let found = 0;
  let characters = 0;
  // Leaving the loop closes the cursor.
  for await (const item of cursor) {
    if (signal?.aborted === true) throw unavailable();
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
