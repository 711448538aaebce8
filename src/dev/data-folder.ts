import { chmod, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { takeLock } from './processes/lock.js';

/** The databases and files that a stack creates in its data folder. Nothing else is removed from it. */
const DATABASES = ['mongodb', 'temporal.db', 'temporal.db-shm', 'temporal.db-wal', 'temporal.db-journal'];
const FILES = ['secrets.json', 'runtime.json'];

/**
 * Creates the folder if it is missing and locks it for this process.
 * @returns a function that releases the lock
 * @throws Error when another stack uses the folder
 */
export async function lockDataFolder(folder: string): Promise<() => Promise<void>> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  // A folder from an earlier version may be readable by others, and it contains API keys and transcripts.
  await chmod(folder, 0o700);
  const lock = await takeLock(join(folder, 'launcher.lock'));
  if (!lock.held) {
    throw new Error(
      `Callwright already runs in ${folder}, as process ${lock.byPid}. Stop it, or set CALLWRIGHT_DATA_DIR to another folder.`,
    );
  }
  return lock.release;
}

/** Removes the data of a stack. The stack must not be running. */
export async function clearDataFolder(folder: string): Promise<void> {
  for (const name of [...DATABASES, ...FILES]) await rm(join(folder, name), { recursive: true, force: true });
}
