import mongoose, { type ClientSession, type Connection, type mongo } from 'mongoose';
import type { Config } from '../config/config.js';
import { createControlReads } from './control-reads.js';
import { reportPools } from './pool-reports.js';

/** A connection, and whether its server is a replica set. */
export type MongoDatabase = Awaited<ReturnType<typeof openConnection>>;

/** Default time to find a usable server, in ms. After that, connecting or the operation fails. */
const SERVER_SELECTION_TIMEOUT_MS = 4_000;
/** Default time to wait for a free connection, in ms, after which the operation fails. */
const QUEUE_TIMEOUT_MS = 4_000;
/** Time to open one connection of the pool, in ms. */
const CONNECT_TIMEOUT_MS = 4_000;
/** Default time to wait for a response, in ms. After that, the connection is closed and the operation fails. */
const RESPONSE_TIMEOUT_MS = 10_000;
/** Time in which a majority must have a write, in ms: less than the response may take, so that the server reports it. */
const MAJORITY_TIMEOUT_MS = 8_000;

export interface ConnectionOptions {
  /** Time to find a server; 4 s by default. */
  waitMs?: number;
  /** Time to wait for a response in ms, 10 s by default; 0: no limit. */
  responseTimeoutMs?: number;
  /** Maximum connections; 20 by default. */
  poolSize?: number;
}

/**
 * Opens a connection to a replica set, a standalone server or the embedded one. Asks the server which of these it is,
 * because the URI may not say so. A replica set uses majority reads and writes; the others have no sessions and no
 * retryable writes.
 * @throws MongooseServerSelectionError if no server answers within `waitMs`; Error if a replica set is not initiated yet
 */
export async function openConnection(uri: string, options: ConnectionOptions = {}) {
  let connection = await connect(uri, options, false);
  // `isMaster` is the old name of `hello`; every server supports it.
  const hello = await connection.db?.admin().command({ isMaster: 1 });
  const replicated = isReplicated(hello);
  if (hello?.isreplicaset === true) {
    await connection.close();
    throw new Error('The replica set of MONGODB_URI is not initiated yet.');
  }
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

/** Thrown where a replica set is required and the server is not a member of one. */
export class StandaloneServerError extends Error {
  override readonly name = 'StandaloneServerError';
}

/** @throws when the database does not respond */
export async function pingMongodb({ connection }: Pick<MongoDatabase, 'connection'>): Promise<void> {
  await connection.getClient().db().command({ ping: 1 });
}

/**
 * Requires a replica set in production: the database stores money, and a single server may lose acknowledged writes.
 * @throws StandaloneServerError in production if it is not a replica set and ALLOW_STANDALONE_MONGODB is not set
 */
export function requireReplicaSet(
  config: Pick<Config, 'production' | 'standaloneMongodbAllowed'>,
  { replicated }: Pick<MongoDatabase, 'replicated'>,
): void {
  if (!config.production || replicated || config.standaloneMongodbAllowed) return;
  throw new StandaloneServerError(
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
    serverSelectionTimeoutMS: options.waitMs ?? SERVER_SELECTION_TIMEOUT_MS,
    // The driver's single deadline for an operation (timeoutMS) has had no effect since its version 7.8.
    socketTimeoutMS: options.responseTimeoutMs ?? RESPONSE_TIMEOUT_MS,
    waitQueueTimeoutMS: QUEUE_TIMEOUT_MS,
    // A connection that is being opened occupies a place in the pool.
    connectTimeoutMS: CONNECT_TIMEOUT_MS,
    maxPoolSize: options.poolSize ?? 20,
    autoIndex: false,
    autoCreate: false,
    bufferCommands: false,
    ...concernsOf(replicated),
  });
  reportPools(connection);
  return connection.asPromise();
}

const MAJORITY = {
  readConcernLevel: 'majority',
  w: 'majority',
  journal: true,
  wtimeoutMS: MAJORITY_TIMEOUT_MS,
} as const;

function concernsOf(replicated: boolean) {
  return {
    retryWrites: replicated,
    retryReads: true,
    ...(replicated ? MAJORITY : {}),
  };
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
