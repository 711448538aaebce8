import { parseConfig, type Config } from '../../platform/config/config.js';
import { openDatabase, type Database } from '../../database.js';
import { readLocalService } from '../local-service.js';
import type { Output } from '../output.js';
import { CliError } from '../run.js';

const WAIT_MS = 4_000;

export interface AdminConnection {
  config: Config;
  database: Database;
}

/** Runs a command with a database connection. Loads modules only when a command runs, so that help appears quickly. */
export type RunOnDatabase = <A extends unknown[]>(
  load: () => Promise<(on: AdminConnection, out: Output, ...args: A) => Promise<void>>,
  ...args: A
) => Promise<void>;

/**
 * Runs `work` with a connection to the database. Its address comes from the environment, or from the service that was
 * started in this folder.
 * @throws CliError when no database is configured or it does not respond
 */
export async function withDatabase<T>(env: NodeJS.ProcessEnv, work: (on: AdminConnection) => Promise<T>): Promise<T> {
  const local = env.MONGODB_URI ? undefined : await readLocalService(env);
  const uri = env.MONGODB_URI || local?.address('mongodb_uri', 'MONGODB_URI');
  if (uri === undefined) {
    throw new CliError(
      `No database found: set MONGODB_URI, or start the service first (${local?.file} contains no address).`,
    );
  }
  const temporal = env.TEMPORAL_ADDRESS || local?.address('temporal_address', 'TEMPORAL_ADDRESS');
  const baseUrl = env.PUBLIC_BASE_URL || local?.address('base_url', 'PUBLIC_BASE_URL');
  const addresses = { MONGODB_URI: uri, TEMPORAL_ADDRESS: temporal, PUBLIC_BASE_URL: baseUrl };
  // Commands open no ports, so they skip the checks that protect a server from insecure development settings.
  const config = parseConfig({ ...env, ...addresses, ALLOW_INSECURE_DEVELOPMENT: 'true' });
  const database = await open(uri);
  try {
    return await work({ config, database });
  } finally {
    await database.close();
  }
}

async function open(uri: string): Promise<Database> {
  const shown = uri.replace(/\/\/[^@/]*@/, '//');
  try {
    return await openDatabase(uri, { waitMs: WAIT_MS, poolSize: 4 });
  } catch (error) {
    const reason = error instanceof Error && error.name === 'MongoParseError' ? `: ${error.message}` : '';
    throw new CliError(`The database at ${shown} does not respond${reason}.`);
  }
}
