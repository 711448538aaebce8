import type { Connection, mongo } from 'mongoose';

/** Returns the driver's collection of a model. Mongoose would drop fields whose names are ids or keys. */
export function driverCollection<T extends object>(
  { connection }: { connection: Connection },
  model: { collection: { collectionName: string } },
): mongo.Collection<T> {
  return connection.getClient().db(connection.name).collection<T>(model.collection.collectionName);
}
