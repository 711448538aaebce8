import { setTimeout as sleep } from 'node:timers/promises';
import { Connection, isGrpcServiceError } from '@temporalio/client';
import { mongo } from 'mongoose';
import { scheduleReconciliation } from '../src/calls/reconciliation/schedule.js';
import { parseConfig, type Config } from '../src/platform/config/config.js';
import { connectionOptions } from '../src/platform/temporal/connection.js';
import { applyNamespaceRetention, NamespaceRetentionError } from '../src/platform/temporal/namespace-retention.js';
import { SEARCH_ATTRIBUTES } from '../src/platform/temporal/search-attributes.js';
import { requireReplicaSet, StandaloneServerError } from '../src/platform/mongo/connection.js';
import { openDatabase } from '../src/database.js';
import { prepareDatabase } from '../src/prepare-database.js';
import { runScript } from './run-script.js';

/** Temporal's enum value for Keyword, the type of all our search attributes. */
const KEYWORD = 2;
const SERVERS_WITHIN_MS = 180_000;
const RETRY_MS = 2_000;

/**
 * Prepares MongoDB and Temporal: creates indexes, search attributes and the schedule of reconciliation, and sets the
 * retention of the namespace. Idempotent; run it once per deployment, before the roles start.
 */
async function main(env: NodeJS.ProcessEnv): Promise<void> {
  const config = parseConfig(env);
  await until('MongoDB', () => prepareMongodb(config));
  await until('Temporal', async () => {
    await prepareNamespace(config);
    await scheduleReconciliation(config);
  });
}

async function prepareMongodb(config: Config): Promise<void> {
  // Building an index of a large collection takes long.
  const database = await openDatabase(config.mongodbUri, { responseTimeoutMs: 0 });
  try {
    requireReplicaSet(config, database);
    const onWait = () => void process.stdout.write('Waiting for another process that migrates the database.\n');
    for (const name of await prepareDatabase(database, { onWait })) process.stdout.write(`Migrated: ${name}.\n`);
  } finally {
    await database.close();
  }
}

async function prepareNamespace({ temporal }: Config): Promise<void> {
  const { namespace, retentionDays } = temporal;
  const connection = await Connection.connect({
    ...connectionOptions(temporal),
    // The SDK adds this header to requests of the workflow service only. A regional endpoint of Temporal Cloud, which serves
    // all namespaces, reads it to find theirs.
    metadata: { 'temporal-namespace': namespace },
  });
  try {
    await registerSearchAttributes(connection, namespace);
    if (retentionDays === undefined) return;
    if (await applyNamespaceRetention(connection.workflowService, { namespace, retentionDays }))
      process.stdout.write(`Temporal now keeps the histories of ${namespace} for ${retentionDays} days.\n`);
  } finally {
    await connection.close();
  }
}

async function registerSearchAttributes({ operatorService }: Connection, namespace: string): Promise<void> {
  const missing = async () => {
    const { customAttributes } = await operatorService.listSearchAttributes({ namespace });
    return Object.keys(SEARCH_ATTRIBUTES).filter((name) => customAttributes?.[name] === undefined);
  };
  const names = await missing();
  if (names.length === 0) return;
  await operatorService.addSearchAttributes({
    namespace,
    searchAttributes: Object.fromEntries(names.map((name) => [name, KEYWORD])),
  });
  // Temporal needs some time to apply a registration, and a call that starts earlier would fail.
  const unknown = await missing();
  if (unknown.length > 0)
    throw new Error(`Temporal has not registered these search attributes yet: ${unknown.join(', ')}`);
}

/**
 * Errors of MongoDB that waiting does not mend: Unauthorized, AuthenticationFailed, CannotCreateIndex,
 * IndexOptionsConflict, IndexKeySpecsConflict, AtlasError (such as wrong credentials) and DuplicateKey.
 */
const PERMANENT_CODES: ReadonlySet<unknown> = new Set([13, 18, 67, 85, 86, 8_000, 11_000]);

/** PERMISSION_DENIED and UNAUTHENTICATED of gRPC. */
const GRPC_REFUSALS: ReadonlySet<number> = new Set([7, 16]);

/** Whether waiting does not help: wrong credentials, missing rights, values that are not unique, or a wrong server. */
function isPermanent(error: unknown): boolean {
  if (error instanceof StandaloneServerError || error instanceof mongo.MongoParseError) return true;
  if (error instanceof NamespaceRetentionError) return true;
  if (isGrpcServiceError(error)) return GRPC_REFUSALS.has(error.code);
  return error instanceof mongo.MongoServerError && PERMANENT_CODES.has(error.code);
}

/**
 * Repeats `attempt` until it succeeds, because servers start in any order.
 * @throws Error after 3 minutes without a server, or at once if waiting does not help
 */
async function until(server: string, attempt: () => Promise<void>): Promise<void> {
  let deadline = Date.now() + SERVERS_WITHIN_MS;
  for (;;) {
    const beganAt = Date.now();
    try {
      await attempt();
      process.stdout.write(`${server} is prepared.\n`);
      return;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      // It was at work, such as on an index, when the server became unavailable.
      if (Date.now() - beganAt > SERVERS_WITHIN_MS / 3) deadline = Date.now() + SERVERS_WITHIN_MS;
      if (isPermanent(error) || Date.now() > deadline)
        throw new Error(`${server} could not be prepared: ${reason}`, { cause: error });
      process.stdout.write(`Waiting for ${server}: ${reason}\n`);
      await sleep(RETRY_MS);
    }
  }
}

runScript(main(process.env));
