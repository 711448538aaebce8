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

/**
 * One page of a list, newest first and by id among equal times: the order of the indexes that end with
 * `createdAt: -1, _id: 1`. Goes on behind a position, so that no page costs more for being a late one.
 * @param p.limit items of the page at most
 */
export async function readPage<T extends Dated>(
  model: Listed,
  p: { filter: object; after?: PagePosition; limit: number; fields?: Record<string, 0 | 1> },
): Promise<Page<T>> {
  const { after, limit } = p;
  // The range bounds the walk of the index; the rest decides among equal times.
  const behind = after
    ? {
        $and: [
          { createdAt: { $lte: after.at } },
          { $or: [{ createdAt: { $lt: after.at } }, { _id: { $gt: after.id } }] },
        ],
      }
    : {};
  const found = await (
    model.collection.find(
      { ...p.filter, ...behind },
      { sort: { createdAt: -1, _id: 1 }, limit: limit + 1, ...(p.fields ? { projection: p.fields } : {}) },
    ) as mongo.FindCursor<T>
  ).toArray();
  const items = found.slice(0, limit);
  const last = items.at(-1);
  return { items, ...(found.length > limit && last ? { next: { at: last.createdAt, id: last._id } } : {}) };
}
