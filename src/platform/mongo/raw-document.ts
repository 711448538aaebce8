import { mongo } from 'mongoose';

/** A document as the database sent it. Large documents take long to decode. */
export interface RawDocument<T> {
  /** Size of the document. */
  bytes: number;
  decode: () => T;
}

/** A mongoose model. */
interface Read {
  collection: {
    findOne(filter: object, options: object): unknown;
    find(filter: object, options: object): unknown;
  };
}

/** Finds a document without decoding it. */
export async function findRaw<T>(
  model: Read,
  filter: Record<string, unknown>,
  fields: Record<string, 0 | 1>,
): Promise<RawDocument<T> | null> {
  const found = (await model.collection.findOne(filter, { projection: fields, raw: true })) as Buffer | null;
  return found === null ? null : { bytes: found.length, decode: () => mongo.BSON.deserialize(found) as T };
}

/** Finds documents in an order without decoding them. `bytes` is their size together. */
export async function findAllRaw<T>(
  model: Read,
  filter: Record<string, unknown>,
  sort: Record<string, 1 | -1>,
): Promise<RawDocument<T[]>> {
  const found = (await (model.collection.find(filter, { sort, raw: true }) as mongo.FindCursor).toArray()) as Buffer[];
  return {
    bytes: found.reduce((sum, { length }) => sum + length, 0),
    decode: () => found.map((each) => mongo.BSON.deserialize(each) as T),
  };
}

/** Joins two documents that are decoded together. */
export function joinDocuments<A, B>(a: RawDocument<A>, b: RawDocument<B>): RawDocument<[A, B]> {
  return { bytes: a.bytes + b.bytes, decode: () => [a.decode(), b.decode()] };
}
