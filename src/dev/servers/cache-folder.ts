import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';

/**
 * The folder for built and downloaded servers, shared by all data folders: CALLWRIGHT_CACHE_DIR, or `.cache/callwright`
 * in the home directory.
 */
export function cacheFolder(env: NodeJS.ProcessEnv): string {
  return env.CALLWRIGHT_CACHE_DIR || join(env.HOME || homedir(), '.cache', 'callwright');
}

/** The folder that contains package.json, whether this code runs from source or compiled. */
export function packageRoot(): string {
  let folder = __dirname;
  while (!existsSync(join(folder, 'package.json'))) {
    const parent = dirname(folder);
    if (parent === folder) throw new Error('The package.json of Callwright was not found in any parent folder.');
    folder = parent;
  }
  return folder;
}
