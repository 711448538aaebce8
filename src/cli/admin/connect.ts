import { parseConfig, type Config } from '../../platform/config/config.js';
import { withoutSecretFiles } from '../../platform/config/files/secret-files.js';
import { openDatabase, type Database } from '../../database.js';
import { readLocalService } from '../local-service.js';
import type { Output } from '../output.js';
import { createApiKeyQueries } from '../../identity/api-keys/api-key-queries.js';
import { CliError, EXIT_USAGE } from '../run.js';

const WAIT_MS = 4_000;

export interface AdminConnection {
  config: Config;
  database: Database;
  /** Whether it is the database of the service that was started in this folder. */
  isLocal: boolean;
}

/** Runs a command with a database connection. Loads modules only when a command runs, so that help appears quickly. */
export type RunOnDatabase = <A extends unknown[]>(
  load: () => Promise<(on: AdminConnection, out: Output, ...args: A) => Promise<void>>,
  ...args: A
) => Promise<void>;

/**
 * Runs `work` with a connection to the database. Its address comes from the environment, or from the service that was
 * started in this folder.
 * @param options.needsPepper false for work that makes and looks up no hash, such as on a restored copy
 * @throws CliError when no database is configured, it does not respond, or the service has another pepper
 * @throws Error when the configuration is invalid
 */
export async function withDatabase<T>(
  environment: NodeJS.ProcessEnv,
  { needsPepper }: { needsPepper: boolean },
  work: (on: AdminConnection) => Promise<T>,
): Promise<T> {
  const env = withoutSecretFiles(environment);
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
    if (needsPepper && local === undefined) await requirePepper(config, database);
    return await work({ config, database, isLocal: local !== undefined });
  } finally {
    await database.close();
  }
}

/** With another pepper, a command would make keys that the service rejects, and would not find what it has hashed. */
async function requirePepper({ apiKeyPepper, formerPeppers }: Config, database: Database): Promise<void> {
  if (await createApiKeyQueries(database).areOfPeppers([apiKeyPepper, ...formerPeppers])) return;
  throw new CliError(
    'API_KEY_PEPPER is not the one of the service with this database. Set it, and API_KEY_FORMER_PEPPERS, as for the service. Nothing was changed.',
    EXIT_USAGE,
  );
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
