import { mongo } from 'mongoose';

/** A read that takes longer than this fails. */
const TIMEOUT_MS = 1_000;

export interface ControlReads {
  /** Finds a small document by its id. @throws the driver's error, after a second at the latest */
  findOne<T extends { _id: string }>(collection: string, id: string): Promise<T | null>;
  close(): Promise<void>;
}

/**
 * Creates reads that are small but must be fast, such as polls. They have a separate connection, which is opened
 * by the first read, so that they never wait until another operation frees a connection.
 */
export function createControlReads(
  uri: string,
  { databaseName, options }: { databaseName: string; options: mongo.MongoClientOptions },
): ControlReads {
  let client: mongo.MongoClient | undefined;
  let isClosed = false;
  return {
    async findOne<T extends { _id: string }>(collection: string, id: string) {
      if (isClosed) throw new Error('The connection to the database is closed.');
      client ??= new mongo.MongoClient(uri, {
        ...options,
        maxPoolSize: 1,
        waitQueueTimeoutMS: TIMEOUT_MS,
        serverSelectionTimeoutMS: TIMEOUT_MS,
        connectTimeoutMS: TIMEOUT_MS,
        socketTimeoutMS: TIMEOUT_MS,
      });
      const documents = client.db(databaseName).collection<T>(collection);
      return (await documents.findOne({ _id: id } as mongo.Filter<T>)) as T | null;
    },
    async close() {
      isClosed = true;
      await client?.close();
    },
  };
}
