import type { Connection, mongo } from 'mongoose';

/**
 * Options of inserts and updates that the driver sends in place of Mongoose: fields with the value undefined are left out, as
 * Mongoose does, and not stored as null. Never for a filter that may contain such a field, which would match more documents.
 */
export const WITHOUT_UNDEFINED = { ignoreUndefined: true } as const;

/**
 * Returns the driver's collection of a model, for the steps that every call has, in which Mongoose takes as much CPU time as
 * the driver, and for fields whose names are ids or keys, which Mongoose would drop. Nothing is converted or checked.
 */
export function driverCollection<T extends object>(
  { connection }: { connection: Connection },
  model: { collection: { collectionName: string } },
): mongo.Collection<T> {
  return connection.getClient().db(connection.name).collection<T>(model.collection.collectionName);
}
