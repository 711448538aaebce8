import { mongo } from 'mongoose';

/** A document as the database sent it. Large documents take long to decode. */
export interface RawDocument<T> {
  /** Size of the document. */
  bytes: number;
  decode: () => T;
}

/** A mongoose model. */
interface Read {
  collection: { findOne(filter: object, options: object): unknown };
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
