import type { Model, mongo } from 'mongoose';
import type { MongoDatabase } from './connection.js';
import { driverCollection } from './driver-collection.js';

type Database = Pick<MongoDatabase, 'connection'>;

/**
 * Builds the missing indexes of all collections; safe to repeat. A build takes the longer the larger the collection is,
 * so the connection should wait for responses without a limit.
 * @throws MongoServerError if an index with the same fields and other options exists, or values are not unique
 */
export async function createIndexes(database: Database): Promise<void> {
  const isEmbedded = await isEmbeddedServer(database);
  for (const model of modelsOf(database)) {
    const indexes = declaredIndexes(model, isEmbedded);
    if (indexes.length > 0) await driverCollection(database, model).createIndexes(indexes);
  }
}

const NAMESPACE_NOT_FOUND = 26;
const INDEX_NOT_FOUND = 27;
/** An index with the same fields, or the same name, exists with other options. */
const INDEX_CONFLICTS: ReadonlySet<unknown> = new Set([85, 86]);

/**
 * Replaces the unique indexes that releases up to 0.2.0 built although `_id` makes their values unique anyway: a
 * collection with them cannot be sharded by `_id`. The new index is built first, so that queries stay fast. Only a
 * server that rejects two indexes with the same fields has none of them meanwhile.
 */
export async function replaceNeedlesslyUniqueIndexes(database: Database): Promise<void> {
  if (await isEmbeddedServer(database)) return;
  for (const model of modelsOf(database)) {
    const collection = driverCollection(database, model);
    for (const { name, key, unique } of await existingIndexes(collection)) {
      if (unique !== true || name === undefined || !isUniqueById(key)) continue;
      const replacements = declaredIndexes(model, false).filter((index) => isSameKey(index.key, key));
      const isBuilt = await isBuiltBeside(collection, replacements);
      await dropIndex(collection, name);
      if (!isBuilt) await collection.createIndexes(replacements);
    }
  }
}

/** @returns false if the server rejects the indexes because of those that exist */
async function isBuiltBeside(collection: mongo.Collection, indexes: mongo.IndexDescription[]): Promise<boolean> {
  if (indexes.length === 0) return true;
  try {
    await collection.createIndexes(indexes);
    return true;
  } catch (error) {
    if (INDEX_CONFLICTS.has(codeOf(error))) return false;
    throw error;
  }
}

/** Drops an index, unless another process has just dropped it. */
async function dropIndex(collection: mongo.Collection, name: string): Promise<void> {
  await collection.dropIndex(name).catch((error: unknown) => {
    if (codeOf(error) !== INDEX_NOT_FOUND) throw error;
  });
}

/**
 * The indexes that a model declares. An index that contains `_id` need not be unique. It has its own name, because that
 * of earlier releases may still be taken by a unique one. The embedded server gets none of these: it uses an index only
 * for a query with a value for each of its fields, which no query has, and each one costs a part of every write.
 */
export function declaredIndexes(model: Pick<Model<object>, 'schema'>, isEmbedded: boolean): mongo.IndexDescription[] {
  return model.schema.indexes().flatMap(([fields, { unique, ...options }]) => {
    const key = fields as Record<string, 1 | -1>;
    const described = { ...(options as object), key };
    if (unique !== true) return described;
    if (!isUniqueById(key)) return { ...described, unique: true };
    return isEmbedded ? [] : { ...described, name: `by_${Object.keys(key).join('_')}` };
  });
}

function isSameKey(a: mongo.IndexDescription['key'], b: mongo.IndexDescription['key']): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** Whether the values of an index are unique because it contains `_id`. */
function isUniqueById(key: mongo.IndexDescription['key']): boolean {
  return '_id' in key;
}

/** Whether the server is the embedded one without MongoDB's own code. All others report the version of their source. */
async function isEmbeddedServer({ connection }: Database): Promise<boolean> {
  const { gitVersion } = await connection.getClient().db(connection.name).command({ buildInfo: 1 });
  return gitVersion === undefined;
}

function codeOf(error: unknown): unknown {
  return (error as { code?: unknown }).code;
}

function modelsOf({ connection }: Database): Model<object>[] {
  return Object.values(connection.models) as Model<object>[];
}

/** The indexes in the database; none if the collection does not exist. */
async function existingIndexes(collection: mongo.Collection): Promise<mongo.IndexDescriptionInfo[]> {
  return collection
    .listIndexes()
    .toArray()
    .catch((error: unknown) => {
      if (codeOf(error) === NAMESPACE_NOT_FOUND) return [];
      throw error;
    });
}
