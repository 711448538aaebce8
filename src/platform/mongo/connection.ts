import mongoose, { type ClientSession, type Connection, type mongo } from 'mongoose';
import type { Config } from '../config/config.js';
import { createControlReads } from './control-reads.js';

/** A connection, and whether its server is a replica set. */
export type MongoDatabase = Awaited<ReturnType<typeof openConnection>>;

/** Default time to find a usable server, in ms. After that, connecting or the operation fails. */
const OPERATION_TIMEOUT_MS = 4_000;

export interface ConnectionOptions {
  /** Time to find a server; 4 s by default. */
  waitMs?: number;
  /** Maximum connections; 20 by default. */
  poolSize?: number;
}

/**
 * Opens a connection to a replica set, a standalone server or the embedded one. Asks the server which of these it is,
 * because the URI may not say so. A replica set uses majority reads and writes; the others have no sessions and no
 * retryable writes.
 * @throws MongooseServerSelectionError if no server answers within `waitMs`
 */
export async function openConnection(uri: string, options: ConnectionOptions = {}) {
  let connection = await connect(uri, options, false);
  // `isMaster` is the old name of `hello`; every server supports it.
  const replicated = isReplicated(await connection.db?.admin().command({ isMaster: 1 }));
  if (replicated) {
    // Read and write concerns cannot change once a client exists.
    await connection.close();
    connection = await connect(uri, options, true);
  }
  const control = createControlReads(uri, { databaseName: connection.name, options: concernsOf(replicated) });
  const close = async () => {
    await Promise.all([connection.close(), control.close()]);
  };
  return { connection, replicated, control, close };
}

/** @throws when the database does not respond */
export async function pingMongodb({ connection }: Pick<MongoDatabase, 'connection'>): Promise<void> {
  await connection.getClient().db().command({ ping: 1 });
}

/**
 * Requires a replica set in production: the database stores money, and a single server may lose acknowledged writes.
 * @throws Error in production if it is not a replica set and ALLOW_STANDALONE_MONGODB is not set
 */
export function requireReplicaSet(
  config: Pick<Config, 'production' | 'standaloneMongodbAllowed'>,
  { replicated }: Pick<MongoDatabase, 'replicated'>,
): void {
  if (!config.production || replicated || config.standaloneMongodbAllowed) return;
  throw new Error(
    'MONGODB_URI must name a replica set in production, because a single server may lose acknowledged writes; set ' +
      'ALLOW_STANDALONE_MONGODB=true to allow a single server.',
  );
}

/**
 * Whether a response to `hello` comes from a replica-set member, or from a router (mongos) in front of replica sets.
 */
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
    ...concernsOf(replicated),
  });
  return connection.asPromise();
}

function concernsOf(replicated: boolean) {
  return {
    retryWrites: replicated,
    retryReads: true,
    ...(replicated ? { readConcernLevel: 'majority' as const, w: 'majority' as const, journal: true } : {}),
  };
}

/** Builds all indexes; safe to repeat. The launcher or the deployment runs it once. */
export async function createIndexes(database: MongoDatabase): Promise<void> {
  for (const model of Object.values(database.connection.models)) await model.createIndexes();
}

/**
 * Runs reads in order. On a replica set they share a causally consistent session, so that later reads see at least what
 * earlier ones saw. Standalone and embedded servers need no session.
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

/** Whether an error reports a duplicate key. */
export function isDuplicateKey(error: unknown): boolean {
  return typeof error === 'object' && error !== null && (error as { code?: unknown }).code === 11_000;
}
