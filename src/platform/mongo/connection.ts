import mongoose, { type ClientSession, type Connection, type mongo } from 'mongoose';
import type { Config } from '../config/config.js';

/** A connection and what kind of server it leads to. */
export type MongoDatabase = Awaited<ReturnType<typeof openConnection>>;

/** How long one operation may take, server selection included, before its caller is told that the database is away. */
const OPERATION_TIMEOUT_MS = 4_000;

export interface ConnectionOptions {
  waitMs?: number;
  poolSize?: number;
}

/**
 * Connects, on a connection of its own. Works alike on a replica set, on a
 * single server and on the embedded one. The server is asked what it is, because an address need not tell: a replica set
 * gets majority reads and writes, the others have no sessions and no retryable writes.
 * @throws MongooseServerSelectionError when no server answers within `waitMs`
 */
export async function openConnection(uri: string, options: ConnectionOptions = {}) {
  let connection = await connect(uri, options, false);
  // The old name of `hello`, which every server knows.
  const replicated = isReplicated(await connection.db?.admin().command({ isMaster: 1 }));
  if (replicated) {
    // Concerns are fixed when a client is made.
    await connection.close();
    connection = await connect(uri, options, true);
  }
  return { connection, replicated, close: () => connection.close() };
}

/**
 * Production keeps money in the database: a single server may lose what it has acknowledged.
 * @throws Error in production when it is no replica set and that was not allowed
 */
export function requireReplicaSet(
  config: Pick<Config, 'production' | 'standaloneMongodbAllowed'>,
  { replicated }: Pick<MongoDatabase, 'replicated'>,
): void {
  if (!config.production || replicated || config.standaloneMongodbAllowed) return;
  throw new Error(
    'MONGODB_URI must lead to a replica set in production, because a single server may lose acknowledged writes; set ' +
      'ALLOW_STANDALONE_MONGODB=true to run on one all the same.',
  );
}

/** Whether a server's answer to `hello` is that of a replica-set member, or of a router in front of some. */
export function isReplicated(hello: mongo.Document | undefined): boolean {
  return typeof hello?.setName === 'string' || hello?.msg === 'isdbgrid';
}

async function connect(uri: string, options: ConnectionOptions, replicated: boolean): Promise<Connection> {
  const connection = mongoose.createConnection(uri, {
    serverSelectionTimeoutMS: options.waitMs ?? OPERATION_TIMEOUT_MS,
    socketTimeoutMS: 10_000,
    maxPoolSize: options.poolSize ?? 20,
    autoIndex: false,
    autoCreate: false,
    bufferCommands: false,
    retryWrites: replicated,
    retryReads: true,
    ...(replicated ? { readConcernLevel: 'majority' as const, w: 'majority' as const, journal: true } : {}),
  });
  return connection.asPromise();
}

/** Builds the indexes that uniqueness depends on; safe to repeat, run once by the launcher or at deployment. */
export async function createIndexes(database: MongoDatabase): Promise<void> {
  for (const model of Object.values(database.connection.models)) await model.createIndexes();
}

/**
 * Reads in a causally consistent session on a replica set, so that a later read sees at least what an earlier one saw; a
 * single or embedded server needs none.
 */
export async function* inCausalOrder<T>(
  database: MongoDatabase,
  read: (session?: ClientSession) => AsyncIterable<T>,
): AsyncGenerator<T> {
  if (!database.replicated) {
    yield* read();
    return;
  }
  const session = database.connection.getClient().startSession({ causalConsistency: true });
  try {
    yield* read(session);
  } finally {
    await session.endSession();
  }
}

/** Whether an error says that a document with this key exists already. */
export function isDuplicateKey(error: unknown): boolean {
  return typeof error === 'object' && error !== null && (error as { code?: unknown }).code === 11_000;
}
