import type { mongo } from 'mongoose';

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

/**
 * One page of a list, newest first and by id among equal times: the order of the indexes that end with
 * `createdAt: -1, _id: 1`. Goes on behind a position, so that no page costs more for being a late one; which of equal times
 * come behind it is decided here, because a filter that says so costs more than reading a few too many.
 * @param p.limit items of the page at most
 */
export async function readPage<T extends Dated>(
  model: Listed,
  p: { filter: Record<string, unknown>; after?: PagePosition; limit: number; fields?: Record<string, 0 | 1> },
): Promise<Page<T>> {
  const { filter, after, limit } = p;
  const range = { ...(filter['createdAt'] as object | undefined), ...(after ? { $lte: after.at } : {}) };
  const asked = { ...filter, ...(Object.keys(range).length > 0 ? { createdAt: range } : {}) };
  for (let ties = after ? TIES : 0; ; ties *= 8) {
    const wanted = limit + 1 + ties;
    const found = await (
      model.collection.find(asked, {
        sort: { createdAt: -1, _id: 1 },
        limit: wanted,
        ...(p.fields ? { projection: p.fields } : {}),
      }) as mongo.FindCursor<T>
    ).toArray();
    const behind = after ? found.filter((item) => isBehind(item, after)) : found;
    if (behind.length <= limit && found.length === wanted) continue;
    const items = behind.slice(0, limit);
    const last = items.at(-1);
    return { items, ...(behind.length > limit && last ? { next: { at: last.createdAt, id: last._id } } : {}) };
  }
}

function isBehind({ createdAt, _id }: Dated, { at, id }: PagePosition): boolean {
  return createdAt < at || (createdAt.getTime() === at.getTime() && _id > id);
}
