import type { Connection, mongo } from 'mongoose';

/** The driver's own collection of a model, because mongoose would drop fields whose names are ids or keys. */
export function driverCollection<T extends object>(
  { connection }: { connection: Connection },
  model: { collection: { collectionName: string } },
): mongo.Collection<T> {
  return connection.getClient().db(connection.name).collection<T>(model.collection.collectionName);
}
