import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { dataFolder, type Runtime } from '../dev/runtime-file.js';
import { CliError, EXIT_USAGE } from './run.js';

/** File mode bits that let other users write a file. */
const WRITABLE_BY_OTHERS = 0o022;
const HOST = String.raw`(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?`;
/** MongoDB connection options that name no other host and no file. */
const MONGODB_OPTION = '(?:journal|w|replicaSet|directConnection|retryWrites|authSource)=[A-Za-z0-9_-]{1,64}';
/** Patterns of addresses on this machine. */
const LOCAL = {
  base_url: new RegExp(`^https?://${HOST}/?$`),
  temporal_address: new RegExp(`^${HOST}$`),
  mongodb_uri: new RegExp(
    `^mongodb://(?:[^@/?#\\s]{1,256}@)?${HOST}(?:,${HOST}){0,9}(?:/[A-Za-z0-9_-]{0,64})?(?:\\?${MONGODB_OPTION}(?:&${MONGODB_OPTION}){0,9})?$`,
  ),
} as const;

/** An address that commands may read from the runtime file. */
export type LocalAddress = keyof typeof LOCAL;

/** The service started in this folder. `runtime` is empty if there is none. */
export interface LocalService {
  /** Path of the runtime file, whether or not it exists. */
  file: string;
  runtime: Partial<Runtime>;
  /**
   * Returns one of the service's addresses. The runtime file may come with a cloned or unpacked folder. So only
   * addresses on this machine are accepted; otherwise commands could send their keys elsewhere.
   * @param variable what the user can set to use another address
   * @throws CliError when the address is not on this machine
   */
  address: (name: LocalAddress, variable: string) => string | undefined;
}

/**
 * Reads the runtime file of the data folder.
 * @throws CliError when the file exists but is unusable, or other users could have written it
 */
export async function readLocalService(env: NodeJS.ProcessEnv): Promise<LocalService> {
  const file = join(dataFolder(env, process.cwd()), 'runtime.json');
  const runtime = await readOwn(file);
  return {
    file,
    runtime,
    address(name, variable) {
      const value: unknown = runtime[name];
      if (value === undefined) return undefined;
      if (typeof value === 'string' && value.length <= 2_048 && LOCAL[name].test(value)) return value;
      throw new CliError(
        `${name} in ${file} is not on this machine, so it is ignored. Set ${variable} to use that address.`,
        EXIT_USAGE,
      );
    },
  };
}

async function readOwn(file: string): Promise<Partial<Runtime>> {
  try {
    const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      await assertOwnFile(file, handle);
      const runtime: unknown = JSON.parse(await handle.readFile('utf8'));
      return typeof runtime === 'object' && runtime !== null ? runtime : {};
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (error instanceof CliError) throw error;
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    if (error instanceof SyntaxError) {
      throw new CliError(`${file} is not valid JSON. Restart the service to write it again.`);
    }
    throw new CliError(`${file} cannot be read: ${(error as Error).message}`);
  }
}

/** Checks the opened file, not its path, so that the file cannot be replaced between the check and the read. */
async function assertOwnFile(file: string, handle: FileHandle): Promise<void> {
  const stats = await handle.stat();
  const uid = process.getuid?.();
  if (stats.isFile() && (uid === undefined || (stats.uid === uid && (stats.mode & WRITABLE_BY_OTHERS) === 0))) return;
  throw new CliError(
    `${file} is ignored: it must belong to you and be writable only by you (chmod 600). Alternatively set CALLWRIGHT_URL, or MONGODB_URI for admin commands.`,
    EXIT_USAGE,
  );
}
