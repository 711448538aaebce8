import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseConfig, type Config } from '../config.js';
import { openDatabase, type Database } from '../store/database.js';
import { CliError } from './run.js';

const DATA_FOLDER = '.callwright';
const WAIT_MS = 4_000;

export interface Connection {
  config: Config;
  database: Database;
}

/**
 * Runs work on the database that the environment names, else on the one of the service that runs from this folder.
 * @throws CliError when there is none, or it does not answer
 */
export async function withDatabase<T>(env: NodeJS.ProcessEnv, work: (on: Connection) => Promise<T>): Promise<T> {
  const runtime = await readRuntime(env);
  const uri = env.MONGODB_URI || runtime.mongodb_uri;
  if (uri === undefined) {
    const file = runtimeFile(env);
    throw new CliError(
      `No database is known: set MONGODB_URI, or start the service first (${file} does not name one).`,
    );
  }
  const temporal = env.TEMPORAL_ADDRESS || runtime.temporal_address;
  const config = parseConfig({ ...env, MONGODB_URI: uri, TEMPORAL_ADDRESS: temporal });
  const database = await open(uri);
  try {
    return await work({ config, database });
  } finally {
    await database.close();
  }
}

function runtimeFile(env: NodeJS.ProcessEnv): string {
  return join(env.CALLWRIGHT_DATA_DIR || DATA_FOLDER, 'runtime.json');
}

/** Where the service of this folder runs; empty when none does. */
async function readRuntime(env: NodeJS.ProcessEnv): Promise<{ mongodb_uri?: string; temporal_address?: string }> {
  if (env.MONGODB_URI) return {};
  const file = runtimeFile(env);
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw new CliError(`${file} cannot be read: ${(error as Error).message}`);
  }
  try {
    const runtime = JSON.parse(text) as { mongodb_uri?: unknown; temporal_address?: unknown } | null;
    const addresses: { mongodb_uri?: string; temporal_address?: string } = {};
    if (typeof runtime?.mongodb_uri === 'string') addresses.mongodb_uri = runtime.mongodb_uri;
    if (typeof runtime?.temporal_address === 'string') addresses.temporal_address = runtime.temporal_address;
    return addresses;
  } catch {
    throw new CliError(`${file} is not valid JSON; start the service again to have it written anew.`);
  }
}

async function open(uri: string): Promise<Database> {
  const shown = uri.replace(/\/\/[^@/]*@/, '//');
  try {
    return await openDatabase(uri, { waitMs: WAIT_MS, poolSize: 4 });
  } catch (error) {
    const reason = error instanceof Error && error.name === 'MongoParseError' ? `: ${error.message}` : '';
    throw new CliError(`The database at ${shown} does not answer${reason}.`);
  }
}
