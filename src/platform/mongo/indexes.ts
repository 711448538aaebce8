import type { Model, mongo } from 'mongoose';
import type { MongoDatabase } from './connection.js';

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
    if (indexes.length > 0) await collectionOf(database, model).createIndexes(indexes);
  }
}

/**
 * Drops the unique indexes that releases up to 0.2.0 built although `_id` makes their values unique anyway: a collection
 * with them cannot be sharded by `_id`. `createIndexes` builds them again, not unique. Until then, queries are slow.
 */
export async function dropNeedlesslyUniqueIndexes(database: Database): Promise<void> {
  if (await isEmbeddedServer(database)) return;
  for (const model of modelsOf(database)) {
    const collection = collectionOf(database, model);
    for (const { name, key, unique } of await existingIndexes(collection)) {
      if (unique === true && name !== undefined && isUniqueById(key)) await collection.dropIndex(name);
    }
  }
}

/**
 * The indexes that a model declares. The embedded server builds unique indexes only, so schemas declare as unique what
 * it needs; on a real server, an index that contains `_id` need not be.
 */
export function declaredIndexes(model: Pick<Model<object>, 'schema'>, isEmbedded: boolean): mongo.IndexDescription[] {
  return model.schema.indexes().map(([fields, { unique, ...options }]) => {
    const key = fields as Record<string, 1 | -1>;
    const isUnique = unique === true && (isEmbedded || !isUniqueById(key));
    return { ...(options as object), key, ...(isUnique ? { unique: true } : {}) };
  });
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

function modelsOf({ connection }: Database): Model<object>[] {
  return Object.values(connection.models) as Model<object>[];
}

function collectionOf({ connection }: Database, model: Model<object>): mongo.Collection {
  return connection.getClient().db(connection.name).collection(model.collection.collectionName);
}

/** The indexes in the database; none if the collection does not exist. */
async function existingIndexes(collection: mongo.Collection): Promise<mongo.IndexDescriptionInfo[]> {
  const NAMESPACE_NOT_FOUND = 26;
  return collection
    .listIndexes()
    .toArray()
    .catch((error: unknown) => {
      if ((error as { code?: unknown }).code === NAMESPACE_NOT_FOUND) return [];
      throw error;
    });
}
